//! The command line.
//!
//! Results go to stdout, progress and errors to stderr; what the exit statuses mean is [`STATUSES`]. Commands
//! that need a running hub speak to its HTTP interface ([`crate::client`]), the same as agents do.

mod agent;
mod ask;
mod audit;
mod backup;
mod channels;
mod check;
mod companion;
mod health;
mod heartbeats;
mod init;
mod local;
mod markdown;
mod mcp;
mod open;
mod options;
mod ota;
mod output;
mod passphrase;
mod people;
mod prove;
mod queue;
mod reload;
mod restore;
mod run;
mod send;
mod sessions;
mod setup;
mod shells;
mod stop;
mod tasks;
mod text;
mod turns;
mod update;

use std::{io::IsTerminal as _, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use serde_json::Value;
use tracing::level_filters::LevelFilter;
use tracing_log::AsLog as _;

use crate::{
    client::{ClientError, Place},
    config::paths,
    demo::{self, DemoError},
    printing::{PrintError, print_note, visible},
};

/// The gate that an AI agent's outgoing messages pass on their way out of the house.
///
/// First steps: `gatepost demo` shows the whole thing on this machine. Then `gatepost setup` asks what it needs and sets up a hub,
/// and `gatepost run` starts it.
#[derive(Debug, Parser)]
#[command(name = "gatepost", version, max_term_width = 100, after_help = STATUSES)]
struct Arguments {
    /// The configuration file. Without it: gatepost.toml in the current folder, or else /etc/gatepost/gatepost.toml.
    #[arg(short, long, global = true, env = "GATEPOST_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the hub listens, if not where the configuration says.
    #[arg(long, global = true, env = "GATEPOST_HUB", value_name = "URL")]
    hub: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the whole main job on this machine: hub, broker, companion, one message approved and one denied.
    Demo(demo::Arguments),
    /// Set up a hub in some minutes: a platform, the chat in which an agent may write, the agent's token, and who approves.
    ///
    /// At a terminal it asks one thing after another, and says where the token of a platform is to be had. The token is checked at once,
    /// the chat is found by waiting for a message in it, and a test message is sent there. Only then the files are written: the
    /// configuration, the token of the platform and that of the agent. Every answer can be given as an option; without a terminal they
    /// must be. Run again, it adds a platform, a chat or an agent to the configuration, and overwrites nothing. A hub that runs takes it
    /// up at once.
    Setup(setup::Arguments),
    /// Write a configuration to start from.
    Init(init::Arguments),
    /// Check the configuration, and ask every channel whether it is ready.
    Check(check::Arguments),
    /// List the channels, and show how an account on one is set up.
    Channels(channels::Arguments),
    /// Run the hub.
    Run,
    /// Sign in to the hub's page in a browser: prints a link that is good once, for two minutes.
    ///
    /// The page is at http://localhost:8787 on the hub's machine, where the link leads, and behind a proxy with TLS under a name of
    /// [hub] hosts. From another machine run `ssh -L 8787:localhost:8787 HUB` there first, and open the link as it is.
    ///
    /// In a terminal with a display a browser is started with the link, unless over SSH, for root, or with --print. Other users of this
    /// machine can see the link in the list of processes then, until it is used: where there are such, take --print.
    ///
    /// The login has the rights of the operator's token with which this command calls the hub, and ends when that is revoked, after 30
    /// days without use, or in the page: Settings lists where you are signed in.
    Open(open::Arguments),
    /// Ask the running hub whether it takes messages: exit status 0 if it does, 1 if it says no, 4 if none answers.
    Health(health::Arguments),
    /// Have the running hub read its configuration again: agents, address book, limits, accounts.
    ///
    /// All of the file is taken, or nothing: if it is not valid, the error names the file and the line, the exit status is 1, and the
    /// old configuration holds. `kill -HUP` does the same, and the hub's log says what came of it.
    ///
    /// What a running hub takes: [agents], [book], [channels], [approval] ttl, quorum and cards_per_hour, [contexts] ttl, [reply]
    /// quiet, [hub] ttl and allowlists, [queue] max_messages, max_bytes and dedup. An account whose settings and secrets are
    /// the same goes on undisturbed. Everything else takes effect when the hub starts the next time, and is named in the answer.
    ///
    /// Messages that wait in the queue are judged by the new rules when their turn comes: what is not allowed any more ends as failed
    /// (not_allowed), and so does what waits for an account that is gone (execution_failed).
    Reload(reload::Arguments),
    /// Make, list and revoke the tokens of agents, bridges and operators.
    #[command(subcommand)]
    Agent(agent::Command),
    /// Send a message from the shell.
    Send(send::Arguments),
    /// Make any call of the message tool: JSON on stdin, JSON on stdout.
    Message(send::MessageArguments),
    /// Ask a person something that they answer with yes or no on a companion, and wait for the answer: the exit status tells it.
    ///
    /// `gatepost ask "Deploy 2.4 to the shop?" --ttl 5m && ./deploy` does nothing without a yes. The card names whoever asks, counts
    /// among their cards, and its answer is signed: `gatepost audit prove ID` shows it to others. Whoever is interrupted takes the
    /// question back.
    Ask(ask::Arguments),
    /// Serve the tools over the Model Context Protocol on stdin and stdout, for agents that start it; GATEPOST_TOKEN
    /// holds the agent's token.
    Mcp(mcp::Arguments),
    /// See what waits, what failed and why.
    #[command(subcommand)]
    Queue(queue::Command),
    /// Pair, list, rename and revoke companions, which decide on what is held; or be one, in this terminal.
    #[command(subcommand)]
    Companion(companion::Command),
    /// Keep signed releases of companions' firmware, and roll them out; have the hub itself updated.
    #[command(subcommand)]
    Ota(ota::Command),
    /// What root's helper does. `gatepost-update.service` runs it.
    #[command(subcommand, hide = true)]
    Update(update::Command),
    /// See what agents were woken for, and give what failed out again.
    #[command(subcommand)]
    Turns(turns::Command),
    /// See what agents are to be woken for later, and take it back.
    #[command(subcommand)]
    Tasks(tasks::Command),
    /// See when agents are woken to look whether something needs doing, and why they would not be now.
    Heartbeats(heartbeats::Arguments),
    /// See who writes to agents, and let people in or shut them out.
    #[command(subcommand)]
    People(people::Command),
    /// See where agents speak with whom, and what was said.
    #[command(subcommand)]
    Sessions(sessions::Command),
    /// Check the audit, or show it.
    #[command(subcommand)]
    Audit(audit::Command),
    /// Write a backup for another machine or a new card: one file, while the hub runs or while it does not.
    ///
    /// It holds the database, the files that go along with messages, and the configuration, which has no secrets in it. The
    /// database has the texts of messages and who wrote them. With --with-keys it also holds the hub's keys and what the secrets of the
    /// configuration are read from, as far as that lies beside the configuration; then all of it is sealed with a passphrase, in the
    /// format of age: `age -d FILE` opens it too. --passphrase-file without --with-keys seals one that has no keys.
    ///
    /// `gatepost restore FILE` puts it back. Start only one hub with it: two would send and receive the same. Sealing and opening takes
    /// 128 MB of memory for a second or more.
    Backup(backup::Arguments),
    /// Put a backup in the place of the database. Nothing of it is sent by itself.
    ///
    /// Takes a daily copy of the database, or a file of `gatepost backup`, whose files and keys are put back with it. All of it is read
    /// and checked before anything changes, the hub must not run, and what was there before is kept. Stopped at any moment, it leaves
    /// what was there or what was restored.
    Restore(restore::Arguments),
    /// Read the `local` inbox, and write to an agent from it.
    #[command(subcommand)]
    Local(local::Command),
    /// Render Markdown from stdin for a channel: the parts that it becomes.
    Render(text::RenderArguments),
    /// Split plain text from stdin at a limit, or into pages for a display.
    Chunk(text::ChunkArguments),
    /// Print a script by which a shell completes commands and options.
    Completions(shells::Completions),
    /// Print the man page.
    Man(shells::Pages),
}

/// Exit statuses, below the options in `--help`.
const STATUSES: &str = "Exit status:
  0  done; of a message: sent, or without --wait taken
  1  refused or failed
  2  wrong usage
  3  with --wait: still held or on its way when the time was over
  4  no hub answers
  5  there is no such message, agent or companion
  6  of ask: denied
  7  of ask: nobody answered in time, or it was taken back
  78 of run: the configuration cannot be used, and starting again will not help";

/// What a command cannot do, by exit status.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Refused or failed: exit status 1.
    #[error("{0}")]
    Refused(String),
    /// Wrong arguments or unusable input: exit status 2.
    #[error("{0}")]
    Usage(String),
    /// It was waited for, it has not come to its end, and all has been said: exit status 3.
    #[error("")]
    Undecided,
    /// No hub answers: exit status 4.
    #[error("{0}")]
    NoHub(String),
    /// There is no message, agent or companion of that name: exit status 5. Empty where all has been said.
    #[error("{0}")]
    NotFound(String),
    /// Of a question: a person said no, and all has been said: exit status 6.
    #[error("")]
    Denied,
    /// Of a question: nobody answered, and all has been said: exit status 7.
    #[error("")]
    Unanswered,
    /// What the hub is to start with cannot be used: exit status 78, `EX_CONFIG` of BSD's `sysexits.h`. The unit does not start it again.
    #[error("{0}")]
    Configuration(String),
    /// Failed, and all has been said: exit status 1.
    #[error("")]
    Said,
}

