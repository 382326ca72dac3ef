//! Any answer to every channel's decoders: whatever a platform says becomes an id or a [`Verdict`] with bounded words that
//! repeat no secret. The fuzz target `answers` tries the same.

use std::time::Duration;

use proptest::prelude::*;
use reqwest::StatusCode;
use serde_json::Value;

use super::contract::{Case, Contract, Scene, complete, stage::Script};
use crate::{
    channels::{
        imessage::imsg_line,
        kit::http::{Answer, Reader, Verdict},
        registry::KINDS,
    },
    settings::secret::Secret,
};

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

/// What each decoder that finds no id makes of an answer, by its name.
fn verdicts(answer: &Answer) -> impl Iterator<Item = (String, Verdict)> {
    let reader = Reader::new("the platform", Secret::from(SECRET));
    let decoders = KINDS.iter().flat_map(|kind| kind.decoders.iter().map(|decoder| (kind.name, decoder)));
    decoders.filter_map(move |(channel, (of, decode))| {
        Some((format!("{channel} {of}"), decode(&reader, answer).err()?))
    })
}

fn decodes(answer: &Answer) {
    for (name, verdict) in verdicts(answer) {
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
fn every_channel_that_is_asked_over_http_says_what_the_answers_mean() {
    for kind in complete() {
        let asked =
            |contract: &Contract| matches!((contract.scene)(Case::Text), Scene::Plays(Script::Http(_), _));
        let over_http = kind.contracts.iter().any(asked);
        assert_eq!(
            over_http,
            !kind.decoders.is_empty(),
            "{0}: name in DECODERS of daemon/src/channels/{0}/mod.rs what decodes its answers",
            kind.name
        );
    }
}

#[test]
fn a_platform_that_gives_no_reason_leaves_no_loose_comma() {
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
        for (name, verdict) in verdicts(&answer) {
            let text = format!("{verdict:?}");
            for loose in [", \"", ", )", ", :", ", ;", ",  ", ", ,"] {
                assert!(!text.contains(loose), "{name} at {status} {body}: {text}");
            }
        }
    }
}
