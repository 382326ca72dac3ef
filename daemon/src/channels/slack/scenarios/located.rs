//! Where a message or a file is.

use super::*;
use crate::channels::{IdScope, Located};

const FILE: &str = "F012AB3CD";

async fn told(message: &str, script: &[Reply]) -> (Result<Located, Failure>, Vec<String>) {
    let mock = Mock::start(script);
    let slack = slack(mock.port);
    (slack.locate("C012AB3CD", message).await, mock.heard())
}

#[test]
fn a_file_is_the_workspaces_and_a_message_its_conversations() {
    let slack = slack(1);
    assert_eq!(slack.scope(FILE), IdScope::Account);
    assert_eq!(slack.scope("1.1"), IdScope::Conversation);
}

#[tokio::test]
async fn a_message_is_in_the_thread_that_slack_says_and_only_that_message_counts() {
    let thread = r#"{"ok":true,"messages":[{"ts":"9.9","thread_ts":"9.9"},{"ts":"1.1","thread_ts":"9.9"}]}"#;
    let (said, heard) = told("1.1", &[Reply::Says(200, "", thread)]).await;
    assert_eq!(said, Ok(Located::Here { thread: Some("9.9".into()) }));
    assert!(heard[0].starts_with("POST /api/conversations.replies "), "{}", heard[0]);
    let alone = Reply::Says(200, "", r#"{"ok":true,"messages":[{"ts":"1.1"}]}"#);
    assert_eq!(told("1.1", &[alone]).await.0, Ok(Located::Here { thread: None }));
    let another = Reply::Says(200, "", r#"{"ok":true,"messages":[{"ts":"1.2"}]}"#);
    assert_eq!(told("1.1", &[another]).await.0, Ok(Located::Elsewhere));
    let scope = Reply::Says(200, "", r#"{"ok":false,"error":"missing_scope"}"#);
    assert!(told("1.1", &[scope]).await.0.is_err());
}

#[tokio::test]
async fn a_file_is_here_only_if_it_is_nowhere_else() {
    let shared = |answer: &'static str| [Reply::Says(200, "", answer)];
    let here =
        shared(r#"{"ok":true,"file":{"id":"F012AB3CD","channels":["C012AB3CD"],"groups":[],"ims":[]}}"#);
    assert_eq!(told(FILE, &here).await.0, Ok(Located::Here { thread: None }));
    for elsewhere in [
        r#"{"ok":true,"file":{"id":"F012AB3CD","channels":["C012AB3CD"],"groups":["G1"],"ims":[]}}"#,
        r#"{"ok":true,"file":{"id":"F012AB3CD","channels":[],"groups":[],"ims":[]}}"#,
        r#"{"ok":false,"error":"file_not_found"}"#,
    ] {
        assert_eq!(told(FILE, &shared(elsewhere)).await.0, Ok(Located::Elsewhere), "{elsewhere}");
    }
}
