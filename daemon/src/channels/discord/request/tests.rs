use gatepost_link::Digest;

use super::*;
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        discord::scenarios::{discord, outgoing},
        testing::sample::part,
    },
    message::{
        attachment::Attachment,
        operation::{Button, Choice, Presence, Select},
    },
    settings::secret::Secret,
};

const QUIET: SendOptions = SendOptions { previews: false, mention_answered: false };

fn composed(outgoing: &OutgoingPart<'_>) -> Value {
    json!(compose(outgoing, QUIET))
}

fn acted(operation: &Operation, part: Option<&Part>) -> Option<Value> {
    let asked = OperationRequest {
        address: "42",
        thread: Some("7"),
        reply_to: Some("4"),
        silent: true,
        operation,
        part,
    };
    compose_operation(&asked, QUIET).map(|request| json!(request))
}

fn nobody() -> Value {
    json!({"parse": [], "replied_user": false})
}

#[test]
fn a_text_calls_nobody_and_shows_no_previews() {
    let part = part("**Hello** @everyone");
    assert_eq!(
        composed(&outgoing(&part)),
        json!({
            "to": "42",
            "request": {"do": "message", "body": {
                "content": "**Hello** @everyone",
                "allowed_mentions": nobody(),
                "flags": 4,
            }},
        })
    );
    let with = |options| json!(compose(&OutgoingPart { reply_to: Some("9"), ..outgoing(&part) }, options));
    let open = with(SendOptions { previews: true, mention_answered: true });
    assert_eq!(open["request"]["body"].get("flags"), None);
    assert_eq!(open["request"]["body"]["allowed_mentions"], json!({"parse": [], "replied_user": true}));
}

#[test]
fn replies_threads_and_silence_have_their_places() {
    let part = part("Hello");
    let request =
        composed(&OutgoingPart { thread: Some("7"), reply_to: Some("9"), silent: true, ..outgoing(&part) });
    assert_eq!(request["thread"], "7");
    let body = &request["request"]["body"];
    assert_eq!(body["message_reference"], json!({"message_id": "9", "fail_if_not_exists": false}));
    assert_eq!(body["flags"], 4 | 4096);
    assert_eq!(body["allowed_mentions"], nobody());
}

fn attachment(kind: &str, voice: bool) -> Attachment {
    Attachment {
        sha256: Digest([7; 32]),
        name: "a.bin".into(),
        kind: kind.into(),
        said_to_be: None,
        size: 5,
        caption: None,
        voice,
        spoken: None,
    }
}

#[test]
fn files_are_named_by_their_hashes_and_described_in_the_message() {
    let (part, files) = (part("June"), [attachment("image/png", false), attachment("text/plain", false)]);
    let reference = files[0].reference();
    let request = composed(&OutgoingPart { files: &files, ..outgoing(&part) });
    assert_eq!(
        request["request"]["body"]["attachments"],
        json!([{"id": "0", "filename": "a.bin"}, {"id": "1", "filename": "a.bin"}])
    );
    assert_eq!(request["files"][0], json!({"source": reference, "name": "a.bin", "kind": "image/png"}));
    assert_eq!(request.get("voice"), None);
}

#[test]
fn a_voice_message_is_a_recording_and_nothing_else() {
    let (silence, said) = (part(""), part("Listen"));
    let voice = |part, kind| {
        let files = [attachment(kind, true)];
        composed(&OutgoingPart { files: &files, ..outgoing(part) })
    };
    assert_eq!(
        voice(&silence, "audio/ogg")["request"]["body"],
        json!({"allowed_mentions": nobody(), "attachments": [{"id": "0", "filename": "a.bin"}]})
    );
    assert_eq!(voice(&silence, "audio/ogg")["voice"], true);
    assert_eq!(voice(&silence, "audio/mpeg").get("voice"), None);
    assert_eq!(voice(&said, "audio/ogg").get("voice"), None);
}

