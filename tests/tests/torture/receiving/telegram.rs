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

use super::killed::{House, Passed, in_the_midst_of_what_people_write};

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
        let counted = super::hostile::dropped(hub, "telegram")?;
        let total: u32 = counted.iter().map(|(_, _, count)| count).sum();
        ensure!(total as usize >= strange, "{strange} were no messages, and {counted:?} is counted");
        Ok(())
    }
}

#[test]
fn kills_before_a_telegram_that_lies_leave_every_message_in_one_turn() -> Result<()> {
    in_the_midst_of_what_people_write(&LyingHouse::build()?)
}