impl Failed {
    fn status(&self) -> u8 {
        match self {
            Self::Refused(_) | Self::Said => 1,
            Self::Usage(_) => 2,
            Self::Undecided => 3,
            Self::NoHub(_) => 4,
            Self::NotFound(_) => 5,
            Self::Denied => 6,
            Self::Unanswered => 7,
            Self::Configuration(_) => 78,
        }
    }

    /// From an error of the configuration.
    fn configuration(error: impl std::fmt::Display) -> Self {
        Self::Configuration(error.to_string())
    }

    /// From any error.
    pub fn refused(error: impl std::fmt::Display) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        let text = error.to_string();
        match error {
            ClientError::Nobody(_) | ClientError::NobodyConfigured(_) => Self::NoHub(text),
            // A hub that was never started has made none.
            ClientError::Token(error) if error.kind() == std::io::ErrorKind::NotFound => Self::NoHub(text),
            ClientError::Refused(problem) if is_not_found(&problem) => Self::NotFound(text),
            _ => Self::Refused(text),
        }
    }
}

/// Whether the hub's answer is that there is nothing of that name.
fn is_not_found(answer: &Value) -> bool {
    answer.get("code").and_then(Value::as_str) == Some("not_found")
}

impl From<PrintError> for Failed {
    fn from(error: PrintError) -> Self {
        Self::refused(error)
    }
}

