//! People on a Telegram that lies: it repeats, skips, tells in any order, and answers with every error that there is.

use std::sync::Mutex;

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, secret},
    torture::{
        Dice,
        liar::{Liar, TOKEN},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    hostile::{Becomes, became, dropped, good},
    killed::{House, Passed, in_the_midst_of_what_people_write},
};

/// Behind so many messages comes something that is none.
const STRANGE: usize = 7;

struct LyingHouse {
    liar: Liar,
    account: String,
    /// The number of each message's update, and how many updates were none.
    told: Mutex<(Vec<(i64, String)>, usize)>,
    _secrets: TempDir,
}

/// The account at it, as a configuration.
pub(super) fn account(liar: &Liar, folder: &std::path::Path) -> Result<String> {
    let token = secret(folder, "token", TOKEN)?;
    let base = liar.base_url();
    Ok(format!("[channels.telegram.home]\ntoken = {token}\nbase_url = \"{base}\"\nreceive = true\n"))
}

/// A message that a person writes to the bot, with these members instead.
pub(super) fn message(chat: i64, id: i64, more: &Value) -> Value {
    let mut message = json!({
        "message_id": id, "from": {"id": chat, "is_bot": false, "first_name": "Ann"},
        "chat": {"id": chat, "type": "private", "first_name": "Ann"}, "date": gatepost::clock::now_ms() / 1000,
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    json!({ "message": message })
}

impl LyingHouse {
    fn build() -> Result<Self> {
        let liar = Liar::start(Some(Dice::throw("liar")?))?;
        let secrets = tempfile::tempdir()?;
        let account = account(&liar, secrets.path())?;
        Ok(Self { liar, account, told: Mutex::default(), _secrets: secrets })
    }

    fn chat(person: usize) -> i64 {
        1_000 + i64::try_from(person).unwrap_or(0)
    }
}

impl House for LyingHouse {
    const CHANNEL: &'static str = "telegram";
    const HAS_NO_KEYS: bool = true;
    const BEGINS_WITH_NOW: bool = false;
    const COUNTS: [(&'static str, u64); 2] = [("TORTURE_LIAR_KILLS", 20), ("TORTURE_LIAR_MESSAGES", 300)];

    fn account(&self) -> String {
        self.account.clone()
    }

    fn id(&self, person: usize) -> String {
        format!("tg:{}", Self::chat(person))
    }

    fn address(&self, person: usize) -> String {
        Self::chat(person).to_string()
    }

    fn write(&self, person: usize, _: &str, words: &str) -> Result<()> {
        let mut told = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?;
        let id = i64::try_from(told.0.len())? + 1;
        let update = self.liar.happens(message(Self::chat(person), id, &json!({ "text": words })));
        told.0.push((update, words.to_owned()));
        if told.0.len() % STRANGE == 0 {
            let strange =
                [json!({"message": {"text": "nobody's"}}), json!({"tomorrow": {}}), json!({"message": 5})];
            self.liar.happens(strange[told.1 % strange.len()].clone());
            told.1 += 1;
        }
        Ok(())
    }

    fn reached(&self, person: usize) -> Result<Vec<String>> {
        Ok(self.liar.sent(Self::chat(person)))
    }

    fn passed(&self, position: &str, _: &[String]) -> Result<Passed> {
        let (next, _) = position.split_once(' ').context("a number and a time")?;
        let next: i64 = next.parse()?;
        let told = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?;
        let passed = told.0.iter().filter(|(update, _)| *update < next);
        Ok(Passed::Words(passed.map(|(_, words)| words.clone()).collect()))
    }

    /// It told what it should, and what was none is counted, each at least once: what has no name may be counted again.
    fn holds_at_the_end(&self, hub: &SpawnedHub) -> Result<()> {
        let did = self.liar.did();
        println!("telegram: {did:?}");
        for what in ["told again", "all of it again", "out of order", "twice"] {
            ensure!(did.contains_key(what), "it never told {what}: {did:?}");
        }
        let errors = ["409", "429", "500", "502", "no answer", "cut off", "half an answer"];
        let came = errors.iter().filter(|error| did.contains_key(*error)).count();
        ensure!(came >= 4, "it answered too well: {did:?}");
        let strange = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?.1;
        let counted = dropped(hub, "telegram")?;
        let names = [("unreadable", "message"), ("not_used", "tomorrow")];
        let total: u64 =
            names.iter().filter_map(|(why, what)| counted.get(&((*why).into(), (*what).into()))).sum();
        ensure!(total >= strange as u64, "{strange} were no messages, and {counted:?} is counted");
        Ok(())
    }
}

#[test]
fn kills_before_a_telegram_that_lies_leave_every_message_in_one_turn() -> Result<()> {
    in_the_midst_of_what_people_write(&LyingHouse::build()?)
}

/// What a Telegram can send, and what becomes of it.
fn hostile() -> Vec<(Value, Becomes)> {
    use Becomes::{Drop, Message};
    let said = |id: i64, word: &str, more: Value| {
        let mut members = json!({ "text": word });
        members
            .as_object_mut()
            .into_iter()
            .for_each(|all| all.extend(more.as_object().cloned().unwrap_or_default()));
        message(ANN, id, &members)
    };
    let deep = (0..300).fold(json!(1), |inner, _| json!([inner]));
    let long = |length: usize, last: &str| format!("{} {last}", "x".repeat(length));
    vec![
        // Sizes. What is longer than 32,000 signs loses its end, and so its last word.
        (said(101, &long(31_000, "long"), json!({})), Message("long")),
        // Cut before anything is sought in it; Telegram's own have 4,096 characters.
        (said(102, "x", json!({"text": "many ".repeat(200_000)})), Message("many")),
        (said(103, "x", json!({"text": "more ".repeat(300_000)})), Message("more")),
        (said(104, &long(3_000_000, "huge"), json!({})), Drop("unreadable", "update")),
        (said(105, "crowd", json!({"new_chat_members": []})), Message("crowd")),
        (said(106, "deep", json!({ "entities": deep })), Drop("unreadable", "update")),
        // Kinds.
        (json!({"tomorrow": {"a": 1}}), Drop("not_used", "tomorrow")),
        (json!({}), Drop("unreadable", "update")),
        (said(107, "x", json!({"text": null, "unheard_of": {}})), Drop("not_used", "text")),
        // People who are gone, or never were.
        (
            said(108, "deleted", json!({"from": {"id": ANN, "is_bot": false, "first_name": ""}})),
            Message("deleted"),
        ),
        (said(109, "nobody", json!({"from": null})), Drop("unreadable", "message")),
        (
            said(110, "bot", json!({"from": {"id": 5, "is_bot": true, "first_name": "Bot"}})),
            Drop("program", "message"),
        ),
        (
            said(111, "own", json!({"from": {"id": 123_456, "is_bot": true, "first_name": "Hub"}})),
            Drop("own_words", "message"),
        ),
        // Ids.
        (said(112, "x", json!({"message_id": null})), Drop("unreadable", "message")),
        (said(113, "x", json!({"message_id": "113"})), Drop("unreadable", "message")),
        (said(114, "x", json!({"message_id": 1e300})), Drop("unreadable", "message")),
        (said(115, "x", json!({"chat": null})), Drop("unreadable", "message")),
        (said(116, "x", json!({"chat": {"id": "one"}})), Drop("unreadable", "message")),
        (said(i64::MIN, "lowest", json!({})), Message("lowest")),
        (said(101, "reused", json!({})), Drop("repeated", "message")),
        // Clocks. What was said in 1970 is kept, and wakes nobody.
        (said(117, "zero", json!({"date": 0})), Message("zero")),
        (said(118, "before", json!({"date": -1})), Message("before")),
        (said(119, "ancient", json!({"date": 1})), Message("ancient")),
        (said(120, "later", json!({"date": 253_402_300_799_i64})), Message("later")),
        (said(121, "latest", json!({"date": i64::MAX})), Message("latest")),
        (said(122, "yesterday", json!({"date": "yesterday"})), Message("yesterday")),
        // Types.
        (json!({"message": 5}), Drop("unreadable", "message")),
        (json!({"message": [[]]}), Drop("unreadable", "message")),
        (said(123, "x", json!({"text": 5})), Drop("not_used", "text")),
        (said(124, "entities", json!({"entities": {"offset": -1}})), Message("entities")),
        (
            said(
                125,
                "spans",
                json!({"entities": [{"type": "text_link", "offset": -5, "length": 9_000_000_000_i64, "url": 5}]}),
            ),
            Message("spans"),
        ),
        (
            said(126, "answers", json!({"reply_to_message": "x", "photo": 5, "document": []})),
            Message("answers"),
        ),
        (json!({"edited_message": {"message_id": 1}}), Drop("unreadable", "edited_message")),
        (
            json!({"callback_query": {"id": "1"}}),
            Drop("not_used", "callback_query of a game or an inline me"),
        ),
        (json!({"poll_answer": {"poll_id": 5}}), Drop("unreadable", "poll_answer")),
        (json!({"message_reaction": {}}), Drop("unreadable", "message_reaction")),
        (json!({"my_chat_member": "x"}), Drop("unreadable", "my_chat_member")),
    ]
}

/// Who writes there.
const ANN: i64 = 1_000;

#[test]
fn whatever_telegram_sends_is_told_or_counted_and_the_next_message_comes() -> Result<()> {
    let (liar, secrets) = (Liar::start(None)?, tempfile::tempdir()?);
    let rules = "[agents.engineer]\nallow = []\n[people.ann]\nids = [\"tg:1000\"]\nscope = \"owner\"\n\
                 [routes.engineer]\nfrom = [\"telegram:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n";
    let hub = SpawnedHub::start(&format!("{rules}{}", account(&liar, secrets.path())?))?;
    let (mut becomes, cases) = (Vec::new(), hostile());
    for (number, (update, becomes_this)) in cases.into_iter().enumerate() {
        liar.happens(update);
        liar.happens(message(ANN, 1_000 + i64::try_from(number)?, &json!({"text": good(number)})));
        becomes.push(becomes_this);
    }
    became(&hub, "telegram", &becomes)?;
    ensure!(liar.is_heard() || hub.operator()?.get("/v1/channels")?.body["ok"] == true);
    Ok(())
}
