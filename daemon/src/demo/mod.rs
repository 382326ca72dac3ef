//! `gatepost demo`: the whole main job on this machine, with nothing set up beforehand.
//!
//! It is the real thing throughout: the hub with its database, its broker and its HTTP interface; an agent that speaks to
//! that interface with a token; the companion's own application, over MQTT, in the terminal or as a board's firmware. Every
//! step is checked by what the hub says afterwards, and the demo ends well only if every step really happened.
//!
//! - [`sample_message`]: what the agent has to say;
//! - [`hub`]: the hub and the companion;
//! - [`board`]: a companion that is a board in QEMU;
//! - [`people`]: who writes to the agent, Ann and a stranger;
//! - [`stage`]: how it is told.

mod board;
mod hub;
mod people;
mod sample_message;
mod stage;

use std::{path::PathBuf, time::Duration};

use gatepost_desktop::person;
use gatepost_link::decision::Verdict;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    approval::prove::prove,
    audit,
    client::{Client, ClientError, Request},
    store::StoreError,
};
use board::Board;
pub use board::BoardError;
use hub::{Asked, DemoHub, Wanted};
use stage::{Interruption, Stage};

/// How long a person may take. The demo's holds live as long.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long the scripted person may take.
const SCRIPTED: Duration = Duration::from_secs(60);

/// How long the companion and the hub may take to find each other.
const MEETING: Duration = Duration::from_secs(10);
/// How long a board may take for a step of its own, on a busy machine.
const BOARDS: Duration = Duration::from_secs(60);
/// What the hub calls the board.
const BOARD: &str = "board";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Keep the hub's data in this directory; without it, a temporary one goes with the demo.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Who decides: you, or a scripted person who approves or denies the first message, and lets the stranger in or not. The second
    /// message is always denied.
    #[arg(long, value_enum, default_value = "ask")]
    decide: Decide,
    /// The companion that asks.
    #[arg(long, value_enum, default_value = "desktop")]
    companion: CompanionKind,
    /// Keep a picture of each new screen of the board in this directory, as PNG; with --companion qemu.
    #[arg(long, value_name = "DIR")]
    screenshots: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Decide {
    Ask,
    Approve,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CompanionKind {
    /// The companion's application in this terminal.
    Desktop,
    /// The companion's firmware on a RISC-V board in QEMU. Who is asked presses [a] and [d] in its window.
    Qemu,
}

/// Why the demo did not end well.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Nobody can be asked.
    #[error("there is no terminal to ask in: use --decide approve or --decide deny")]
    NoTerminal,
    /// A terminal's pictures.
    #[error("only a board has a screen to keep pictures of: add --companion qemu")]
    NoPictures,
    /// The board.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The demo's hub refused a call, or was not there.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A step did not happen as it should have.
    #[error("{0}")]
    Failed(String),
}

