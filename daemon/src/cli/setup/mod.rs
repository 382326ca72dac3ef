//! `gatepost setup`: from nothing to a hub whose agent may write in one chat, in some minutes.
//!
//! Everything is asked and tried first: the token at its platform, the chat by a message in it, the account by a test message. Only
//! then something is written, so that whoever leaves before, or gets stuck, has what they had before. What is there is added to, and
//! never overwritten. Nothing here knows a platform: an account is opened, checked and heard by its channel's own code.
//!
//! - `asking`: one question at a time;
//! - `platform`: what can be set up, and the account that is;
//! - `chat`: finds the chat; `test_message`: writes in it;
//! - `plan`: what is to be written, as a text that a hub would read; `edit`: how it gets into the text that is there;
//! - `writing`: the files; `apply`: everything that changes;
//! - `next`: what the person does then.

mod apply;
mod asking;
mod chat;
mod edit;
mod next;
mod plan;
mod platform;
mod test_message;
mod writing;

use std::{path::PathBuf, time::Duration};

use tokio::signal::unix::{SignalKind, signal};

use self::{
    asking::{Asking, stopped},
    plan::{Plan, Standing},
    platform::{Candidate, PLATFORMS, Platform},
};
use super::{Failed, companion::passphrase::KeysArguments};
use crate::{
    client::Place,
    printing::{print_note, visible_line},
    settings::{
        is_name,
        secret::{Secret, SecretSource},
    },
    store::DirectoryLock,
};

/// Where a local message goes if nobody says.
const LOCAL_ADDRESS: &str = "me";
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

pub(super) async fn run(place: &Place, arguments: Arguments) -> Result<(), Failed> {
    let mut signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
        .map(|kind| signal(kind).map_err(Failed::refused));
    let [Ok(interrupt), Ok(terminate), Ok(hang_up)] = &mut signals else {
        return Err(Failed::Refused("the system lets nobody wait for signals".into()));
    };
    let asking = Asking::new(arguments.yes);
    let (plan, candidate) = tokio::select! {
        biased;
        _ = interrupt.recv() => return Err(stopped()),
        _ = terminate.recv() => return Err(stopped()),
        _ = hang_up.recv() => return Err(stopped()),
        planned = plan(place, &arguments, asking) => planned?,
    };
    // The account that was tried goes before the first file is written.
    drop(candidate);
    // From here on there is no waiting for anybody but this machine, and no stopping half-way.
    let done = apply::apply(place, plan, &arguments.keys).await?;
    next::tell(&done, arguments.json)
}

/// Everything that is asked and tried.
async fn plan(place: &Place, arguments: &Arguments, asking: Asking) -> Result<(Plan, Candidate), Failed> {
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
        None => ask_platform(asking).await?,
    };
    if !is_name(&arguments.account) {
        return Err(Failed::Usage("--account: a name has letters, digits, `-` and `_`, at most 40".into()));
    }
    let mut plan = Plan::new(standing, platform, &arguments.account);
    let (candidate, me) = account(&mut plan, arguments, asking).await?;
    plan.address = chat(&candidate, &me, arguments, asking, runs).await?;
    plan.me = me;
    plan.agent = agent(&plan.standing, arguments, asking).await?;
    plan.companion = companion(&plan, arguments, asking, runs).await?;
    plan.compose()?;
    Ok((plan, candidate))
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

async fn ask_platform(asking: Asking) -> Result<&'static Platform, Failed> {
    print_note!("");
    for platform in &PLATFORMS {
        print_note!("  {:9} {}", platform.name, platform.kind().title());
    }
    loop {
        let name = asking.line("Which platform? local needs no account", PLATFORMS[0].name).await?;
        match Platform::named(&name) {
            Ok(platform) => return Ok(platform),
            Err(error) => print_note!("{error}"),
        }
    }
}

