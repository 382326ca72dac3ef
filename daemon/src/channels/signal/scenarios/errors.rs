//! What an error means, by where it arises.

use super::*;

type Judged = fn(&Failure) -> bool;
const PERMANENT: Judged = |failure| matches!(failure, Failure::Permanent(_));
const UNKNOWN: Judged = |failure| matches!(failure, Failure::Unknown(_));
const RETRY: Judged = |failure| matches!(failure, Failure::Retry(_));

async fn failure(to: &str, script: &'static [Reply]) -> Failure {
    let mock = Mock::start(script);
    let signal = signal(mock.port, &Files::new());
    let part = part("Hello");
    signal.delivered(&signal.composed(&outgoing(to, &part)), &key()).await.unwrap_err()
}

#[tokio::test]
async fn an_error_is_judged_by_its_number_and_its_results() {
    const FAILED: &str = "Failed to send message";
    macro_rules! result {
        ($kind:literal) => {
            &[error!(
                "-1",
                "Failed to send message",
                concat!(r#"{"response":{"results":[{"type":""#, $kind, r#""}]}}"#)
            )]
        };
    }
    let cases: [(&'static [Reply], Judged, &str); 11] = [
        (
            &[error!("-32602", "Specified account does not exist", "null")],
            PERMANENT,
            "no account +4915112345678",
        ),
        (&[error!("-32601", "Method not implemented", "null")], PERMANENT, "has no send"),
        (&[error!("-32700", "Unexpected end-of-input", "null")], PERMANENT, "-32700"),
        (result!("UNREGISTERED_FAILURE"), PERMANENT, "not on Signal"),
        (result!("INVALID_PRE_KEY_FAILURE"), RETRY, "keys are not valid"),
        // Where the line broke is said in its log alone.
        (result!("NETWORK_FAILURE"), UNKNOWN, FAILED),
        (&[error!("-1", "Invalid group id: abc", "null")], PERMANENT, "Invalid group id"),
        (
            &[error!("-4", "Failed to send message due to untrusted identities", "null")],
            PERMANENT,
            "safety number",
        ),
        (&[error!("-5", "Failed to send message due to rate limiting", "null")], RETRY, "rate limiting"),
        (&[error!("-3", "closed", "null")], UNKNOWN, "closed"),
        (&[error!("-32603", "Cannot invoke \\\"x\\\" because y is null", "null")], UNKNOWN, "because"),
    ];
    for (script, judged, words) in cases {
        let failure = failure(ANNA, script).await;
        assert!(judged(&failure) && failure.to_string().contains(words), "{words}: {failure:?}");
    }
}

/// To one recipient an exception gets out of a command only before anything was sent; to a group it may come between members.
#[tokio::test]
async fn an_exception_comes_before_anything_left_for_one_recipient_and_anywhere_for_a_group() {
    macro_rules! thrown {
        ($why:literal) => {
            &[error!("-32603", concat!("Failed to send message: ", $why), "null")]
        };
    }
    let cases: [(&'static [Reply], Judged, Judged, &str); 11] = [
        (thrown!("refused (ConnectException)"), RETRY, UNKNOWN, "refused"),
        (thrown!("closed (IOException)"), RETRY, UNKNOWN, "closed"),
        (thrown!("timeout (PushNetworkException)"), RETRY, UNKNOWN, "timeout"),
        (thrown!("[401] Authorization failed! (AuthorizationFailedException)"), RETRY, UNKNOWN, "401"),
        (thrown!("[428]  (ProofRequiredException)"), RETRY, UNKNOWN, "428"),
        (thrown!("[500] Bad response: 500  (NonSuccessfulResponseCodeException)"), RETRY, UNKNOWN, "500"),
        (thrown!("[503] Bad response: 503  (NonSuccessfulResponseCodeException)"), RETRY, UNKNOWN, "503"),
        (thrown!("[429] Rate limit exceeded: 429 (RateLimitException)"), RETRY, UNKNOWN, "429"),
        (thrown!("x (NonSuccessfulResumableUploadResponseCodeException)"), RETRY, RETRY, "Upload"),
        (thrown!("x (AttachmentInvalidException)"), PERMANENT, PERMANENT, "Invalid"),
        (thrown!("not an exception (at all)"), UNKNOWN, UNKNOWN, "at all"),
    ];
    for (script, one, group, words) in cases {
        for (to, judged) in [(ANNA, one), (GROUP, group)] {
            let failure = failure(to, script).await;
            assert!(judged(&failure) && failure.to_string().contains(words), "{to}, {words}: {failure:?}");
        }
    }
}

#[tokio::test]
async fn who_must_be_asked_for_help_is_told_what_to_do() {
    for (script, advice) in [
        (
            &[error!("-32603", "Failed to send message: [428] (ProofRequiredException)", "null")]
                as &'static [Reply],
            "submitRateLimitChallenge",
        ),
        (
            &[error!("-32603", "Failed to send message: [403] no (AuthorizationFailedException)", "null")],
            "link or register",
        ),
        (
            &[error!("-32603", "Failed to send message: [499] old (DeprecatedVersionException)", "null")],
            "use a newer one",
        ),
    ] {
        let failure = failure(ANNA, script).await;
        assert!(matches!(&failure, Failure::Retry(why) if why.contains(advice)), "{failure:?}");
    }
}

/// Members whom it did not reach, by name where the account has one.
#[tokio::test]
async fn a_group_of_which_not_all_were_reached_is_sent_and_says_whom() {
    const SOME: Reply = Reply::Says(
        200,
        "",
        r#"{"jsonrpc":"2.0","result":{"timestamp":1700000000000,"results":[
            {"recipientAddress":{"uuid":null,"number":"+4915100000001"},"type":"SUCCESS"},
            {"recipientAddress":{"uuid":null,"number":"+4915100000002"},"type":"SUCCESS"},
            {"recipientAddress":{"uuid":null,"number":"+4915100000003"},"type":"UNREGISTERED_FAILURE"}]},"id":"k"}"#,
    );
    const CONTACTS: Reply = Reply::Says(
        200,
        "",
        r#"{"jsonrpc":"2.0","result":[{"number":"+4915100000003","name":"Carol"}],"id":"r"}"#,
    );
    let text = part("Hello");
    for (script, carol) in
        [(&[SOME, CONTACTS] as &'static [Reply], "Carol"), (&[SOME, Reply::Close], "+4915100000003")]
    {
        let mock = Mock::start(script);
        let signal = signal(mock.port, &Files::new());
        let request = signal.composed(&outgoing(GROUP, &text));
        let Delivered { id, recipients, .. } = signal.delivered_in_full(&request, &key()).await.unwrap();
        assert_eq!(id, "1700000000000");
        assert_eq!(recipients.unwrap().to_string(), format!("2 of 3 members; not: {carol} (not on Signal)"));
    }
    // To one person there is nobody to count.
    let mock = Mock::start(&[SENT]);
    let signal = signal(mock.port, &Files::new());
    let request = signal.composed(&outgoing(ANNA, &text));
    assert_eq!(signal.delivered_in_full(&request, &key()).await.unwrap().recipients, None);
}
