//! A Discord whose sessions end in every way that there is, that repeats what it told, and that tells what nobody can read.
//!
//! Installed by `tests/run --setup-only`: Discord's schemas.

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, eventually},
    peers::Mock,
    torture::{Dice, number},
};
use serde_json::{Value, json};

use super::hostile::{Becomes, LEFT_OUT, became, good};

/// A text channel of a server, and somebody in it.
const CHANNEL: &str = "200";
const ANN: &str = "99";
/// The id of the first message: a snowflake of the year 2024.
const FIRST: u64 = 1_200_000_000_000_000_000;

/// A message of somebody's that mentions the bot, with these members instead.
fn message(number: u64, content: &str, more: &Value) -> Value {
    let mut message = json!({
        "id": (FIRST + number).to_string(), "channel_id": CHANNEL, "guild_id": "100", "type": 0, "content": content,
        "timestamp": gatepost::clock::rfc3339(gatepost::clock::now_ms()), "mentions": [{"id": "123456"}],
        "author": {"id": ANN, "username": "ann"},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    message
}

/// What a Discord can send, and what becomes of it.
fn hostile() -> Vec<(&'static str, Value, Becomes)> {
    use Becomes::{Drop, Message};
    let told = |number: u64, word: &str, more: Value| message(500 + number, word, &more);
    let create = "MESSAGE_CREATE";
    let deep = (0..300).fold(json!(1), |inner, _| json!([inner]));
    vec![
        (create, told(1, "x", json!({"content": "many ".repeat(40_000)})), Message(LEFT_OUT)),
        (create, told(2, "x", json!({"author": null})), Drop("unreadable", create)),
        (
            create,
            told(3, "deleted", json!({"author": {"id": ANN, "username": "", "discriminator": "0000"}})),
            Message("deleted"),
        ),
        (create, told(4, "x", json!({"author": {"id": "5", "bot": true}})), Drop("program", "message")),
        (create, told(5, "x", json!({"id": null})), Drop("unreadable", create)),
        (create, told(6, "x", json!({"id": 7})), Drop("unreadable", create)),
        (create, told(7, "x", json!({"channel_id": null})), Drop("unreadable", create)),
        (create, told(8, "x", json!({"type": 99})), Drop("not_used", "MESSAGE_CREATE of type 99")),
        (create, told(9, "x", json!({"content": 5})), Drop("not_used", "MESSAGE_CREATE without content")),
        (create, told(10, "undated", json!({"timestamp": 0})), Message("undated")),
        (create, told(11, "ancient", json!({"timestamp": "1970-01-01T00:00:00+00:00"})), Message("ancient")),
        (create, told(12, "later", json!({"timestamp": "9999-12-31T23:59:59+00:00"})), Message("later")),
        (create, told(1, "reused", json!({})), Drop("repeated", "message")),
        (
            create,
            told(
                13,
                "types",
                json!({"mentions": 5, "attachments": {"a": []}, "sticker_items": "x", "poll": []}),
            ),
            Message("types"),
        ),
        (create, told(14, "nested", json!({ "embeds": deep })), Drop("unreadable", create)),
        (create, json!(5), Drop("unreadable", create)),
        (create, json!([]), Drop("unreadable", create)),
        ("TOMORROW_CREATE", json!({}), Drop("not_used", "TOMORROW_CREATE")),
        ("MESSAGE_UPDATE", json!({"id": "1"}), Drop("not_used", "MESSAGE_UPDATE without an edit")),
        ("MESSAGE_REACTION_ADD", json!({"emoji": 5}), Drop("unreadable", "MESSAGE_REACTION")),
        ("MESSAGE_DELETE", json!({}), Drop("unreadable", "MESSAGE_DELETE")),
    ]
}

const RULES: &str = "[agents.engineer]\nallow = []\n[people.ann]\nids = [\"discord:99\"]\nscope = \"owner\"\n\
     [routes.engineer]\nfrom = [\"discord:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n";

/// A hub that listens to it.
fn listening(mock: &Mock, folder: &std::path::Path) -> Result<SpawnedHub> {
    let account = mock.account(folder, mock.token())?;
    let hub = SpawnedHub::start(&format!("{RULES}{account}receive = true\nmessage_content = true\n"))?;
    sessions(mock, 1)?;
    Ok(hub)
}

/// Waits until so many connections have begun or resumed a session.
fn sessions(mock: &Mock, wanted: usize) -> Result<usize> {
    eventually("a session goes on", || {
        let said = mock.happen(json!("said"))?;
        let begun =
            said.as_array().into_iter().flatten().filter(|one| one["op"] == 2 || one["op"] == 6).count();
        Ok((begun >= wanted).then_some(begun))
    })
}

#[test]
fn whatever_discord_sends_is_told_or_counted_and_the_next_message_comes() -> Result<()> {
    let (mock, secrets) = (Mock::discord()?, tempfile::tempdir()?);
    let hub = listening(&mock, secrets.path())?;
    let mut cases = Vec::new();
    for (n, (name, data, becomes)) in hostile().into_iter().enumerate() {
        mock.happen(json!({"tell": name, "data": data}))?;
        mock.happen(
            json!({"tell": "MESSAGE_CREATE", "data": message(1_000 + n as u64, &good(n), &json!({}))}),
        )?;
        cases.push(becomes);
    }
    became(&hub, "discord", &cases)
}

#[test]
fn sessions_that_end_in_every_way_lose_no_message_and_tell_none_twice() -> Result<()> {
    let rounds = number("TORTURE_SESSIONS", 4)?;
    let (mock, secrets) = (Mock::discord()?, tempfile::tempdir()?);
    let hub = listening(&mock, secrets.path())?;
    let mut dice = Dice::throw("discord")?;
    let (mut written, mut begun) = (0, 1);
    let mut writes = |most: u64| -> Result<()> {
        for _ in 0..most {
            let data = message(written, &format!("word{written:05}"), &json!({}));
            mock.happen(json!({"tell": "MESSAGE_CREATE", "data": data}))?;
            written += 1;
        }
        Ok(())
    };
    for round in 0..rounds {
        writes(1 + dice.below(6))?;
        mock.happen(json!({"again": 1 + dice.below(40)}))?;
        writes(1 + dice.below(6))?;
        let ends = match round % 4 {
            0 => json!({"close": 4000}),
            // The session is lost, and what was said meanwhile is asked for, which does not go well.
            1 => {
                mock.happen(json!({"refuse": 1}))?;
                let limited = json!({"message": "limited", "retry_after": 1.0, "global": false});
                mock.plan(json!([
                    {"match": "messages", "status": 500},
                    {"match": "messages", "status": 429, "headers": {"retry-after": "1"}, "body": limited},
                ]))?;
                json!({"close": 1001})
            }
            2 => json!({"invalid": true}),
            _ => json!({"invalid": false}),
        };
        mock.happen(ends)?;
        // Somebody goes on writing while nobody listens.
        writes(dice.below(6))?;
        begun = sessions(&mock, begun + 1)?;
    }
    writes(3)?;
    let data_dir = hub.data_dir();
    let rows = eventually("everything is received", || {
        let rows = super::book::rows(&data_dir)?;
        Ok((rows.len() >= usize::try_from(written)?).then_some(rows))
    })?;
    ensure!(rows.len() == usize::try_from(written)? && rows.values().all(|times| *times == 1), "{rows:?}");
    let repeated = super::hostile::dropped(&hub, "discord")?;
    println!("discord: {rounds} sessions ended, {written} messages came once, {repeated:?}");
    ensure!(
        repeated.contains_key(&("repeated".into(), "message".into())),
        "nothing was repeated: {repeated:?}"
    );
    Ok(())
}
