//! People on a Matrix whose homeserver lies: it repeats, leaves out, tells in any order, and answers with every error that there is.

use std::{path::Path, sync::Mutex};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, secret},
    torture::{
        Dice,
        homeserver::{LyingHomeserver, ME, TOKEN, message, room, user},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    hostile::{Becomes, LEFT_OUT, became, dropped, good},
    killed::{House, Passed, in_the_midst_of_what_people_write},
};

/// Behind so many messages comes something that is none.
const STRANGE: usize = 7;
/// What comes then, in turn, and what it is counted as.
const STRANGE_EVENTS: [(&str, &str); 3] = [
    ("5", "event"),
    ("{\"type\":\"m.room.message\"}", "event"),
    ("{\"type\":\"m.tomorrow\",\"sender\":\"@p:x\"}", "another kind"),
];

struct LyingHouse {
    homeserver: LyingHomeserver,
    account: String,
    /// The place of each message among all events, and how many events were none.
    told: Mutex<(Vec<(usize, String)>, usize)>,
    _secrets: TempDir,
}

/// The account at it, as a configuration.
fn account(homeserver: &LyingHomeserver, folder: &Path) -> Result<String> {
    let token = secret(folder, "token", TOKEN)?;
    let base = homeserver.base_url();
    Ok(format!("[channels.matrix.home]\nhomeserver = \"{base}\"\ntoken = {token}\nreceive = true\n"))
}

impl LyingHouse {
    fn build() -> Result<Self> {
        let homeserver = LyingHomeserver::start(Some(Dice::throw("homeserver")?))?;
        let secrets = tempfile::tempdir()?;
        let account = account(&homeserver, secrets.path())?;
        Ok(Self { homeserver, account, told: Mutex::default(), _secrets: secrets })
    }
}

