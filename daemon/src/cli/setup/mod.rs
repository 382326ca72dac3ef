//! `gatepost setup`: from nothing to a hub whose agent may write in one chat, in some minutes.
//!
//! Everything is asked and tried first: the token at its platform, the chat by a message in it, the account by a test message. Only
//! then something is written, so that whoever leaves before, or gets stuck, has what they had before. What is there is added to, and
//! never overwritten. Nothing here knows a platform: an account is opened, checked and heard by its channel's own code.
//!
//! - `questions`: what is asked for, each from an option, a person or a default; `asking`: one question at a time;
//! - `platform`: what can be set up, and the account that is;
//! - `chat`: finds the chat; `test_message`: writes in it;
//! - `plan`: what is to be written, as a text that a hub would read; `edit`: how it gets into the text that is there;
//! - `companion`: the keys of a terminal that is to be one;
//! - `writing`: the files; `apply`: everything that changes;
//! - `next`: what the person does then.

mod apply;
pub(super) mod asking;
mod chat;
mod companion;
mod edit;
mod next;
mod plan;
mod platform;
mod questions;
mod test_message;
mod writing;

use std::path::{Path, PathBuf};

use gatepost_desktop::prompt;
use tokio::signal::unix::SignalKind;

use self::{
    asking::{Asking, stopped},
    companion::Keys,
    plan::{Plan, Standing},
    platform::{Candidate, Platform},
};
use super::{Failed, companion::passphrase::KeysArguments, stop::Stop};
use crate::{client::Place, config::paths, printing::print_note, settings::is_name, store::DirectoryLock};

/// How the account is called if nobody says.
const ACCOUNT: &str = "home";

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The platform: telegram, discord, slack, matrix, email, ntfy, or local, the hub's own inbox, which needs no account.
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// The file with the token or the password of the account there; - is stdin. It is copied into a file of its own beside the
    /// configuration.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Another key of the account, such as homeserver=https://matrix.example.org; several, if given several times. See: gatepost
    /// channels setup NAME.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// What the account is called in the configuration. One that is there is used as it is.
    #[arg(long, value_name = "NAME", default_value = ACCOUNT)]
    account: String,
    /// The chat in which the agent may write: its address on the platform. Without it, it is found by waiting for a message.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// How long to wait for that message.
    #[arg(long, value_name = "SECONDS", default_value_t = 180, value_parser = clap::value_parser!(u64).range(1..=3600))]
    wait: u64,
    /// The agent that may write there [default: engineer].
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Who approves: this terminal, later, by `gatepost companion run`; or none that setup pairs, such as a companion device.
    #[arg(long, value_enum, value_name = "WHICH")]
    companion: Option<Companion>,
    #[command(flatten)]
    keys: KeysArguments,
    /// Send no test message.
    #[arg(long)]
    no_test: bool,
    /// Ask nothing: what is not given is the default, and what has none must be given.
    #[arg(long)]
    yes: bool,
    /// Print what was set up as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Companion {
    /// A companion in a terminal of this user.
    Terminal,
    /// None.
    None,
}

/// `is_named` says whether somebody named the configuration.
pub(super) async fn run(place: &Place, is_named: bool, arguments: Arguments) -> Result<(), Failed> {
    refuse_another(place, is_named)?;
    let mut stop = Stop::on(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()])?;
    let asking = Asking::new(arguments.yes);
    let planned = tokio::select! {
        biased;
        () = stop.asked() => None,
        planned = plan(place, &arguments, asking) => Some(planned?),
    };
    let Some((plan, candidate, keys)) = planned else {
        prompt::abandon();
        return Err(stopped());
    };
    // The account that was tried goes before the first file is written.
    drop(candidate);
    // From here on there is no waiting for anybody but this machine, and no stopping half-way.
    let done = apply::apply(place, plan, keys).await?;
    next::tell(&done, arguments.json)
}

/// A configuration in this folder that is not looked at, such as another user's before root, is no reason to change the service's.
fn refuse_another(place: &Place, is_named: bool) -> Result<(), Failed> {
    let here = Path::new(paths::DEFAULT_FILE);
    let is_missing =
        || here.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    match is_named || place.config == here || is_missing() {
        true => Ok(()),
        false => Err(Failed::Usage(format!(
            "there is a {} in this folder, and setup changes no other one unawares: name the one that is meant with -c FILE",
            here.display()
        ))),
    }
}

/// Everything that is asked and tried.
async fn plan(
    place: &Place,
    arguments: &Arguments,
    asking: Asking,
) -> Result<(Plan, Candidate, Option<Keys>), Failed> {
    if !is_name(&arguments.account) {
        return Err(Failed::Usage("--account: a name has letters, digits, `-` and `_`, at most 40".into()));
    }
    if let Some(why) = arguments.agent.as_deref().and_then(questions::is_no_agent) {
        return Err(Failed::Usage(format!("--agent: {why}")));
    }
    let standing = Standing::read(&place.config)?;
    let runs = DirectoryLock::is_held(&standing.config.hub.data_dir);
    refuse_missing(arguments, asking, &standing)?;
    if asking.is_possible() {
        let file = place.config.display();
        match standing.is_new() {
            true => {
                print_note!("This sets up a hub, in {file}. Ctrl-C stops; nothing is written before the end.")
            }
            false => print_note!("This adds to {file}. Ctrl-C stops; nothing is written before the end."),
        }
    }
    let platform = match &arguments.platform {
        Some(name) => Platform::named(name)?,
        None => questions::platform(asking).await?,
    };
    let mut plan = Plan::new(standing, platform, &arguments.account);
    let (candidate, me) = questions::account(&mut plan, arguments, asking).await?;
    plan.address = questions::chat(&candidate, &me, arguments, asking, runs).await?;
    plan.me = me;
    plan.agent = questions::agent(&plan.standing, arguments, asking).await?;
    let keys = questions::companion(&plan, arguments, asking, runs).await?;
    plan.companion = keys.is_some();
    plan.compose()?;
    Ok((plan, candidate, keys))
}

/// Without somebody to ask, what has no default must be given.
fn refuse_missing(arguments: &Arguments, asking: Asking, standing: &Standing) -> Result<(), Failed> {
    if asking.is_possible() {
        return Ok(());
    }
    let Some(name) = &arguments.platform else {
        return Err(Failed::Usage(
            "nobody can be asked here, so these must be given: --platform, --token-file, --to (--platform local needs no others)".into(),
        ));
    };
    let platform = Platform::named(name)?;
    let mut missing: Vec<String> = vec![];
    if !standing.has(platform.name, &arguments.account) {
        if platform.secret.is_some() && !platform.is_open && arguments.token_file.is_none() {
            missing.push("--token-file".into());
        }
        let is_set = |key: &str| arguments.set.iter().any(|set| set.split('=').next() == Some(key));
        missing.extend(platform.asks.iter().filter(|key| !is_set(key)).map(|key| format!("--set {key}=…")));
    }
    if platform.name != "local" && arguments.to.is_none() {
        missing.push("--to".into());
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failed::Usage(format!(
            "nobody can be asked here, so these must be given too: {}",
            missing.join(", ")
        ))),
    }
}