impl DemoError {
    fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Runs the demo.
pub async fn run(arguments: Arguments) -> Result<(), DemoError> {
    let asks = arguments.decide == Decide::Ask;
    let (mut stage, wanted) = match arguments.companion {
        CompanionKind::Desktop if arguments.screenshots.is_some() => return Err(DemoError::NoPictures),
        CompanionKind::Desktop => {
            let stage = if asks { Stage::in_terminal()? } else { Stage::unattended() };
            let wanted = Wanted::Desktop(stage.settings(), stage.display());
            (stage, wanted)
        }
        CompanionKind::Qemu => {
            let stage = Stage::unattended();
            let ready = board::ready(asks, arguments.screenshots.as_deref(), |line| stage.say(line)).await?;
            (stage, Wanted::Board(ready))
        }
    };
    let demo_hub = DemoHub::open(arguments.dir.as_deref(), wanted).await?;
    let mut interruption = match &demo_hub.companion {
        Asked::Desktop(companion) => stage.attach(companion)?,
        Asked::Board(_) => Interruption::by_signal(),
    };
    let played = tokio::select! {
        played = play(&demo_hub, &stage, arguments.decide) => played,
        () = interruption.comes() => Err(DemoError::Failed("interrupted".into())),
    };
    stage.close();
    demo_hub.close().await;
    played
}

async fn play(demo_hub: &DemoHub, stage: &Stage, decide: Decide) -> Result<(), DemoError> {
    stage.say("The hub is up: HTTP door, embedded MQTT broker, embedded database, the `local` channel.");
    match &demo_hub.companion {
        Asked::Desktop(_) => {
            stage.met(MEETING).await?;
            stage.say("A companion is connected. Its key was registered just now; nothing else may decide.");
        }
        Asked::Board(board) => paired(demo_hub, stage, board, decide).await?,
    }

    let turn = people::ann_writes(demo_hub).await?;
    let context = text(&turn, "context");
    stage.say("Ann wrote to the agent `engineer`, which is woken, and answers her where she wrote: nobody is asked.");
    let answer =
        say(demo_hub, json!({"to": "current", "message": sample_message::SHORT, "context": context}), 10)
            .await?;
    expect(&answer, "sent", "the answer in its own conversation")?;
    show_arrived(demo_hub, stage, "ann", 1).await?;

    stage.say("");
    stage.say(
        "Now the agent sends a long report to another conversation, `local:team`. That leaves the house's",
    );
    stage.say("rule \"answer where you were asked\", so it is held, and the companion asks.");
    let report = json!({"to": "local:team", "message": sample_message::report(), "context": context});
    let held = say(demo_hub, report, 0).await?;
    expect(&held, "held", "the report")?;
    stage.say(&format!("Held as {}: {}", text(&held, "id"), text(&held, "reason")));
    let verdict = decided(demo_hub, stage, decide, READ_IT).await?;
    let end = ended(demo_hub, &held).await?;
    tell_end(demo_hub, stage, &end, verdict).await?;
    if verdict == Verdict::Approve {
        show_arrived(demo_hub, stage, "team", 2).await?;
    } else {
        nothing_arrived(demo_hub, "team").await?;
    }

    stage.say("");
    stage.say("The agent tries once more: a message that nobody should get.");
    let second =
        say(demo_hub, json!({"to": "local:team", "message": sample_message::SECOND, "context": context}), 0)
            .await?;
    expect(&second, "held", "the second message")?;
    let wanted = if decide == Decide::Ask { decide } else { Decide::Deny };
    let before = arrived(demo_hub, "team").await?.len();
    let verdict = decided(demo_hub, stage, wanted, DENY_IT).await?;
    let end = ended(demo_hub, &second).await?;
    tell_end(demo_hub, stage, &end, verdict).await?;
    if verdict == Verdict::Deny && arrived(demo_hub, "team").await?.len() != before {
        return Err(DemoError::Failed("a denied message arrived".into()));
    }
    people::end(demo_hub, &turn).await?;

    people::stranger_writes(demo_hub, stage, decide).await?;

    let broken = demo_hub.hub.store().read(audit::first_broken).await.map_err(store)?;
    if let Some(row) = broken {
        return Err(DemoError::Failed(format!("the audit's chain is broken at row {row}")));
    }
    let hub = demo_hub.hub.key();
    let proof = demo_hub.hub.store().read(move |db| prove(db, hub, 0)).await.map_err(store)?;
    if let Some(fault) = proof.faults.first() {
        return Err(DemoError::Failed(fault.to_string()));
    }
    stage.say("");
    stage.say("Done. Every step is in the audit, and its chain of hashes is whole.");
    stage.say("Every decision in it carries the companion's own signature.");
    Ok(())
}

/// The board starts as a new one and is paired with the hub, as any device is.
async fn paired(demo_hub: &DemoHub, stage: &Stage, board: &Board, decide: Decide) -> Result<(), DemoError> {
    board.unpaired(BOARDS).await?;
    stage.say(
        "A board has started in QEMU: RISC-V, a screen, two keys. It is paired with nobody, and says so.",
    );
    // That of an earlier demo in the same directory. A first one knows of none.
    demo_hub.operator.ask(Method::DELETE, &format!("/v1/companions/{BOARD}"), Request::default()).await?;
    let wait = || Request { wait: BOARDS, ..Request::default() };
    let shown = demo_hub.operator.call(Method::POST, "/v1/pairing", wait()).await?;
    let code = text(&shown, "code").to_owned();
    let number = format!("{:06}", board.number(BOARDS).await?);
    stage.say(&format!(
        "The hub pairs it. Both show a number: {code} at the hub, {number} on the board's screen."
    ));
    if number != code {
        return Err(DemoError::Failed(
            "the numbers differ: somebody stands between the board and its hub".into(),
        ));
    }
    let confirm = async {
        match decide {
            Decide::Ask => stage.say("Hold [a] in the board's window to say that they are the same."),
            Decide::Approve | Decide::Deny => board.confirm().await?,
        }
        Ok::<_, DemoError>(())
    };
    let path = format!("/v1/pairing/{code}");
    let body = Some(json!({"same": true, "name": BOARD}));
    let answer = async { Ok(demo_hub.operator.call(Method::POST, &path, Request { body, ..wait() }).await?) };
    tokio::try_join!(confirm, answer)?;
    board.met(BOARDS).await?;
    stage.say(
        "They are paired: the board has the hub's key and the hub the board's. Nothing else may decide.",
    );
    Ok(())
}

/// The agent's call, as any agent would make it.
async fn say(demo_hub: &DemoHub, call: Value, wait: u64) -> Result<Value, DemoError> {
    let request = Request {
        query: vec![("wait", wait.to_string())],
        body: Some(call),
        wait: Duration::from_secs(wait),
    };
    Ok(demo_hub.agent.call(Method::POST, "/v1/messages", request).await?)
}

/// What a person is told who decides about the first card, and about the second.
const READ_IT: &str =
    "Read it with short presses of [a]; hold [a] to approve, press [d] to deny. [q] or Ctrl-C leaves.";
const DENY_IT: &str = "This one is to be denied: press [d]. (It is yours to decide.)";

/// Waits for the person's decision on the card that is open.
async fn decided(
    demo_hub: &DemoHub,
    stage: &Stage,
    decide: Decide,
    hint: &str,
) -> Result<Verdict, DemoError> {
    let verdict = match decide {
        Decide::Ask => {
            stage.say(hint);
            return match &demo_hub.companion {
                Asked::Desktop(_) => stage.decision(PATIENCE).await,
                Asked::Board(board) => Ok(board.decision(PATIENCE).await?),
            };
        }
        Decide::Approve => Verdict::Approve,
        Decide::Deny => Verdict::Deny,
    };
    stage.say(match verdict {
        Verdict::Approve => "The scripted person reads every page, then holds Approve.",
        Verdict::Deny => "The scripted person presses Deny.",
    });
    match &demo_hub.companion {
        Asked::Desktop(companion) => {
            person::decide(companion, verdict, SCRIPTED).await.map_err(DemoError::failed)?;
        }
        Asked::Board(board) => board.decide(verdict, SCRIPTED).await?,
    }
    Ok(verdict)
}

/// The message's end, as its agent sees it.
async fn ended(demo_hub: &DemoHub, receipt: &Value) -> Result<Value, DemoError> {
    let path = format!("/v1/messages/{}", text(receipt, "id"));
    let request =
        Request { query: vec![("wait", "20".into())], wait: Duration::from_secs(20), ..Request::default() };
    Ok(demo_hub.agent.call(Method::GET, &path, request).await?)
}

/// Checks a message's end against the decision, and tells it.
async fn tell_end(demo_hub: &DemoHub, stage: &Stage, end: &Value, verdict: Verdict) -> Result<(), DemoError> {
    match verdict {
        Verdict::Approve => {
            expect(end, "sent", "the approved message")?;
            stage.say(&format!("Approved, signed, verified, and sent: {} parts.", text(end, "sent")));
            for (number, part) in (1..).zip(parts(end)) {
                let (state, id) = (text(part, "state"), text(part, "platform_id"));
                stage.say(&format!("  receipt for part {number}: {state} as {id}"));
            }
        }
        Verdict::Deny => {
            expect(end, "denied", "the refused message")?;
            let answer = demo_hub.agent.call(Method::GET, "/v1/inbox", Request::default()).await?;
            let notices = answer.get("notices").and_then(Value::as_array).cloned().unwrap_or_default();
            let receipts = notices.iter().filter_map(|notice| notice.get("receipt"));
            let Some(notice) = receipts.into_iter().find(|receipt| text(receipt, "id") == text(end, "id"))
            else {
                return Err(DemoError::Failed("the agent was not told that its message was denied".into()));
            };
            stage.say(&format!(
                "Denied. The agent is told, in its inbox: {}, {} ({})",
                text(notice, "state"),
                text(notice, "error"),
                text(notice, "hint")
            ));
        }
    }
    Ok(())
}

async fn show_arrived(
    demo_hub: &DemoHub,
    stage: &Stage,
    address: &str,
    least: usize,
) -> Result<(), DemoError> {
    let arrived = arrived(demo_hub, address).await?;
    if arrived.len() < least {
        let found = arrived.len();
        return Err(DemoError::Failed(format!(
            "{found} parts arrived at local:{address}, not {least} or more"
        )));
    }
    for (number, part) in (1..).zip(&arrived) {
        stage.say(&format!("--- local:{address}, part {number} of {} ---", arrived.len()));
        text(part, "text").lines().for_each(|line| stage.say(line));
    }
    stage.say("---");
    Ok(())
}

async fn nothing_arrived(demo_hub: &DemoHub, address: &str) -> Result<(), DemoError> {
    match arrived(demo_hub, address).await?.len() {
        0 => Ok(()),
        found => Err(DemoError::Failed(format!("{found} parts of a denied message arrived"))),
    }
}

async fn arrived(demo_hub: &DemoHub, address: &str) -> Result<Vec<Value>, DemoError> {
    let query = vec![("address", address.to_owned()), ("after", demo_hub.before.to_string())];
    let answer =
        demo_hub.operator.call(Method::GET, "/v1/local", Request { query, ..Request::default() }).await?;
    Ok(answer.get("arrived").and_then(Value::as_array).cloned().unwrap_or_default())
}

fn expect(receipt: &Value, state: &str, what: &str) -> Result<(), DemoError> {
    match text(receipt, "state") {
        found if found == state => Ok(()),
        found => {
            Err(DemoError::Failed(format!("{what} is {found}, not {state}: {}", text(receipt, "error"))))
        }
    }
}

fn parts(receipt: &Value) -> impl Iterator<Item = &Value> {
    receipt.get("parts").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

fn with(body: Value) -> Request<'static> {
    Request { body: Some(body), ..Request::default() }
}

fn store(error: StoreError) -> DemoError {
    DemoError::failed(error)
}

/// A client of the demo's hub with this token.
fn client(base: &str, token: &str) -> Result<Client, DemoError> {
    Ok(Client::new(base.to_owned(), token.to_owned())?)
}