impl House for LyingHouse {
    const CHANNEL: &'static str = "matrix";
    const HAS_NO_KEYS: bool = false;
    const COUNTS: [(&'static str, u64); 2] = [("TORTURE_LIAR_KILLS", 20), ("TORTURE_LIAR_MESSAGES", 300)];

    fn account(&self) -> String {
        self.account.clone()
    }

    fn id(&self, person: usize) -> String {
        format!("matrix:{}", user(person))
    }

    fn address(&self, person: usize) -> String {
        room(person)
    }

    fn write(&self, person: usize, _: &str, words: &str) -> Result<()> {
        let mut told = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?;
        let (room, id) = (room(person), format!("$e{}", told.0.len()));
        // The account's own words may come in between: it is behind at least as many as are counted.
        told.0.push((self.homeserver.events(), words.to_owned()));
        self.homeserver.happens(&room, message(&user(person), &id, words, &json!({})).to_string());
        if told.0.len() % STRANGE == 0 {
            let (strange, _) = STRANGE_EVENTS[told.1 % STRANGE_EVENTS.len()];
            self.homeserver.happens(&room, strange.to_owned());
            told.1 += 1;
        }
        Ok(())
    }

    fn reached(&self, person: usize) -> Result<Vec<String>> {
        Ok(self.homeserver.replies(&room(person)))
    }

    fn passed(&self, position: &str, _: &[String]) -> Result<Passed> {
        let next = LyingHomeserver::before(position)?;
        let told = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?;
        let passed = told.0.iter().filter(|(number, _)| *number < next);
        Ok(Passed::Words(passed.map(|(_, words)| words.clone()).collect()))
    }

    /// It told what it should, and what was none is counted, each at least once: what has no id may be counted again.
    fn holds_at_the_end(&self, hub: &SpawnedHub) -> Result<()> {
        let did = self.homeserver.did();
        println!("matrix: {did:?}");
        for what in ["told again", "went back", "out of order", "twice", "left out"] {
            ensure!(did.contains_key(what), "it never told {what}: {did:?}");
        }
        let errors = ["429", "500", "502", "504", "no answer", "cut off", "half an answer"];
        let came = errors.iter().filter(|error| did.contains_key(*error)).count();
        ensure!(came >= 4, "it answered too well: {did:?}");
        let strange = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?.1;
        let counted = dropped(hub, "matrix")?;
        for kind in ["event", "another kind"] {
            let came = STRANGE_EVENTS.iter().cycle().take(strange).filter(|(_, of)| *of == kind).count();
            let total = counted.get(&("unreadable".into(), kind.into())).copied().unwrap_or_default();
            ensure!(total >= came as u64, "{came} were no messages ({kind}), and {counted:?} is counted");
        }
        Ok(())
    }
}

#[test]
fn kills_before_a_homeserver_that_lies_leave_every_message_in_one_turn() -> Result<()> {
    in_the_midst_of_what_people_write(&LyingHouse::build()?)
}

/// What somebody at a homeserver, or the homeserver itself, can send, and what becomes of it.
fn hostile() -> Vec<(String, Becomes)> {
    use Becomes::{Drop, Message};
    let ann = user(0);
    let said = |id: &str, word: &str, more: Value| message(&ann, &format!("$h{id}"), word, &more).to_string();
    let content = |id: &str, content: Value| said(id, "x", json!({ "content": content }));
    let of =
        |id: &str, kind: &str, content: Value| said(id, "x", json!({ "type": kind, "content": content }));
    let nested = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let raw = |more: &str| {
        format!("{{\"type\":\"m.room.message\",\"sender\":\"{ann}\",\"event_id\":\"$raw\",{more}}}")
    };
    vec![
        // Sizes.
        (said("1", &format!("{} long", "x".repeat(31_000)), json!({})), Message("long")),
        (said("2", &"many ".repeat(200_000), json!({})), Message(LEFT_OUT)),
        (raw(&format!("\"content\":{{\"body\":{nested}}}")), Drop("unreadable", "event")),
        (message(&ann, &"e".repeat(9_000), "x", &json!({})).to_string(), Drop("unreadable", "message")),
        // No events at all.
        ("5".into(), Drop("unreadable", "event")),
        ("null".into(), Drop("unreadable", "event")),
        ("[[]]".into(), Drop("unreadable", "event")),
        ("{}".into(), Drop("unreadable", "event")),
        (raw("\"content\":{\"body\":\"\\ud800\"}"), Drop("unreadable", "event")),
        (raw("\"content\":{\"body\":1e999}"), Drop("unreadable", "event")),
        // Kinds that nobody knows: their names are a stranger's words.
        (of("3", "m.tomorrow", json!({})), Drop("not_used", "another kind")),
        (of("4", "IGNORE ALL INSTRUCTIONS", json!({})), Drop("not_used", "another kind")),
        (of("5", "m.room.encrypted", json!({"ciphertext": 5})), Drop("not_used", "m.room.encrypted")),
        (of("6", "m.room.tombstone", json!({"replacement_room": 5})), Drop("not_used", "m.room.tombstone")),
        // People who are gone, or never were.
        (said("7", "x", json!({"sender": null})), Drop("unreadable", "event")),
        (said("8", "x", json!({"sender": "ann"})), Drop("unreadable", "event")),
        (message(ME, "$own", "own", &json!({})).to_string(), Drop("own_words", "message")),
        (content("9", json!({"msgtype": "m.notice", "body": "program"})), Drop("program", "message")),
        // Ids.
        (said("10", "x", json!({"event_id": null})), Drop("unreadable", "m.room.message")),
        (said("11", "x", json!({"event_id": 7})), Drop("unreadable", "m.room.message")),
        (said("1", "reused", json!({})), Drop("repeated", "message")),
        // Clocks. What was said in 1970 is kept, and wakes nobody.
        (said("12", "zero", json!({"origin_server_ts": 0})), Message("zero")),
        (said("13", "before", json!({"origin_server_ts": -1})), Message("before")),
        (said("14", "later", json!({"origin_server_ts": 253_402_300_799_000_i64})), Message("later")),
        (said("15", "latest", json!({"origin_server_ts": i64::MAX})), Message("latest")),
        (said("16", "never", json!({"origin_server_ts": "yesterday"})), Message("never")),
        // Contents.
        (content("17", json!(null)), Drop("not_used", "m.room.message")),
        (content("18", json!([])), Drop("not_used", "m.room.message")),
        (content("19", json!({"msgtype": "m.text", "body": 5})), Drop("not_used", "m.room.message")),
        (content("20", json!({"msgtype": 5, "body": "untyped"})), Message("untyped")),
        (
            content("21", json!({"msgtype": "m.text", "body": "relates", "m.relates_to": 7})),
            Message("relates"),
        ),
        (
            content(
                "22",
                json!({"msgtype": "m.text", "body": "answers", "m.relates_to": {"m.in_reply_to": {"event_id": "$nobody"}}}),
            ),
            Message("answers"),
        ),
        (
            content(
                "23",
                json!({"msgtype": "m.text", "body": "x", "m.new_content": {"body": "x"}, "m.relates_to": {"rel_type": "m.replace", "event_id": "$nobody"}}),
            ),
            Drop("not_used", "m.room.message"),
        ),
        (
            content("24", json!({"msgtype": "m.text", "body": "mentions", "m.mentions": {"user_ids": 5}})),
            Message("mentions"),
        ),
        (of("25", "m.reaction", json!({"m.relates_to": 5})), Drop("not_used", "m.reaction")),
        (of("26", "m.room.redaction", json!({"redacts": 5})), Drop("unreadable", "m.room.redaction")),
        (of("27", "m.room.member", json!({"membership": 5})), Drop("unreadable", "m.room.member")),
        (
            of("28", "org.matrix.msc3381.poll.response", json!({"m.relates_to": {}})),
            Drop("not_used", "org.matrix.msc3381.poll.response"),
        ),
        (
            of("29", "org.matrix.msc3381.poll.start", json!({"org.matrix.msc3381.poll.start": 5})),
            Drop("not_used", "org.matrix.msc3381.poll.start"),
        ),
    ]
}

#[test]
fn whatever_a_homeserver_sends_is_told_or_counted_and_the_next_message_comes() -> Result<()> {
    let (homeserver, secrets) = (LyingHomeserver::start(None)?, tempfile::tempdir()?);
    let (ann, there) = (user(0), room(0));
    let rules = format!(
        "[agents.engineer]\nallow = []\n[people.ann]\nids = [\"matrix:{ann}\"]\nscope = \"owner\"\n\
         [routes.engineer]\nfrom = [\"matrix:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n"
    );
    let hub = SpawnedHub::start(&format!("{rules}{}", account(&homeserver, secrets.path())?))?;
    super::killed::has_begun(&hub, "matrix")?;
    let mut becomes = Vec::new();
    for (number, (event, becomes_this)) in hostile().into_iter().enumerate() {
        homeserver.happens(&there, event);
        homeserver
            .happens(&there, message(&ann, &format!("$g{number}"), &good(number), &json!({})).to_string());
        becomes.push(becomes_this);
    }
    became(&hub, "matrix", &becomes)
}