/// The account, as its platform knows it.
async fn account(
    plan: &mut Plan,
    arguments: &Arguments,
    asking: Asking,
) -> Result<(Candidate, String), Failed> {
    let platform = plan.platform;
    if let Some(table) = plan.standing.account(platform.name, &plan.account) {
        if arguments.token_file.is_some() || !arguments.set.is_empty() {
            return Err(Failed::Usage(format!(
                "there is an account {}.{} already, and nothing of it is changed: leave out --token-file and --set, or name another one with --account",
                platform.name, plan.account
            )));
        }
        let candidate = Candidate::of(platform, &plan.account, table.clone())?;
        let me = candidate.check().await?;
        match platform.secret {
            Some(_) => {
                print_note!(
                    "{}.{} is set up already, as {}.",
                    platform.name,
                    plan.account,
                    visible_line(&me)
                );
            }
            None => print_note!("{} is {}: nothing is to be set up there.", platform.name, visible_line(&me)),
        }
        return Ok((candidate, me));
    }
    if asking.is_possible() && platform.secret.is_some() {
        print_note!(
            "\nFor the {} you need, all steps are in: gatepost channels setup {}",
            platform.secret.unwrap_or(""),
            platform.name
        );
        print_note!("{}", platform.steps_to_secret());
    }
    plan.lines = keys(platform, arguments, asking).await?;
    loop {
        plan.secret = secret(platform, arguments, asking).await?;
        let checked = async {
            let candidate = Candidate::new(platform, &plan.account, &plan.lines, plan.secret.as_ref())?;
            let me = candidate.check().await?;
            Ok::<_, Failed>((candidate, me))
        };
        match checked.await {
            Ok((candidate, me)) => {
                print_note!("{} knows the account, as {}.", platform.name, visible_line(&me));
                return Ok((candidate, me));
            }
            Err(error) if !asking.is_possible() || arguments.token_file.is_some() => return Err(error),
            Err(error) => {
                print_note!("{}", crate::printing::visible(&error.to_string()));
                if platform.secret.is_none() {
                    return Err(Failed::Said);
                }
            }
        }
    }
}

/// The account's keys beside its secret, as lines of the configuration.
async fn keys(platform: &Platform, arguments: &Arguments, asking: Asking) -> Result<Vec<String>, Failed> {
    let mut lines = vec![];
    let mut given: Vec<&str> = vec![];
    for set in &arguments.set {
        let (key, value) =
            set.split_once('=').ok_or_else(|| Failed::Usage(format!("--set {set}: write KEY=VALUE")))?;
        let is_key = platform.kind().keys.iter().any(|known| known.name == key);
        if !is_key || Some(key) == platform.secret {
            let keys: Vec<_> = platform.kind().keys.iter().map(|known| known.name).collect();
            return Err(Failed::Usage(format!(
                "--set {key}: a key of {} is one of {}; a secret is never given so",
                platform.name,
                keys.join(", ")
            )));
        }
        given.push(key);
        lines.push(plan::line(key, value));
    }
    for key in platform.asks.iter().filter(|key| !given.contains(key)) {
        let (doc, example) = platform.key(key);
        print_note!("{doc}");
        let answer = loop {
            let offered = if platform.is_open { &*example } else { "" };
            match asking.line(&format!("{key}, such as {example}"), offered).await? {
                answer if answer.is_empty() => {}
                answer => break answer,
            }
        };
        lines.push(plan::line(key, &answer));
    }
    Ok(lines)
}

/// The account's secret.
async fn secret(
    platform: &Platform,
    arguments: &Arguments,
    asking: Asking,
) -> Result<Option<Secret>, Failed> {
    let Some(key) = platform.secret else { return Ok(None) };
    if let Some(file) = &arguments.token_file {
        let source = match file.to_str() {
            Some("-") => SecretSource::File("/dev/stdin".into()),
            _ => SecretSource::File(file.clone()),
        };
        source.refuse_everybodys().map_err(Failed::refused)?;
        return source.read().map(Some).map_err(Failed::refused);
    }
    if !asking.is_possible() {
        return Ok(None);
    }
    loop {
        let hint = if platform.is_open { ", or Enter for none" } else { "" };
        let typed = asking.secret(&format!("Paste the {key} (it is not shown{hint})")).await?;
        if typed.is_some() || platform.is_open {
            return Ok(typed);
        }
    }
}

