//! What an account on Matrix receives from Synapse, over a restart and behind a gap.
//!
//! Installed by `tests/run --setup-only`: Synapse.

use std::{
    collections::HashMap,
    fs,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use gatepost::channels::{
    hub_handle::{HubHandle, Unavailable},
    received::{AuthorKind, Batch, Event, Received, Seen},
};
use gatepost_tests::{
    adapter::opened,
    peers::{Account, Reader, Synapse},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{task::JoinHandle, time::Instant};

/// How many lines of a room one answer of `/sync` has at most, as the account asks for it.
const LINES: usize = 50;
/// How many lines are written beyond that while the account is away.
const GAP: usize = 37;

/// A hub that keeps in memory what it is told.
#[derive(Default)]
struct Hub(Mutex<State>);

#[derive(Default)]
struct State {
    received: Vec<Received>,
    positions: HashMap<String, String>,
    seen: Vec<Seen>,
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was received so far, once this is true of it.
    async fn until(&self, done: impl Fn(&[Received]) -> bool) -> Result<Vec<Received>> {
        let end = Instant::now() + Duration::from_secs(90);
        loop {
            let received = self.state().received.clone();
            if done(&received) {
                return Ok(received);
            }
            ensure!(Instant::now() < end, "it does not come; there is {received:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether somebody has read this message.
    fn has_seen(&self, id: &str) -> bool {
        self.state().seen.iter().any(|seen| seen.read && seen.ids.iter().any(|one| one == id))
    }

    /// Waits until the account has begun to read.
    async fn begun(&self) -> Result<()> {
        self.until(|_| !self.state_is_empty()).await.map(drop)
    }

    fn state_is_empty(&self) -> bool {
        self.state().positions.is_empty()
    }
}

#[async_trait]
impl HubHandle for Hub {
    async fn receive(&self, batch: Batch) -> Result<(), Unavailable> {
        let mut state = self.state();
        let fits: Result<Vec<Received>, _> = batch.received.into_iter().map(Received::bounded).collect();
        state.received.extend(fits.map_err(|_| Unavailable)?);
        state.positions.extend(batch.positions.into_iter().map(|position| (position.stream, position.value)));
        Ok(())
    }

    fn seen(&self, seen: Seen) {
        self.state().seen.push(seen);
    }

    async fn position(&self, stream: &str) -> Result<Option<String>, Unavailable> {
        Ok(self.state().positions.get(stream).cloned())
    }
}

/// An account that listens until this goes.
struct Listens {
    _folder: TempDir,
    task: JoinHandle<()>,
}

impl Drop for Listens {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Fixture {
    synapse: Synapse,
    bot: Account,
    anna: Account,
    room: String,
    secrets: TempDir,
    hub: Arc<Hub>,
}

impl Fixture {
    fn build() -> Result<Self> {
        let synapse = Synapse::start()?;
        let bot = synapse.register("gatepost", "a password")?;
        let anna = synapse.register("anna", "another password")?;
        let room = synapse.create_room(&bot.access_token)?;
        synapse.invite(&bot.access_token, &room, &anna.user_id)?;
        synapse.join(&anna.access_token, &room)?;
        let secrets = tempfile::tempdir()?;
        fs::write(secrets.path().join("token"), &bot.access_token)?;
        Ok(Self { synapse, bot, anna, room, secrets, hub: Arc::default() })
    }

    /// The account as a hub opens it that has just started.
    fn listens(&self) -> Result<Listens> {
        let config = format!(
            "[channels.matrix.home]\nhomeserver = \"{}\"\ntoken = \"file:{}\"\nreceive = true\njoin_invites_from = [\"{}\"]\n",
            self.synapse.base_url(),
            self.secrets.path().join("token").display(),
            self.anna.user_id
        );
        let (folder, adapter) = opened("matrix", &config)?;
        let hub = Arc::clone(&self.hub);
        let task = tokio::spawn(async move { adapter.listen(&*hub).await });
        Ok(Listens { _folder: folder, task })
    }

    /// Anna sends an event; its id.
    fn sends(&self, kind: &str, n: usize, content: &Value) -> Result<String> {
        let path = format!("v3/rooms/{}/send/{kind}/test-{n}", self.room);
        let (status, answer) =
            self.synapse.call("PUT", &path, Some(&self.anna.access_token), Some(content))?;
        ensure!(status == 200, "{status}: {answer}");
        Ok(answer["event_id"].as_str().context("an id")?.to_owned())
    }
}

fn words(received: &[Received]) -> Vec<&str> {
    received.iter().filter_map(|one| one.event.words()).map(|words| words.text.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_do_in_a_room_is_received_once_in_order_over_a_restart_and_behind_a_gap() -> Result<()> {
    let server = Fixture::build()?;
    let (anna, room) = (&server.anna.access_token, &server.room);
    server.synapse.send_text(anna, room, "from before")?;
    let first = server.listens()?;
    server.hub.begun().await?;

    let asked = server.synapse.send_text(&server.bot.access_token, room, "Shall I?")?;
    let mention = json!({"msgtype": "m.text", "body": "hub: yes", "m.mentions": {"user_ids": [server.bot.user_id]},
        "m.relates_to": {"m.in_reply_to": {"event_id": asked}}});
    let said = server.sends("m.room.message", 1, &mention)?;
    let edit = json!({"msgtype": "m.text", "body": "* no", "m.new_content": {"msgtype": "m.text", "body": "no"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": said}});
    server.sends("m.room.message", 2, &edit)?;
    let like = json!({"m.relates_to": {"rel_type": "m.annotation", "event_id": asked, "key": "👍"}});
    let like = server.sends("m.reaction", 3, &like)?;
    for (n, gone) in [&like, &said].into_iter().enumerate() {
        let path = format!("v3/rooms/{room}/redact/{gone}/redact-{n}");
        let (status, answer) = server.synapse.call("PUT", &path, Some(anna), Some(&json!({})))?;
        ensure!(status == 200, "{answer}");
    }
    let received = server.hub.until(|received| received.len() >= 6).await?;
    let [own, message, edit, reaction, removed, deleted] = &received[..] else {
        anyhow::bail!("{received:#?}")
    };
    ensure!(own.author.kind == AuthorKind::Myself && words(&received)[0] == "Shall I?", "{own:?}");
    ensure!(
        message.mentions_me && message.conversation.direct && message.conversation.address == *room,
        "{message:?}"
    );
    ensure!(
        message.author.id == server.anna.user_id && message.author.name.as_deref() == Some("anna"),
        "{message:?}"
    );
    let reply = message.event.words().and_then(|words| words.reply_to.as_ref()).context("it answers")?;
    ensure!(reply.mine && reply.id == asked && reply.text.as_deref() == Some("Shall I?"), "{reply:?}");
    ensure!(matches!(&edit.event, Event::Edit(words) if words.text == "no"), "{edit:?}");
    ensure!(edit.message_id.as_deref() == Some(&said), "{edit:?}");
    ensure!(
        matches!(&reaction.event, Event::Reaction { removed: false, emoji } if emoji == "👍"),
        "{reaction:?}"
    );
    ensure!(
        matches!(&removed.event, Event::Reaction { removed: true, emoji } if emoji == "👍"),
        "{removed:?}"
    );
    ensure!(deleted.event == Event::Delete && deleted.message_id.as_deref() == Some(&said), "{deleted:?}");

    // Anna reads what was asked.
    let path = format!("v3/rooms/{room}/receipt/m.read/{asked}");
    let (status, answer) = server.synapse.call("POST", &path, Some(anna), Some(&json!({})))?;
    ensure!(status == 200, "{answer}");
    server.hub.until(|_| server.hub.has_seen(&asked)).await?;

    // The hub is away, and more is written than one answer has.
    drop(first);
    server.hub.state().received.clear();
    let lines: Vec<String> = (0..LINES + GAP).map(|n| format!("line {n}")).collect();
    for line in &lines {
        server.synapse.send_text(anna, room, line)?;
    }
    let _second = server.listens()?;
    server.hub.until(|received| received.len() >= lines.len()).await?;

    // Who may invite it takes it into another room.
    let other = server.synapse.create_room(anna)?;
    server.synapse.send_text(anna, &other, "said to others")?;
    server.synapse.invite(anna, &other, &server.bot.user_id)?;
    let is_own_joining = |one: &Received| one.event == Event::Join && one.author.kind == AuthorKind::Myself;
    server.hub.until(|received| received.iter().any(is_own_joining)).await?;
    server.synapse.send_text(anna, &other, "Welcome!")?;
    let received = server.hub.until(|received| words(received).contains(&"Welcome!")).await?;
    let expected: Vec<&str> = lines.iter().map(String::as_str).chain(["Welcome!"]).collect();
    ensure!(words(&received) == expected, "{:#?}", words(&received));
    let invited = &received[lines.len()];
    ensure!(
        invited.event == Event::Join && invited.mentions_me && invited.author.id == server.anna.user_id,
        "{invited:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_does_with_another_peoples_client_is_received_and_she_reads_what_is_said() -> Result<()>
{
    let server = Fixture::build()?;
    let _listens = server.listens()?;
    server.hub.begun().await?;
    let anna = &server.anna;
    let mut client = Reader::start(
        "matrix-person.py",
        &[&server.synapse.base_url(), &anna.user_id, &anna.access_token, &server.room],
    )?;
    let asked = server.synapse.send_text(&server.bot.access_token, &server.room, "Shall I?")?;
    let mut does = |order: Value| -> Result<Value> {
        client.order(&order)?;
        loop {
            let said = client.says()?;
            // What is said in the room is told to her as well.
            if said.get("did").is_some() {
                return Ok(said["did"].clone());
            }
        }
    };
    let said = does(json!({"say": "hub: is the oven <on>?", "mentions": [server.bot.user_id]}))?;
    does(json!({"answer": "yes", "to": asked}))?;
    does(json!({"change": said, "into": "is it off?"}))?;
    let liked = does(json!({"react": "👍", "to": asked}))?;
    does(json!({"redact": liked}))?;
    does(json!({"redact": said}))?;
    does(json!({"attach": "list.txt", "bytes": "milk"}))?;
    does(json!({"read": asked}))?;

    let of_hers = |received: &[Received]| {
        let hers = received.iter().filter(|one| one.author.id == anna.user_id && one.event != Event::Join);
        hers.cloned().collect::<Vec<_>>()
    };
    let received = server.hub.until(|received| of_hers(received).len() >= 7).await?;
    let received = of_hers(&received);
    let [said_by_her, answer, edit, reaction, removed, deleted, file] = &received[..] else {
        anyhow::bail!("{received:#?}")
    };
    ensure!(said_by_her.mentions_me && said_by_her.message_id.as_deref() == said.as_str(), "{said_by_her:?}");
    ensure!(
        words(&received) == ["hub: is the oven <on>?", "yes", "is it off?", ""],
        "{:?}",
        words(&received)
    );
    let reply = answer.event.words().and_then(|words| words.reply_to.as_ref()).context("it answers")?;
    ensure!(reply.mine && reply.id == asked, "{reply:?}");
    ensure!(edit.message_id.as_deref() == said.as_str() && matches!(edit.event, Event::Edit(_)), "{edit:?}");
    ensure!(
        matches!(&reaction.event, Event::Reaction { removed: false, emoji } if emoji == "👍"),
        "{reaction:?}"
    );
    ensure!(matches!(&removed.event, Event::Reaction { removed: true, .. }), "{removed:?}");
    ensure!(deleted.event == Event::Delete && deleted.message_id.as_deref() == said.as_str(), "{deleted:?}");
    // It was fetched; only this test's hub keeps none.
    let missing = &file.event.words().context("a file")?.missing;
    ensure!(missing == &["list.txt: files are not kept here"], "{missing:?}");
    server.hub.until(|_| server.hub.has_seen(&asked)).await?;
    client.end()
}
