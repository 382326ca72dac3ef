//! People on a signal-cli that lies: its stream repeats, tells twice, breaks off in the midst of an event, and is refused with errors.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, client::text},
    mocks::{
        MockServer,
        signal::{
            self, SignalMock,
            stream::{EventStream, envelope, message},
        },
    },
    torture::Dice,
};
use serde_json::{Value, json};

use super::{
    hostile::{
        Becomes::{self, Drop, Message},
        LEFT_OUT, became, dropped, good,
    },
    killed::{House, Passed, in_the_midst_of_what_people_write},
};

/// When the first message was sent, in milliseconds.
const BEGINS: i64 = 1_700_000_000_000;
/// Behind so many messages comes something that is none.
const STRANGE: usize = 7;

struct LyingHouse {
    server: MockServer,
    mock: Arc<SignalMock>,
    /// The number of each message's event, and how many events were none.
    told: Mutex<(Vec<(usize, String)>, usize)>,
}

fn account(server: &MockServer) -> String {
    let (url, account) = (server.url(), signal::ACCOUNT);
    format!("[channels.signal.home]\nurl = \"{url}\"\naccount = \"{account}\"\nreceive = true\n")
}

fn somebody(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

impl House for LyingHouse {
    const CHANNEL: &'static str = "signal";
    const HAS_NO_KEYS: bool = true;
    const BEGINS_WITH_NOW: bool = false;
    const COUNTS: [(&'static str, u64); 2] = [("TORTURE_LIAR_KILLS", 20), ("TORTURE_LIAR_MESSAGES", 300)];

    fn account(&self) -> String {
        account(&self.server)
    }

    fn id(&self, person: usize) -> String {
        format!("signal:{}", somebody(person))
    }

    fn address(&self, person: usize) -> String {
        somebody(person)
    }

    fn write(&self, person: usize, _: &str, words: &str) -> Result<()> {
        let mut told = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?;
        let at = BEGINS + i64::try_from(told.0.len())?;
        let number = self.mock.stream.happens(&message(&somebody(person), at, &json!({ "message": words })));
        told.0.push((number, words.to_owned()));
        if told.0.len() % STRANGE == 0 {
            match told.1 % 3 {
                0 => self.mock.stream.happens(&message("nobody", at, &json!({ "message": "nobody's" }))),
                1 => self.mock.stream.says(b"{\"envelope\":"),
                _ => self.mock.stream.happens(&envelope(&somebody(1), at, &json!({"typingMessage": {}}))),
            };
            told.1 += 1;
        }
        Ok(())
    }

    fn reached(&self, person: usize) -> Result<Vec<String>> {
        let to = somebody(person);
        let calls = self.server.heard().into_iter().filter(|request| request.path == "/api/v1/rpc");
        let calls = calls.map(|request| request.json()).filter(|call| call["method"] == "send");
        let its = calls.filter(|call| call["params"]["recipient"][0] == to.as_str());
        Ok(its.map(|call| text(&call["params"], "message").to_owned()).collect())
    }

    fn passed(&self, position: &str, _: &[String]) -> Result<Passed> {
        let last = self.mock.stream.passed(position);
        let told = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?;
        let passed = told.0.iter().filter(|(number, _)| *number <= last);
        Ok(Passed::Words(passed.map(|(_, words)| words.clone()).collect()))
    }

    /// It told what it should, and what was none is counted, each at least once: what has no name may be counted again.
    fn holds_at_the_end(&self, hub: &SpawnedHub) -> Result<()> {
        let did = self.mock.stream.did();
        println!("signal: {did:?}");
        let lies = ["half an event", "twice", "told again", "cut off", "all of it again"];
        let errors = ["500", "429", "no stream", "no answer"];
        for (kinds, least) in [(&lies[..], 3), (&errors[..], 2)] {
            let came = kinds.iter().filter(|kind| did.contains_key(*kind)).count();
            ensure!(came >= least, "it told the truth too often: {did:?}");
        }
        let strange = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?.1;
        let counted = dropped(hub, "signal")?;
        let names = [("unreadable", "dataMessage"), ("unreadable", "event"), ("not_used", "typingMessage")];
        let total: u64 =
            names.iter().filter_map(|(why, what)| counted.get(&((*why).into(), (*what).into()))).sum();
        ensure!(total >= strange as u64, "{strange} were no messages, and {counted:?} is counted");
        Ok(())
    }
}

#[test]
fn kills_before_a_signal_cli_that_lies_leave_every_message_in_one_turn() -> Result<()> {
    let (server, mock) = signal::start_telling(EventStream::lying(Dice::throw("signal-cli")?))?;
    in_the_midst_of_what_people_write(&LyingHouse { server, mock, told: Mutex::default() })
}

/// What a signal-cli can send, and what becomes of it.
fn hostile() -> Vec<(Vec<u8>, Becomes)> {
    let ann = somebody(1);
    let said = |at: i64, word: &str, more: Value| {
        let mut members = json!({ "message": word });
        let more = more.as_object().cloned().unwrap_or_default();
        members.as_object_mut().into_iter().for_each(|all| all.extend(more.clone()));
        message(&ann, at, &members)
    };
    let with = |mut event: Value, member: &str, value: Value| {
        event["envelope"][member] = value;
        event
    };
    let mention = |start: Value| json!({"mentions": [{"uuid": ann, "start": start, "length": 1}]});
    let quote = |id: Value| json!({"quote": {"id": id, "authorUuid": "who", "text": 5}});
    let cases = vec![
        // Sizes. What is longer than 32,000 signs loses its end, and so its last word.
        (said(101, &format!("{} long", "x".repeat(31_000)), json!({})), Message("long")),
        (said(102, &"many ".repeat(200_000), json!({})), Message(LEFT_OUT)),
        (said(103, &"huge ".repeat(1_000_000), json!({})), Drop("unreadable", "event that is too long")),
        // Kinds.
        (json!({}), Drop("unreadable", "envelope")),
        (json!({"account": signal::ACCOUNT, "envelope": 5}), Drop("unreadable", "envelope")),
        (json!({"account": "+4915100000000", "envelope": {}}), Drop("not_used", "another account")),
        (
            json!({"account": signal::ACCOUNT, "exception": {"type": "ProtocolNoSessionException", "message": "x"}}),
            Drop("unreadable", "ProtocolNoSessionException"),
        ),
        (envelope(&ann, 104, &json!({"tomorrowMessage": {"a": 1}})), Drop("not_used", "tomorrowMessage")),
        (envelope(&ann, 104, &json!({"syncMessage": {"sentMessage": {}}})), Drop("not_used", "syncMessage")),
        (
            envelope(&ann, 104, &json!({"receiptMessage": {"timestamps": [1]}})),
            Drop("not_used", "receiptMessage"),
        ),
        (envelope(&ann, 104, &json!({"editMessage": {}})), Drop("unreadable", "editMessage")),
        (envelope(&ann, 104, &json!({"dataMessage": []})), Drop("not_used", "envelope without content")),
        // People who are nobody, or the account itself.
        (with(said(105, "nobody", json!({})), "sourceUuid", json!(null)), Drop("unreadable", "dataMessage")),
        (with(said(105, "x", json!({})), "sourceUuid", json!("../..")), Drop("unreadable", "dataMessage")),
        (with(said(105, "own", json!({})), "sourceUuid", json!(signal::ACI)), Drop("own_words", "message")),
        (with(said(106, "name", json!({})), "sourceName", json!("x".repeat(100_000))), Message("name")),
        // Times. What was said in 1970 is kept, and wakes nobody.
        (said(0, "x", json!({"timestamp": "soon"})), Drop("unreadable", "dataMessage")),
        (said(i64::MAX, "x", json!({})), Drop("unreadable", "dataMessage")),
        (with(said(107, "ancient", json!({})), "serverReceivedTimestamp", json!(1)), Message("ancient")),
        (with(said(108, "never", json!({})), "serverReceivedTimestamp", json!(-1)), Message("never")),
        (
            with(said(109, "later", json!({})), "serverReceivedTimestamp", json!(9_000_000_000_000_000_i64)),
            Message("later"),
        ),
        (said(101, "again", json!({})), Drop("repeated", "message")),
        // Types.
        (said(110, "x", json!({"message": 5})), Drop("not_used", "dataMessage without words")),
        (said(111, "spans", mention(json!(-1))), Message("spans")),
        (said(112, "beyond", mention(json!(u64::MAX))), Message("beyond")),
        (said(113, "quotes", quote(json!(-1))), Message("quotes")),
        (
            said(114, "files", json!({"attachments": [5, {"id": 5}, {"id": ""}], "contacts": "x"})),
            Message("files"),
        ),
        (said(115, "x", json!({"groupInfo": {"groupId": "x"}})), Drop("unreadable", "dataMessage")),
        (said(116, "x", json!({"reaction": {}})), Drop("unreadable", "reaction")),
        (said(117, "x", json!({"remoteDelete": {"timestamp": {}}})), Drop("unreadable", "remoteDelete")),
        (
            said(118, "x", json!({"pollVote": {"authorUuid": ann, "targetSentTimestamp": 1}})),
            Drop("not_used", "pollVote in another's poll"),
        ),
    ];
    let mut all: Vec<(Vec<u8>, Becomes)> =
        cases.into_iter().map(|(event, becomes)| (event.to_string().into_bytes(), becomes)).collect();
    let deep = "[".repeat(100_000);
    for broken in [&b"{"[..], b"\xff\xfe", b"", b"\"\\ud800\"", deep.as_bytes()] {
        all.push((broken.to_vec(), Drop("unreadable", "event")));
    }
    all
}

#[test]
fn whatever_signal_cli_sends_is_told_or_counted_and_the_next_message_comes() -> Result<()> {
    let (server, mock) = signal::start_with()?;
    let ann = somebody(1);
    let rules = format!(
        "[agents.engineer]\nallow = []\n[people.ann]\nids = [\"signal:{ann}\"]\nscope = \"owner\"\n\
         [routes.engineer]\nfrom = [\"signal:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n"
    );
    let hub = SpawnedHub::start(&format!("{rules}{}", account(&server)))?;
    let mut becomes = Vec::new();
    for (number, (event, becomes_this)) in hostile().into_iter().enumerate() {
        mock.stream.says(&event);
        let next = message(&ann, 10_000 + i64::try_from(number)?, &json!({ "message": good(number) }));
        mock.stream.happens(&next);
        becomes.push(becomes_this);
    }
    became(&hub, "signal", &becomes)
}