#[test]
fn buttons_lists_and_cards_stand_beneath_the_text() {
    let button = |text: &str, press| Button { text: text.into(), press };
    let extras = Extras {
        buttons: vec![
            vec![button("Yes", Press::Data("y".into())), button("See", Press::Url("https://a.test/".into()))],
            vec![],
        ],
        selects: vec![Select {
            id: "day".into(),
            placeholder: Some("When?".into()),
            options: vec![Choice { label: "Monday".into(), value: "1".into() }],
        }],
        card: Some(json!({"title": "T"})),
        effect: None,
    };
    let part = part("Go?");
    let body = composed(&OutgoingPart { extras: &extras, ..outgoing(&part) })["request"]["body"].clone();
    assert_eq!(
        body["components"],
        json!([
            {"type": 1, "components": [
                {"type": 2, "style": 2, "label": "Yes", "custom_id": "y"},
                {"type": 2, "style": 5, "label": "See", "url": "https://a.test/"},
            ]},
            {"type": 1, "components": [
                {"type": 3, "custom_id": "day", "placeholder": "When?", "options": [{"label": "Monday", "value": "1"}]},
            ]},
        ])
    );
    assert_eq!(body["embeds"], json!([{"title": "T"}]));
    assert_eq!(body.get("flags"), None, "no previews would be no card either");
}

#[test]
fn every_action_has_its_request() {
    let (message, user, reason) = ("5".to_owned(), "<@99>".to_owned(), Some("rude".to_owned()));
    let poll = Poll {
        question: "Tea?".into(),
        options: vec!["Yes".into(), "No".into()],
        multiple: true,
        seconds: Some(5_400),
        anonymous: None,
    };
    let react =
        |emoji: &str, remove| Operation::React { message: message.clone(), emoji: emoji.into(), remove };
    let request = |body: Value| json!({"to": "42", "thread": "7", "request": body});
    let because = |body: Value| json!({"to": "42", "thread": "7", "request": body, "reason": "rude"});
    let text = part("New");
    let of = |what: &str| json!({"do": what, "message": "5"});
    for (operation, part, expected) in [
        (
            Operation::Poll(poll),
            None,
            request(json!({"do": "message", "body": {
                "allowed_mentions": nobody(),
                "flags": 4096,
                "message_reference": {"message_id": "4", "fail_if_not_exists": false},
                "poll": {
                    "question": {"text": "Tea?"},
                    "answers": [{"poll_media": {"text": "Yes"}}, {"poll_media": {"text": "No"}}],
                    "allow_multiselect": true,
                    "duration": 2,
                },
            }})),
        ),
        (
            Operation::Thread { name: "June".into(), message: Some("5".into()) },
            None,
            request(json!({"do": "thread", "name": "June", "message": "5"})),
        ),
        (
            Operation::Thread { name: "June".into(), message: None },
            Some(&text),
            request(json!({"do": "thread", "name": "June", "first": {
                "content": "New", "allowed_mentions": nobody(), "flags": 4 | 4096,
            }})),
        ),
        (
            react("👍", false),
            None,
            request(json!({"do": "react", "message": "5", "emoji": "👍", "remove": false})),
        ),
        (
            react("<a:party:123>", true),
            None,
            request(json!({"do": "react", "message": "5", "emoji": "party:123", "remove": true})),
        ),
        (
            Operation::Edit { message: message.clone() },
            Some(&text),
            request(
                json!({"do": "edit", "message": "5", "body": {"content": "New", "allowed_mentions": nobody()}}),
            ),
        ),
        (Operation::Delete { message: message.clone() }, None, request(of("delete"))),
        (Operation::Pin { message: message.clone() }, None, request(of("pin"))),
        (Operation::Unpin { message: message.clone() }, None, request(of("unpin"))),
        (
            Operation::Timeout { user: user.clone(), seconds: 60, reason: reason.clone() },
            None,
            because(json!({"do": "timeout", "user": "99", "seconds": 60})),
        ),
        (
            Operation::Kick { user: user.clone(), reason: reason.clone() },
            None,
            because(json!({"do": "kick", "user": "99"})),
        ),
        (Operation::Ban { user, reason }, None, because(json!({"do": "ban", "user": "99"}))),
        (
            Operation::Presence { status: Presence::Away, text: Some("Out".into()) },
            None,
            request(json!({"do": "presence", "status": "idle", "text": "Out"})),
        ),
    ] {
        assert_eq!(acted(&operation, part), Some(expected), "{operation:?}");
    }
    assert!(acted(&Operation::default(), None).is_none());
}

