//! Every decoder of a platform's answers, each as what it is: a function of the answer alone.
//!
//! The adapters call these functions themselves. This list is for whoever tries any answer on all of them, such as the property tests
//! below and the fuzz target `answers`: whatever a platform says becomes an id or a [`Verdict`] with bounded words that
//! repeat no secret. A new adapter adds a line.

use serde_json::Value;

use super::{
    Failure, discord, googlechat,
    http::{Answer, Reader, Verdict},
    imessage,
    limits::Scope,
    matrix, ntfy, signal, slack, teams, telegram, webhook, whatsapp,
};

/// What an answer says: the id of what was made, or why there is none.
pub type Decode = fn(&Reader, &Answer) -> Result<String, Verdict>;

/// The decoders of answers over HTTP, by channel and by what was asked for.
pub const DECODERS: &[(&str, Decode)] = &[
    ("telegram: send", |reader, answer| telegram_made(reader, answer, false)),
    ("telegram: open a topic", |reader, answer| telegram_made(reader, answer, true)),
    ("discord", |reader, answer| match answer.status.is_success() {
        true => discord::answer::made(&answer.body),
        false => Err(discord::answer::verdict(reader, answer)),
    }),
    ("slack", |reader, answer| match slack::refusal::decode(reader, answer, Scope::Chat)? {
        slack::refusal::Outcome::Yes(said) => slack::refusal::posted(&said),
        slack::refusal::Outcome::Already => Ok(String::new()),
    }),
    ("googlechat: app", |reader, answer| googlechat_created(reader, answer, false)),
    ("googlechat: webhook", |reader, answer| googlechat_created(reader, answer, true)),
    ("teams: bot", |reader, answer| teams_sent(reader, answer, false)),
    ("teams: workflow", |reader, answer| teams_sent(reader, answer, true)),
    ("signal: person", |reader, answer| signal_sent(reader, answer, false)),
    ("signal: group", |reader, answer| signal_sent(reader, answer, true)),
    ("matrix: send", matrix::answer::sent),
    ("matrix: upload", matrix::answer::uploaded),
    ("whatsapp: Cloud API", |reader, answer| match answer.status.is_success() {
        true => whatsapp::codes::sent(&answer.body),
        false => Err(whatsapp::codes::verdict(reader, answer)),
    }),
    ("whatsapp: Evolution API", |reader, answer| {
        whatsapp::instance::refusals::decode(reader, "message/sendText", None, answer)
    }),
    ("imessage: BlueBubbles", |reader, answer| match answer.status.is_success() {
        true => imessage::answer::sent(&answer.body),
        false => Err(imessage::answer::verdict(reader, answer)),
    }),
    ("webhook", |reader, answer| {
        webhook::decode(reader, answer, str::to_owned).map(Option::unwrap_or_default)
    }),
    ("ntfy", ntfy::decode),
];

/// What a line of `imsg rpc` says to its first call, if it is an answer at all.
pub fn imsg_line(line: &[u8]) -> Option<Result<Value, Failure>> {
    let said = imessage::answer::line(line, 1)?;
    Some(said.map_err(|error| imessage::imsg::classify(&error)))
}

fn telegram_made(reader: &Reader, answer: &Answer, topic: bool) -> Result<String, Verdict> {
    match telegram::answer::result(answer.clone()) {
        Ok(result) => telegram::answer::made(&result, topic, "1".into()),
        Err(refused) => Err(refused.verdict(reader)),
    }
}

fn googlechat_created(reader: &Reader, answer: &Answer, webhook: bool) -> Result<String, Verdict> {
    match answer.status.is_success() {
        true => googlechat::answer::created(&answer.body, false),
        false => Err(googlechat::answer::verdict(reader, answer, webhook)),
    }
}

fn teams_sent(reader: &Reader, answer: &Answer, webhook: bool) -> Result<String, Verdict> {
    match answer.status.is_success() {
        true => Ok(answer.body["id"].as_str().unwrap_or_default().to_owned()),
        false => Err(teams::answer::verdict(reader, answer, webhook)),
    }
}