impl From<DemoError> for Failed {
    fn from(error: DemoError) -> Self {
        match error {
            DemoError::NoTerminal | DemoError::NoPictures => Self::Usage(error.to_string()),
            _ => Self::refused(error),
        }
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let arguments = options::parse::<Arguments>();
    log_to_stderr(&arguments.command);
    // The hub has work for more than one thread; a command that asks it something has not.
    let mut runtime = match arguments.command {
        Command::Run
        | Command::Demo(_)
        | Command::Setup(_)
        | Command::Companion(companion::Command::Run(_)) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = match runtime.worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            print_note!("gatepost: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(dispatch(arguments));
    // Threads that wait for stdin must not keep the program from ending.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            let text = failed.to_string();
            if !text.is_empty() {
                print_note!("gatepost: {}", visible(&text));
            }
            ExitCode::from(failed.status())
        }
    }
}

async fn dispatch(arguments: Arguments) -> Result<(), Failed> {
    let Arguments { config, hub, command } = arguments;
    let place = Place { config: paths::file(config.clone()), hub };
    match command {
        Command::Demo(arguments) => Ok(demo::run(arguments).await?),
        Command::Setup(arguments) => setup::run(&place, config.is_some(), arguments).await,
        Command::Init(arguments) => init::run(config, &arguments),
        Command::Health(arguments) => health::run(&place, &arguments).await,
        Command::Check(arguments) => check::run(&place, &arguments).await,
        Command::Channels(arguments) => channels::run(arguments),
        Command::Run => run::run(&place.config).await,
        Command::Open(arguments) => open::run(&place, &arguments).await,
        Command::Reload(arguments) => reload::run(&place, &arguments).await,
        Command::Agent(command) => agent::run(&place, command).await,
        Command::Send(arguments) => send::run(&place, arguments).await,
        Command::Message(arguments) => send::message(&place, &arguments).await,
        Command::Ask(arguments) => ask::run(&place, arguments).await,
        Command::Mcp(arguments) => mcp::run(&place, &arguments).await,
        Command::Queue(command) => queue::run(&place, command).await,
        Command::Turns(command) => turns::run(&place, command).await,
        Command::Tasks(command) => tasks::run(&place, command).await,
        Command::Heartbeats(arguments) => heartbeats::run(&place, &arguments).await,
        Command::People(command) => people::run(&place, command).await,
        Command::Sessions(command) => sessions::run(&place, command).await,
        Command::Companion(command) => companion::run(&place, command).await,
        Command::Ota(command) => ota::run(&place, command).await,
        Command::Update(command) => update::run(command).await,
        Command::Audit(command) => audit::run(&place.config, command),
        Command::Backup(arguments) => backup::run(&place.config, arguments),
        Command::Restore(arguments) => restore::run(&place.config, arguments),
        Command::Local(command) => local::run(&place, command).await,
        Command::Render(arguments) => text::render(&arguments),
        Command::Chunk(arguments) => text::chunk(&arguments),
        Command::Completions(arguments) => shells::completions(options::command(), &arguments),
        Command::Man(arguments) => shells::man(options::command(), &arguments),
    }
}

fn log_to_stderr(command: &Command) {
    let default = match command {
        // What matters of the connection to the broker, the hub says itself.
        Command::Run | Command::Update(_) => "info,rumqttc=error",
        _ => "error,rumqttc=off",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("GATEPOST_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    let colours = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        // It would tell of a log that cannot be written on stderr, which is the log, and panic.
        .log_internal_errors(false)
        .finish();
    // At their most talkative these write down each frame and command, and tokens are in them: nobody may ask for that.
    let bridge = tracing_log::LogTracer::builder().ignore_crate("tungstenite").ignore_crate("async_imap");
    tracing::subscriber::set_global_default(log).expect("nobody has set up a log before");
    bridge.with_max_level(LevelFilter::current().as_log()).init().expect("nobody has set up a log before");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_one_that_can_be_parsed() {
        super::Arguments::command().debug_assert();
    }

    /// Commands that print nothing a program would read, or JSON alone.
    const WITHOUT_JSON: [&str; 20] = [
        "demo",
        "init",
        "health",
        "run",
        "message",
        "mcp",
        "agent revoke",
        "companion install",
        "companion pair",
        "audit prove",
        "companion run",
        "companion rename",
        "companion revoke",
        "backup",
        "local say",
        "update apply",
        "channels setup",
        "completions",
        "man",
        "help",
    ];

    #[test]
    fn whatever_prints_something_for_a_program_has_it_as_json() {
        fn leaves(command: &clap::Command, path: &str, into: &mut Vec<(String, bool)>) {
            for inner in command.get_subcommands() {
                let path = format!("{path} {}", inner.get_name()).trim_start().to_owned();
                match inner.has_subcommands() {
                    true => leaves(inner, &path, into),
                    false => {
                        into.push((path, inner.get_arguments().any(|argument| argument.get_id() == "json")))
                    }
                }
            }
        }
        let mut found = vec![];
        leaves(&super::Arguments::command(), "", &mut found);
        assert!(found.len() > 20, "{found:?}");
        for (command, has_json) in found {
            assert_eq!(has_json, !WITHOUT_JSON.contains(&command.as_str()), "{command}");
        }
    }
}
