//! What is asked before a message goes, and what is known of the daemon then.

use super::*;

const ACCOUNTS: Reply =
    Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":[{"number":"+4915112345678"}],"id":"r"}"#);
const DEVICES: Reply = Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":[{"id":1}],"id":"r"}"#);
const OLD: Reply = Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":{"version":"0.13.19"},"id":"r"}"#);
const NEW: Reply = Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":{"version":"0.14.2"},"id":"r"}"#);
const NOBODY: Reply = Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":[],"id":"r"}"#);
const SELF: &str = "aaaaaaaa-0000-4000-8000-00000000000a";
const OWN: Reply = Reply::Says(
    200,
    "",
    r#"{"jsonrpc":"2.0","result":[{"number":"+4915112345678","uuid":"AAAAAAAA-0000-4000-8000-00000000000a"}],"id":"r"}"#,
);

fn asks(script: &'static [Reply]) -> (Signal, Mock) {
    let mock = Mock::start(script);
    let signal = signal(mock.port, &Files::new());
    signal.client.forget();
    (signal, mock)
}

fn methods(mock: &Mock) -> Vec<String> {
    let method = |request: &String| body(request)["method"].as_str().unwrap().to_owned();
    mock.heard().iter().map(method).collect()
}

/// It would send as whom it was started for, and nobody could tell.
#[tokio::test]
async fn nothing_is_handed_to_a_daemon_that_serves_one_account() {
    let text = part("Hello");
    let (signal, mock) = asks(&[error!("-32601", "Method not implemented", "null"), SENT]);
    let request = signal.composed(&outgoing(ANNA, &text));
    let failure = signal.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("without -a")), "{failure:?}");
    assert_eq!(mock.heard().len(), 1, "nothing was sent");

    // One that serves several is asked once, and again after its line broke: it may be another one now.
    let (signal, mock) = asks(&[ACCOUNTS, DEVICES, SENT, SENT, Reply::Close, ACCOUNTS, DEVICES, SENT]);
    for lost in [false, false, true, false] {
        assert_eq!(signal.delivered(&request, &key()).await.is_err(), lost);
    }
    let expected =
        ["listAccounts", "listDevices", "send", "send", "send", "listAccounts", "listDevices", "send"];
    assert_eq!(methods(&mock), expected);

    // Of a question nobody sees anything.
    for script in [&[Reply::Close] as &'static [Reply], &[Reply::Says(500, "", "")]] {
        let failure = asks(script).0.delivered(&request, &key()).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    }
}