fn signal_sent(reader: &Reader, answer: &Answer, group: bool) -> Result<String, Verdict> {
    signal::classify::decode(reader, answer, "send", group).map(|result| result["timestamp"].to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use reqwest::StatusCode;

    use super::*;
    use crate::settings::secret::Secret;

    const SECRET: &str = "hush-hush";

    /// The longest sentence about an answer, in characters: the platform's words, and what is said around them.
    const MAX_SENTENCE: usize = 900;

    /// Members that platforms have in their answers.
    const NAMES: &str = "ok|result|description|parameters|retry_after|migrate_to_chat_id|message_id|message|code|errors|global|id\
                         |error|errcode|status|name|thread|key|data|response|results|type|details|error_data|guid|messages|_errors";

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop_oneof![Just(429), Just(401), Just(22), Just(190), Just(-1), Just(-5), Just(-32602)]
                .prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
            Just(Value::from(format!("told {SECRET}").repeat(200))),
            "(invalid_auth|ratelimited|NOT_FOUND|SUCCESS|RATE_LIMIT_FAILURE|Unauthorized|already queued)"
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(NAMES, inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn decodes(answer: &Answer) {
        let reader = Reader::new("the platform", Secret::from(SECRET));
        for (name, decode) in DECODERS {
            let verdict = match decode(&reader, answer) {
                Ok(_) => continue,
                Err(verdict) => verdict,
            };
            let (Verdict::Retry(why)
            | Verdict::Wait { why, .. }
            | Verdict::Permanent(why)
            | Verdict::Unknown(why)
            | Verdict::Token(why)) = verdict;
            assert!(why.chars().count() <= MAX_SENTENCE, "{name}: {} characters", why.chars().count());
            assert!(!why.contains(SECRET) && !why.contains(char::is_control), "{name}: {why:?}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_an_id_or_a_verdict_in_bounded_words_without_the_secret(
            status in prop_oneof![200..600u16, prop::sample::select(vec![200u16, 400, 401, 403, 404, 412, 429, 500, 503])],
            seconds in prop::option::of(any::<u64>()),
            body in json(),
        ) {
            let status = StatusCode::from_u16(status).unwrap();
            decodes(&Answer { status, retry_after: seconds.map(Duration::from_secs), body });
        }

        #[test]
        fn any_bytes_are_an_answer_or_no_json(status in 200..600u16, bytes: Vec<u8>) {
            let status = StatusCode::from_u16(status).unwrap();
            match Answer::decode(status, None, &bytes) {
                Ok(answer) => decodes(&answer),
                Err(_) => prop_assert!(status.is_success() && !bytes.is_empty()),
            }
        }

        #[test]
        fn any_line_of_imsg_is_an_answer_or_none(bytes: Vec<u8>, body in json()) {
            let _ = imsg_line(&bytes);
            let line = serde_json::json!({ "id": 1, "error": body }).to_string();
            if let Some(Err(failure)) = imsg_line(line.as_bytes()) {
                prop_assert!(failure.to_string().chars().count() <= MAX_SENTENCE);
            }
        }
    }

    #[test]
    fn a_platform_that_gives_no_reason_leaves_no_loose_comma() {
        let reader = Reader::new("the platform", Secret::from(SECRET));
        let bodies = [
            serde_json::json!({}),
            serde_json::json!({"ok": false, "description": "", "code": 50_001, "message": "", "error": ""}),
            serde_json::json!({"errcode": "", "error": " ", "response": {"message": ""}, "message": ""}),
            serde_json::json!({"error": {"code": 190, "message": "", "status": ""}}),
            serde_json::json!({"error": {"code": -1, "message": ""}}),
        ];
        for (status, body) in (400..600).flat_map(|status| bodies.iter().map(move |body| (status, body))) {
            let status = StatusCode::from_u16(status).unwrap();
            let answer = Answer { status, retry_after: None, body: body.clone() };
            for (name, decode) in DECODERS {
                let Err(verdict) = decode(&reader, &answer) else { continue };
                let text = format!("{verdict:?}");
                for loose in [", \"", ", )", ", :", ", ;", ",  ", ", ,"] {
                    assert!(!text.contains(loose), "{name} at {status} {body}: {text}");
                }
            }
        }
    }

    #[test]
    fn every_channel_that_is_asked_over_http_has_its_decoder() {
        for kind in super::super::registry::KINDS {
            // These are asked by SMTP, and not at all.
            let other = ["email", "local"].contains(&kind.name);
            assert!(other || DECODERS.iter().any(|(name, _)| name.starts_with(kind.name)), "{}", kind.name);
        }
    }
}
