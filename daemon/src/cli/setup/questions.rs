//! What is asked for: each answer comes from an option, from a person, or is the default. A wrong one of a person is asked for again.

use std::{collections::BTreeMap, time::Duration};

use super::{
    ACCOUNT, Arguments, Companion,
    asking::{Asking, off_the_runtime, stopped},
    chat as chats,
    companion::Keys,
    plan::{self, Plan, Standing},
    platform::{Candidate, PLATFORMS, Platform},
    test_message,
};
use crate::{
    cli::Failed,
    message::target::HUB,
    printing::{print_note, visible, visible_line},
    settings::{
        is_name,
        secret::{Secret, SecretSource},
    },
};

/// Where a local message goes if nobody says.
const LOCAL_ADDRESS: &str = "me";

/// The platform.
pub(super) async fn platform(asking: Asking) -> Result<&'static Platform, Failed> {
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
pub(super) async fn account(
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
        let me = candidate.check().await.map_err(|error| match platform.secret_file(table) {
            Some(file) => Failed::Refused(format!(
                "{error}\nIf it is to be another {}: put it into {file}, and run setup again",
                platform.secret.unwrap_or_default()
            )),
            None => error,
        })?;
        match platform.secret {
            Some(_) => {
                print_note!(
                    "{}.{} is set up already, as {}.",
                    platform.name,
                    plan.account,
                    visible_line(&me)
                );
                if asking.is_possible() && arguments.account == ACCOUNT {
                    print_note!("(Another account is added with --account NAME.)");
                }
            }
            None => print_note!("{} is {}: nothing is to be set up there.", platform.name, visible_line(&me)),
        }
        return Ok((candidate, me));
    }
    if asking.is_possible() && platform.secret.is_some() {
        let what = platform.secret.unwrap_or_default();
        print_note!("\nYou need a {what}. Every step: gatepost channels setup {}", platform.name);
        print_note!("{}", platform.steps_to_secret());
    }
    let given = given(platform, arguments)?;
    let mut answers = BTreeMap::new();
    loop {
        // What was wrong is not always the secret: each answer can be given anew, and Enter keeps it.
        plan.lines = given.iter().map(|(_, line)| line.clone()).collect();
        for key in platform.asks.iter().filter(|key| !given.iter().any(|(given, _)| given == *key)) {
            let answer = answer(platform, key, answers.get(key), asking).await?;
            plan.lines.push(plan::text_line(key, &answer));
            answers.insert(key, answer);
        }
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
                print_note!("{}", visible(&error.to_string()));
                if platform.secret.is_none() {
                    return Err(Failed::Said);
                }
            }
        }
    }
}

/// The account's keys that are given as options: each with its line of the configuration.
fn given<'a>(platform: &Platform, arguments: &'a Arguments) -> Result<Vec<(&'a str, String)>, Failed> {
    let mut given = vec![];
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
        given.push((key, plan::line(key, value)));
    }
    Ok(given)
}

/// What a person says for a key of the account; what they said before is offered.
async fn answer(
    platform: &Platform,
    key: &str,
    before: Option<&String>,
    asking: Asking,
) -> Result<String, Failed> {
    let (doc, example) = platform.key(key);
    if before.is_none() {
        print_note!("{doc}");
    }
    let offered = match before {
        Some(before) => before,
        None if platform.is_open => &*example,
        None => "",
    };
    loop {
        match asking.line(&format!("{key}, such as {example}"), offered).await? {
            answer if answer.is_empty() => {}
            answer => return Ok(answer),
        }
    }
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
pub(super) async fn chat(
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
                chats::find(candidate, me, asking, wait).await?
            }
            None => asking.line(&format!("Where may the agent write? {can}"), "").await?,
        };
        let bare = address.strip_prefix(&format!("{}:", platform.name)).unwrap_or(&address);
        let tried = async {
            let account = candidate.open(false)?;
            let mut resolved = account.resolve(bare).map_err(Failed::refused)?;
            if account.is_name(&resolved) {
                // The agent's entry is the id's, whatever is called so tomorrow.
                resolved = account.identify(&resolved).await.map_err(Failed::refused)?.into();
            }
            if candidate.receives() && !arguments.no_test {
                // A hub of setup's own would hear, and acknowledge, what people write to the person's.
                print_note!("No test message: the account receives, and that is the hub's alone.");
            } else if platform.name != "local" && !arguments.no_test {
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
                print_note!("{}", visible(&error.to_string()));
                if !asking.yes("Try another chat?").await? {
                    return Err(stopped());
                }
            }
        }
    }
}

/// Why a name is none for an agent. Commands would take one that begins with `-` for an option.
pub(super) fn is_no_agent(name: &str) -> Option<&'static str> {
    match name {
        HUB => Some("`hub` is the hub's own name: take another one"),
        name if is_name(name) && !name.starts_with('-') => None,
        _ => Some("a name has letters, digits, `-` and `_`, at most 40, and does not begin with `-`"),
    }
}

/// The agent that may write there.
pub(super) async fn agent(
    standing: &Standing,
    arguments: &Arguments,
    asking: Asking,
) -> Result<String, Failed> {
    let usual = standing.usual_agent();
    match &arguments.agent {
        Some(name) => Ok(name.clone()),
        None if !asking.is_possible() => Ok(usual),
        None => loop {
            let name = asking.line("What is your agent called?", &usual).await?;
            match is_no_agent(&name) {
                Some(why) => print_note!("{why}"),
                None => break Ok(name),
            }
        },
    }
}

/// The keys of the terminal that is made a companion, if one is.
pub(super) async fn companion(
    plan: &Plan,
    arguments: &Arguments,
    asking: Asking,
    runs: bool,
) -> Result<Option<Keys>, Failed> {
    let hindrance = plan.standing.cannot_introduce(runs);
    let is_wanted = match (arguments.companion, hindrance) {
        (Some(Companion::None), _) => false,
        (Some(Companion::Terminal), Some(why)) => {
            return Err(Failed::Usage(format!("--companion terminal: {why}")));
        }
        (Some(Companion::Terminal), None) if !asking.is_possible() && !arguments.keys.are_given() => {
            return Err(Failed::Usage(
                "nobody can be asked for the passphrase of the companion's keys: give --passphrase-file or --no-passphrase too".into(),
            ));
        }
        (Some(Companion::Terminal), None) => true,
        (None, None) if asking.is_possible() => {
            print_note!(
                "\nWho approves what leaves? A companion: a device with two buttons, or a terminal of yours. A terminal's key lies on this\ncomputer, and whoever has it can approve."
            );
            asking.yes("Shall a terminal here be your companion?").await?
        }
        (None, _) => false,
    };
    if !is_wanted {
        return Ok(None);
    }
    let (keys, data_dir) = (arguments.keys.clone(), plan.standing.config.hub.data_dir.clone());
    match off_the_runtime(move || Keys::open(&keys, &data_dir)).await {
        Ok(Some(keys)) => Ok(Some(keys)),
        Ok(None) => Err(stopped()),
        // Whoever only said yes to a question has answered all the others, too.
        Err(error) if arguments.companion.is_none() => {
            print_note!("{}", visible(&error.to_string()));
            match asking.yes("Go on without it?").await? {
                true => Ok(None),
                false => Err(stopped()),
            }
        }
        Err(error) => Err(error),
    }
}
