//! Names, and whom they stand for.

use super::*;
use crate::channels::identity::{Again, Identity, Unidentified};

async fn find(script: &'static [Reply], address: &str) -> (Result<Identity, Unidentified>, Vec<String>) {
    let mock = Mock::start(script);
    let slack = slack(mock.port);
    let address = slack.resolve(address).unwrap();
    (slack.identify(&address).await, mock.heard())
}

const TWO: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"members":[{"id":"U034EF5GH","name":"ann","profile":{"real_name":"Ann Lee"}},
        {"id":"U012AB3CD","name":"al","profile":{"display_name":"Ann","real_name":"Ann Miller"}}]}"#,
);

#[tokio::test]
async fn a_name_that_two_people_have_is_refused_with_their_ids() {
    let (found, heard) = find(&[TWO], "@Ann").await;
    let Unidentified { why, again } = found.unwrap_err();
    assert_eq!(
        (why.as_str(), again),
        ("@ann is the name of more than one person (U012AB3CD, U034EF5GH): write the id", Again::NotKnown)
    );
    assert!(
        heard[0].starts_with("POST /api/users.list ") && heard[0].ends_with("\r\n\r\nlimit=100"),
        "{heard:?}"
    );
    assert_eq!(find(&[TWO], "@ann miller").await.0, Ok(Identity::new("U012AB3CD")));
}

#[tokio::test]
async fn a_name_that_is_none_is_said_to_be_and_a_slack_that_is_away_is_asked_again() {
    const NONE: Reply =
        Reply::Says(200, "", r#"{"ok":true,"channels":[{"id":"C012AB3CD","name":"general"}]}"#);
    // What Slack calls an id is looked at before anything goes there.
    const ODD: Reply = Reply::Says(200, "", r#"{"ok":true,"channels":[{"id":"../x","name":"genera"}]}"#);
    for script in [&[NONE], &[ODD]] {
        let Unidentified { why, again } = find(script, "#genera").await.0.unwrap_err();
        let expected = "there is no channel with the bot in it that is called #genera";
        assert_eq!((why.as_str(), again), (expected, Again::NotKnown));
    }
    let (found, _) =
        find(&[Reply::Says(200, "", r#"{"ok":false,"error":"missing_scope"}"#)], "#general").await;
    assert_eq!(found.unwrap_err().again, Again::NotKnown);
    let (found, _) = find(&[Reply::Close], "#general").await;
    assert_eq!(found.unwrap_err().again, Again::Away(None));
}

#[tokio::test]
async fn a_directory_without_an_end_is_left() {
    const MORE: Reply =
        Reply::Says(200, "", r#"{"ok":true,"channels":[],"response_metadata":{"next_cursor":"again"}}"#);
    let (found, heard) = find(&[MORE; 20], "#general").await;
    assert!(found.unwrap_err().why.ends_with("write the id"));
    assert_eq!(heard.len(), 15);
    assert!(heard[1].contains("cursor=again") && heard[1].contains("exclude_archived=true"), "{}", heard[1]);
}

#[tokio::test]
async fn whoever_is_no_member_is_not_written_to_by_a_name_and_takes_none_over() {
    let find = async |members: &str, address: &str| {
        let said = format!(r#"{{"ok":true,"members":[{members}]}}"#);
        let script: &'static [Reply] = vec![Reply::Says(200, "", said.leak())].leak();
        find(script, address).await.0.map_err(|unidentified| unidentified.why)
    };
    const ANN: &str = r#"{"id":"U034EF5GH","name":"ann","profile":{"real_name":"Ann Lee"}}"#;
    for (what, why) in [
        ("deleted", "was deactivated"),
        ("is_bot", "is a program"),
        ("is_restricted", "is a guest"),
        ("is_ultra_restricted", "is a guest"),
        ("is_stranger", "is of another organisation"),
    ] {
        let other = format!(
            r#"{{"id":"U012AB3CD","{what}":true,"profile":{{"display_name":"ANN  LEE \u{{1f337}}"}}}}"#
        );
        let other = other.replace("\\u{1f337}", "\u{1f337}");
        assert_eq!(find(&other, "@ann lee").await, Err(format!("@ann lee (U012AB3CD) {why}: write the id")));
        let both = find(&format!("{ANN},{other}"), "@ann lee").await.unwrap_err();
        assert!(both.contains("more than one person (U012AB3CD, U034EF5GH)"), "{both}");
    }
    assert_eq!(find(ANN, "@ann lee").await, Ok(Identity::new("U034EF5GH")));
}
