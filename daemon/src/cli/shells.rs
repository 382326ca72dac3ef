//! `gatepost completions` and `gatepost man`: what shells and `man` know of the command line, made from the command line itself.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use super::Failed;
use crate::printing::{print, print_note};

/// Where shells look for completions, below the options in `--help`.
const COMPLETIONS: &str = "Where to put them:
  bash        gatepost completions bash > ~/.local/share/bash-completion/completions/gatepost
  zsh         gatepost completions zsh > ~/.zfunc/_gatepost, and before compinit in ~/.zshrc: fpath+=~/.zfunc
  fish        gatepost completions fish > ~/.config/fish/completions/gatepost.fish
  elvish      gatepost completions elvish >> ~/.config/elvish/rc.elv
  powershell  gatepost completions powershell >> $PROFILE";

/// Where `man` looks for pages, below the options in `--help`.
const PAGES: &str = "Where to put it:
  gatepost man > ~/.local/share/man/man1/gatepost.1   then: man gatepost
  gatepost man --dir /usr/local/share/man/man1        a page a command: man gatepost-queue-list";

#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = PAGES)]
pub(super) struct Pages {
    /// Write one page for each command into this folder.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn completions(mut command: Command, arguments: &Completions) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "gatepost", &mut script);
    print_bytes(&script)
}

pub(super) fn man(command: Command, arguments: &Pages) -> Result<(), Failed> {
    let Some(folder) = &arguments.dir else { return print_bytes(&page(&command).map_err(Failed::refused)?) };
    let failed =
        |error| Failed::Refused(format!("cannot write man pages into {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_pages(&command, folder).map_err(failed)?;
    print_note!("the pages are in {}", folder.display());
    Ok(())
}

fn print_bytes(text: &[u8]) -> Result<(), Failed> {
    Ok(print(String::from_utf8_lossy(text).trim_end())?)
}

/// A page for the command and for each of those below it.
fn write_pages(command: &Command, folder: &Path) -> std::io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, folder)?;
    }
    titled(command.clone()).generate_to(folder).map(drop)
}

/// With what stands at the head and the foot of each page (man-pages(7), "Title line").
fn titled(command: Command) -> Man {
    Man::new(command).source(concat!("Gatepost ", env!("CARGO_PKG_VERSION"))).manual("User Commands")
}

/// All commands on one page: a section for each, below the program's own.
fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let man = titled(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        add_section(&mut page, &format!("gatepost {}", command.get_name()), command)?;
    }
    man.render_extra_section(&mut page)?;
    Ok(page)
}

fn add_section(page: &mut Vec<u8>, name: &str, command: &Command) -> std::io::Result<()> {
    // What all commands have is said once, at the top.
    let command = command.clone().mut_args(|argument| {
        let is_everywhere = ["config", "hub", "help", "version"].contains(&argument.get_id().as_str());
        argument.hide_short_help(is_everywhere).hide(is_everywhere)
    });
    if command.has_subcommands() {
        for inner in command.get_subcommands().filter(|command| command.get_name() != "help") {
            add_section(page, &format!("{name} {}", inner.get_name()), inner)?;
        }
        return Ok(());
    }
    let man = Man::new(command);
    let mut section = Vec::new();
    man.render_synopsis_section(&mut section)?;
    man.render_description_section(&mut section)?;
    man.render_options_section(&mut section)?;
    page.extend_from_slice(format!(".SH \"{}\"\n", name.to_uppercase()).as_bytes());
    page.extend_from_slice(String::from_utf8_lossy(&section).replace(".SH ", ".SS ").as_bytes());
    Ok(())
}