/// The address of the chat, after a test message has arrived there.
async fn chat(
    candidate: &Candidate,
    me: &str,
    arguments: &Arguments,
    asking: Asking,
    runs: bool,
) -> Result<String, Failed> {
    let platform = candidate.platform;
    // The hub receives for the account, and two cannot.
    let hears = platform.hears && !(runs && candidate.receives());
    let can = candidate.open(false)?.capabilities().address_hint;
    if asking.is_possible() && arguments.to.is_none() && !platform.joins.is_empty() {
        print_note!("{} (gatepost channels setup {})", platform.joins, platform.name);
    }
    loop {
        let address = match &arguments.to {
            Some(to) => to.clone(),
            None if platform.name == "local" => LOCAL_ADDRESS.into(),
            None if hears => {
                let wait = Duration::from_secs(arguments.wait);
                chat::find(candidate, me, asking, wait).await?
            }
            None => asking.line(&format!("Where may the agent write? {can}"), "").await?,
        };
        let bare = address.strip_prefix(&format!("{}:", platform.name)).unwrap_or(&address);
        let tried = async {
            let resolved = candidate.open(false)?.resolve(bare).map_err(Failed::refused)?;
            if platform.name != "local" && !arguments.no_test {
                print_note!("Sending a test message …");
                test_message::send(candidate, &resolved).await?;
                print_note!("It was sent.");
            }
            Ok::<_, Failed>(resolved)
        };
        match tried.await {
            Ok(resolved) => return Ok(resolved),
            Err(error) if arguments.to.is_some() || !asking.is_possible() => return Err(error),
            Err(error) => {
                print_note!("{}", crate::printing::visible(&error.to_string()));
                if !asking.yes("Try another chat?").await? {
                    return Err(stopped());
                }
            }
        }
    }
}

/// The agent that may write there.
async fn agent(standing: &Standing, arguments: &Arguments, asking: Asking) -> Result<String, Failed> {
    let usual = standing.usual_agent();
    let wrong =
        |name: &str| (!is_name(name)).then_some("a name has letters, digits, `-` and `_`, at most 40");
    match &arguments.agent {
        Some(name) => match wrong(name) {
            Some(why) => Err(Failed::Usage(format!("--agent: {why}"))),
            None => Ok(name.clone()),
        },
        None if !asking.is_possible() => Ok(usual),
        None => loop {
            let name = asking.line("What is your agent called?", &usual).await?;
            match wrong(&name) {
                Some(why) => print_note!("{why}"),
                None => break Ok(name),
            }
        },
    }
}

/// Whether a terminal is made a companion.
async fn companion(plan: &Plan, arguments: &Arguments, asking: Asking, runs: bool) -> Result<bool, Failed> {
    let hindrance = plan.standing.cannot_introduce(runs);
    match (arguments.companion, hindrance) {
        (Some(Companion::None), _) => Ok(false),
        (Some(Companion::Terminal), Some(why)) => Err(Failed::Usage(format!("--companion terminal: {why}"))),
        (Some(Companion::Terminal), None) if !asking.is_possible() && !arguments.keys.are_given() => {
            Err(Failed::Usage(
                "nobody can be asked for the passphrase of the companion's keys: give --passphrase-file or --no-passphrase too".into(),
            ))
        }
        (Some(Companion::Terminal), None) => Ok(true),
        (None, None) if asking.is_possible() => {
            print_note!(
                "\nWho approves what leaves? A companion: a device with two buttons, or a terminal of yours. A terminal's key lies on this\ncomputer, and whoever has it can approve."
            );
            asking.yes("Shall a terminal here be your companion?").await
        }
        (None, _) => Ok(false),
    }
}