#[tokio::test]
async fn nothing_is_sent_while_signal_cannot_be_reached() {
    let text = part("Hello");
    for (away, words) in [
        (error!("-3", "Failed to get linked devices: no route to host", "null"), "cannot be reached"),
        (
            error!("-3", "Failed to get linked devices: [401] Authorization failed!", "null"),
            "link or register",
        ),
        (error!("-3", "Failed to get linked devices: [428] ", "null"), "submitRateLimitChallenge"),
        (error!("-3", "Failed to get linked devices: [500] Bad response: 500", "null"), "[500]"),
        (error!("-3", "Failed to get linked devices: [503] Bad response: 503", "null"), "[503]"),
        (error!("-32603", "Failed to get linked devices", "null"), "cannot be reached"),
        (Reply::Close, "no answer"),
    ] {
        let (signal, mock) = asks(Box::leak(Box::new([ACCOUNTS, away, DEVICES, SENT])));
        let request = signal.composed(&outgoing(ANNA, &text));
        let failure = signal.delivered(&request, &key()).await.unwrap_err();
        assert!(matches!(&failure, Failure::Retry(why) if why.contains(words)), "{words}: {failure:?}");
        assert!(!methods(&mock).contains(&"send".to_owned()));
        // It is asked anew when the message's turn comes again.
        assert_eq!(signal.delivered(&request, &key()).await.unwrap(), "1700000000000");
    }
    // What failed on its way makes it be asked again.
    let failed =
        error!("-1", "Failed to send message", r#"{"response":{"results":[{"type":"NETWORK_FAILURE"}]}}"#);
    let (signal, mock) = asks(Box::leak(Box::new([
        ACCOUNTS,
        DEVICES,
        failed,
        error!("-3", "Failed to get linked devices: x", "null"),
    ])));
    let request = signal.composed(&outgoing(ANNA, &text));
    assert!(matches!(signal.delivered(&request, &key()).await, Err(Failure::Unknown(_))));
    assert!(matches!(signal.delivered(&request, &key()).await, Err(Failure::Retry(_))));
    assert_eq!(methods(&mock), ["listAccounts", "listDevices", "send", "listDevices"]);
}

#[tokio::test]
async fn readiness_needs_the_account_and_signal_itself_and_says_what_the_program_lacks() {
    let ready = |script| async move { asks(script).0.check_ready().await.map_err(|why| why.0) };
    assert_eq!(
        ready(&[ACCOUNTS, OLD, DEVICES, NOBODY]).await.unwrap(),
        "+4915112345678 by signal-cli 0.13.19: no polls before 0.13.23, voice notes go as files before 0.14.2"
    );
    assert_eq!(ready(&[ACCOUNTS, NEW, DEVICES, OWN]).await.unwrap(), "+4915112345678 by signal-cli 0.14.2");
    const NO_VERSION: Reply = error!("-32601", "Method not implemented", "null");
    assert!(ready(&[ACCOUNTS, NO_VERSION, DEVICES, OWN]).await.unwrap().contains("does not say its version"));
    const AWAY: Reply = error!("-3", "Failed to get linked devices: timeout", "null");
    assert!(ready(&[ACCOUNTS, NEW, AWAY]).await.unwrap_err().starts_with("Signal cannot be reached"));
    assert!(ready(&[NOBODY]).await.unwrap_err().starts_with("signal-cli has no account +4915112345678"));
    let one = ready(&[error!("-32601", "Method not implemented", "null")]).await;
    assert!(one.unwrap_err().contains("start its daemon without -a"));
    for other in [&[Reply::Says(200, "", "{}")] as &'static [Reply], &[Reply::Says(404, "", "")]] {
        assert!(ready(other).await.unwrap_err().contains("check url"));
    }
}

#[tokio::test]
async fn what_the_program_is_too_old_for_is_not_offered() {
    let (signal, _mock) = asks(&[ACCOUNTS, OLD, DEVICES, OWN, ACCOUNTS, NEW, DEVICES]);
    assert!(signal.capabilities().does(Action::Poll), "nobody knows yet");
    signal.check_ready().await.unwrap();
    assert!(!signal.capabilities().does(Action::Poll) && signal.capabilities().polls.is_none());
    assert!(signal.capabilities().instead_of(Action::Poll).contains("0.13.23"));
    // It was replaced by a newer one.
    signal.check_ready().await.unwrap();
    assert!(signal.capabilities().does(Action::Poll));
}

#[tokio::test]
async fn a_voice_note_that_went_as_a_file_is_called_one() {
    let files = Files::new();
    let mut voice = files.add("a.ogg", "audio/ogg", b"x");
    voice.voice = true;
    let text = part("");
    for (script, note) in [(&[SENT, OLD] as &'static [Reply], true), (&[SENT, NEW], false)] {
        let mock = Mock::start(script);
        let signal = signal(mock.port, &files);
        let request =
            signal.composed(&OutgoingPart { files: std::slice::from_ref(&voice), ..outgoing(ANNA, &text) });
        let said = signal.delivered_in_full(&request, &key()).await.unwrap().note;
        assert_eq!(said.is_some_and(|said| said.contains("0.13.19 sent the voice note as a file")), note);
    }
}

#[tokio::test]
async fn own_messages_are_known_by_the_accounts_own_id() {
    let edit = |author: &str| Operation::Edit { message: format!("{author}/5") };
    let text = part("Better");
    let other = "bbbbbbbb-0000-4000-8000-00000000000b";
    let (signal, mock) = asks(&[ACCOUNTS, DEVICES, OWN, SENT]);
    let request = signal.composed_operation(&op(ANNA, &edit(SELF), Some(&text))).unwrap();
    assert_eq!(request["own"], SELF);
    assert_eq!(signal.delivered(&request, &key()).await.unwrap(), "1700000000000");
    assert_eq!(methods(&mock), ["listAccounts", "listDevices", "listIdentities", "send"]);
    // Once it is known, it is judged at once.
    assert!(signal.composed_operation(&op(ANNA, &edit(SELF), Some(&text))).unwrap()["own"].is_null());
    let elses = signal.composed_operation(&op(ANNA, &edit(other), Some(&text))).unwrap();
    assert!(signal.refusal(&elses).is_some());
    let react = Operation::React { message: format!("{SELF}/5"), emoji: "👍".into(), remove: false };
    assert_eq!(signal.composed_operation(&op(ANNA, &react, None)).unwrap()["params"]["targetAuthor"], SELF);

    for script in [&[ACCOUNTS, DEVICES, OWN] as &'static [Reply], &[ACCOUNTS, DEVICES, NOBODY]] {
        let (signal, mock) = asks(script);
        let request = signal.composed_operation(&op(ANNA, &edit(other), Some(&text))).unwrap();
        let failure = signal.delivered(&request, &key()).await.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains("account itself")), "{failure:?}");
        assert!(!methods(&mock).contains(&"send".to_owned()));
    }
}

#[test]
fn an_edit_keeps_the_words_that_its_message_quoted() {
    let signal = signal(1, &Files::new());
    let text = part("Hello");
    let quoted = Some(Quoted { author: None, text: "Where are you?" });
    let made = signal.composed(&OutgoingPart { reply_to: Some("4"), quoted, ..outgoing(ANNA, &text) });
    let edit = Operation::Edit { message: "5".into() };
    let params = signal.composed_edit(&op(ANNA, &edit, Some(&text)), &made)["params"].clone();
    assert_eq!((&params["quoteTimestamp"], &params["quoteMessage"]), (&json!(4), &json!("Where are you?")));
    let delete = Operation::Delete { message: "5".into() };
    let delete = op(ANNA, &delete, None);
    assert_eq!(Some(signal.composed_edit(&delete, &made)), signal.composed_operation(&delete));
}
