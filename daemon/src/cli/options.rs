//! The options that stand before or behind every command that can use them, `--config` and `--hub`: a command that cannot
//! does not have them in its help, and refuses them.

use clap::{ArgMatches, Command, error::ErrorKind, parser::ValueSource};

/// An option, and the commands that cannot use it.
struct Unused {
    option: &'static str,
    commands: &'static [&'static [&'static str]],
}

const UNUSED: [Unused; 2] = [
    Unused {
        option: "config",
        commands: &[
            &["demo"],
            &["render"],
            &["chunk"],
            &["channels"],
            &["completions"],
            &["man"],
            &["update"],
        ],
    },
    Unused {
        option: "hub",
        commands: &[
            &["init"],
            &["setup"],
            &["check"],
            &["run"],
            &["demo"],
            &["audit"],
            &["backup"],
            &["restore"],
            &["render"],
            &["chunk"],
            &["companion", "run"],
            &["channels"],
            &["completions"],
            &["man"],
            &["update"],
        ],
    },
];

/// Reads the command line; ends the program where it is wrong, or help was asked for.
pub(super) fn parse<Arguments: clap::Parser>() -> Arguments {
    let mut command = tidy(Arguments::command());
    let matches = command.clone().get_matches();
    if let Some((option, path)) = unusable(&matches) {
        let text = format!("gatepost {} has no use for --{option}", path.join(" "));
        command.error(ErrorKind::ArgumentConflict, text).exit();
    }
    Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// The whole command line, as its help, its completions and its man page have it.
pub(super) fn command() -> Command {
    tidy(<super::Arguments as clap::CommandFactory>::command())
}

/// The command line with no option in a command's help that this cannot use.
fn tidy(mut command: Command) -> Command {
    // Only now every command has the options that all have.
    command.build();
    UNUSED.iter().fold(command, |command, unused| {
        unused.commands.iter().fold(command, |command, path| hide(command, path, unused.option))
    })
}

/// Hides an option in the help of the command at this path, and of those below it.
fn hide(command: Command, path: &[&'static str], option: &str) -> Command {
    match path.split_first() {
        Some((first, rest)) => command.mut_subcommand(*first, |command| hide(command, rest, option)),
        None => {
            let command = command.mut_args(|argument| match argument.get_id() == option {
                true => argument.hide(true),
                false => argument,
            });
            command.mut_subcommands(|command| hide(command, path, option))
        }
    }
}

/// An option on the command line that the command cannot use, and that command's path.
fn unusable(matches: &ArgMatches) -> Option<(&'static str, &'static [&'static str])> {
    let given = |option| matches.value_source(option) == Some(ValueSource::CommandLine);
    UNUSED.iter().filter(|unused| given(unused.option)).find_map(|unused| {
        let path = unused.commands.iter().find(|path| leads(matches, path))?;
        Some((unused.option, *path))
    })
}

/// Whether the command that was given is the one at this path, or below it.
fn leads(matches: &ArgMatches, path: &[&str]) -> bool {
    match path.split_first() {
        None => true,
        Some((first, rest)) => {
            matches.subcommand().is_some_and(|(name, matches)| name == *first && leads(matches, rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Arguments;

    /// The help of the command at this path.
    fn help(path: &[&str]) -> String {
        let mut command = tidy(Arguments::command());
        let command = path
            .iter()
            .fold(&mut command, |command, name| command.find_subcommand_mut(name).expect("a command"));
        command.render_long_help().to_string()
    }

    #[test]
    fn each_command_that_cannot_use_an_option_exists_and_hides_it() {
        for Unused { option, commands } in UNUSED {
            for path in commands {
                assert!(!help(path).contains(&format!("--{option}")), "{path:?}");
            }
        }
        for path in [&["send"][..], &["queue", "list"], &["mcp"], &[]] {
            let help = help(path);
            assert!(help.contains("--config") && help.contains("--hub"), "{help}");
        }
        assert!(
            !help(&["audit", "verify"]).contains("--hub") && help(&["audit", "verify"]).contains("--config")
        );
        assert!(help(&["companion", "list"]).contains("--hub"));
    }

    #[test]
    fn an_option_that_cannot_be_used_is_found_wherever_it_stands() {
        let unusable = |line: &[&str]| {
            let matches = tidy(Arguments::command()).try_get_matches_from(line).expect("a command line");
            unusable(&matches).map(|(option, _)| option)
        };
        assert_eq!(unusable(&["gatepost", "--hub", "x", "render", "--channel", "local"]), Some("hub"));
        assert_eq!(unusable(&["gatepost", "chunk", "--limit", "9", "--config", "x"]), Some("config"));
        assert_eq!(unusable(&["gatepost", "companion", "run", "--hub", "x"]), Some("hub"));
        assert_eq!(unusable(&["gatepost", "companion", "list", "--hub", "x"]), None);
        assert_eq!(unusable(&["gatepost", "check", "--config", "x"]), None);
    }
}