#[test]
fn a_poll_is_open_for_whole_hours_within_what_discord_takes() {
    let hours = |seconds| {
        let options = vec!["Yes".into(), "No".into()];
        let poll = Poll { question: "Tea?".into(), options, multiple: false, seconds, anonymous: None };
        ask(&poll).get("duration").cloned()
    };
    assert_eq!(hours(None), None);
    for (seconds, expected) in [(1, 1), (3_600, 1), (3_601, 2), (32 * 86_400, 768), (u64::MAX, 768)] {
        assert_eq!(hours(Some(seconds)), Some(expected.into()), "{seconds}");
    }
}

#[test]
fn a_stored_request_reads_back_and_another_is_refused() {
    let part = part("a");
    let request = compose(&outgoing(&part), QUIET);
    assert_eq!(StoredRequest::deserialize(json!(request)).unwrap(), request);
    for other in [
        json!({"to": "42"}),
        json!({"to": "42", "request": {"do": "shout"}}),
        json!({"to": "42", "request": {"do": "pin", "message": "5", "body": {}}}),
        json!({"to": "42", "request": {"do": "pin", "message": "5"}, "more": 1}),
    ] {
        assert!(StoredRequest::deserialize(&other).is_err(), "{other}");
    }
}

#[test]
fn what_discord_would_not_take_is_refused_before_anybody_is_asked() {
    let discord = discord(1, Secret::from("t"));
    let text = part("Hello");
    let answering = |message| {
        let request = discord.composed(&OutgoingPart { reply_to: Some(message), ..outgoing(&text) });
        discord.refusal(&request)
    };
    assert_eq!(answering("17"), None);
    assert!(answering("abc").unwrap().contains("no message's id"));
    let op = |operation: Operation| {
        let op = OperationRequest {
            address: "42",
            thread: None,
            reply_to: None,
            silent: false,
            operation: &operation,
            part: Some(&text),
        };
        discord.refusal(&discord.composed_operation(&op).unwrap())
    };
    let id = || "abc".to_owned();
    for operation in [
        Operation::React { message: id(), emoji: "👍".into(), remove: false },
        Operation::Edit { message: id() },
        Operation::Delete { message: id() },
        Operation::Pin { message: id() },
        Operation::Unpin { message: id() },
        Operation::Thread { name: "June".into(), message: Some(id()) },
        Operation::Kick { user: id(), reason: None },
    ] {
        assert!(op(operation.clone()).unwrap().contains("which are numbers"), "{operation:?}");
    }
    assert_eq!(op(Operation::Pin { message: "17".into() }), None);
    assert_eq!(op(Operation::Thread { name: "ä".repeat(100), message: None }), None);
    assert!(op(Operation::Thread { name: "ä".repeat(101), message: None }).unwrap().contains("threadName"));
}

#[test]
fn two_buttons_lists_or_choices_that_are_alike_are_refused() {
    let button = |data: &str| Button { text: "Yes".into(), press: Press::Data(data.into()) };
    let list = |id: &str, values: [&str; 2]| Select {
        id: id.into(),
        placeholder: None,
        options: values.map(|value| Choice { label: "One".into(), value: value.into() }).to_vec(),
    };
    let alike = |buttons: Vec<Button>, selects: Vec<Select>| {
        alike(&Extras { buttons: vec![buttons], selects, ..Extras::default() })
    };
    assert_eq!(
        alike(vec![button("a"), button("b")], vec![list("c", ["1", "2"]), list("d", ["1", "2"])]),
        None
    );
    assert!(alike(vec![button("a"), button("a")], vec![]).unwrap().contains("\"a\""));
    assert!(alike(vec![button("c")], vec![list("c", ["1", "2"])]).is_some());
    assert!(alike(vec![], vec![list("c", ["1", "2"]), list("c", ["1", "2"])]).is_some());
    assert!(alike(vec![], vec![list("c", ["1", "1"])]).unwrap().contains("choices"));
}
