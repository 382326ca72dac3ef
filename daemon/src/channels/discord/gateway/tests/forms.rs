//! What people press and fill in.

use super::*;

/// A stored request with a form.
fn with_a_form() -> Value {
    let request = json!({
        "to": "42",
        "request": {"do": "message", "body": {}},
        "forms": [{"title": "Report", "fields": [
            {"name": "what", "label": "What?", "long": true, "required": true, "min": 1, "max": 8},
            {"name": "when", "label": "When?", "required": false, "placeholder": "today", "value": "now"},
        ]}],
    });
    assert!(serde_json::from_value::<StoredRequest>(request.clone()).is_ok());
    request
}

/// The part's key is that of the sample.
const PRESSED: Step = Dispatch(
    r#"{"t": "INTERACTION_CREATE", "d": {"id": "7001", "application_id": "42", "type": 3, "token": "aW50ZXI.hush", "version": 1,
        "member": {"user": {"id": "99", "username": "ann", "global_name": "Ann"}}, "channel_id": "42", "message": {"id": "1001"},
        "data": {"component_type": 2, "id": 1, "custom_id": "gatepost:form:00112233445566778899aabbccddeeff:0"}}}"#,
);
const FILLED_IN: Step = Dispatch(
    r#"{"t": "INTERACTION_CREATE", "d": {"id": "7002", "application_id": "42", "type": 5, "token": "aW50ZXI.hush", "version": 1,
        "user": {"id": "99", "username": "ann", "global_name": null}, "message": {"id": "1001"},
        "data": {"custom_id": "gatepost:form:00112233445566778899aabbccddeeff:0", "components": [
            {"type": 18, "id": 1, "component": {"type": 4, "id": 2, "custom_id": "what", "value": "It broke in two"}},
            {"type": 1, "components": [{"type": 4, "id": 4, "custom_id": "when", "value": ""}]},
            {"type": 18, "id": 5, "component": {"type": 4, "id": 6, "custom_id": "other", "value": "Not asked"}}
        ]}}}"#,
);
const ANOTHER: Step = Dispatch(
    r#"{"t": "INTERACTION_CREATE", "d": {"id": "7003", "type": 5, "token": "aW50ZXI.hush", "user": {"id": "98", "username": "bob"},
        "data": {"custom_id": "gatepost:form:00112233445566778899aabbccddeeff:0", "components": []}}}"#,
);
/// Of another program of the same bot, and such that no form of ours comes from.
const FOREIGN: Step = Dispatch(
    r#"{"t": "INTERACTION_CREATE", "d": {"id": "7004", "type": 3, "token": "t", "user": {"id": "98", "username": "bob"},
        "data": {"component_type": 2, "custom_id": "yes"}}}"#,
);
const ODD: Step = Dispatch(
    r#"{"t": "INTERACTION_CREATE", "d": {"id": "../..", "type": 3, "token": "t", "user": {"id": "98"},
        "data": {"custom_id": "gatepost:form:00112233445566778899aabbccddeeff:0"}}}"#,
);
const NAMELESS: Step = Dispatch(
    r#"{"t": "INTERACTION_CREATE", "d": {"id": "7005", "type": 3, "token": "t", "user": {"id": "98"},
        "data": {"custom_id": "gatepost:form:short:0"}}}"#,
);

/// What was answered, once there are so many answers.
async fn answered(home: &Home, count: usize) -> Vec<Value> {
    let answers = || {
        let requests = home.mock.requests().into_iter();
        let answers = requests.filter(|(line, _)| line.starts_with("POST /api/v10/interactions/7"));
        answers.map(|(_, body)| body).collect::<Vec<_>>()
    };
    let all = async {
        while answers().len() < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(Duration::from_secs(20), all).await.unwrap_or_else(|_| panic!("{:?}", home.mock.requests()));
    answers()
}

#[tokio::test]
async fn a_press_opens_the_form_and_what_is_entered_is_written_down_before_it_is_taken() {
    let mock = Mock::start(TOKEN, &[&[Hello(SELDOM), Ready, FOREIGN, ODD, NAMELESS, PRESSED, Stay]]);
    let home = Home::with(mock, None, HubMock { request: Some(with_a_form()), ..HubMock::default() });
    let opened = answered(&home, 1).await;
    assert_eq!(
        opened,
        [json!({"type": 9, "data": {
            "custom_id": "gatepost:form:00112233445566778899aabbccddeeff:0", "title": "Report",
            "components": [
                {"type": 18, "label": "What?", "component": {
                    "type": 4, "custom_id": "what", "style": 2, "required": true, "min_length": 1, "max_length": 8,
                }},
                {"type": 18, "label": "When?", "component": {
                    "type": 4, "custom_id": "when", "style": 1, "required": false, "placeholder": "today", "value": "now",
                }},
            ],
        }})]
    );
    assert_eq!(
        home.mock.requests().last().unwrap().0,
        "POST /api/v10/interactions/7001/aW50ZXI.hush/callback"
    );
    assert!(home.hub.entries.lock().unwrap().is_empty());
    home.no_faults();

    // The same event may come twice, and somebody else may be one too many.
    let mock = Mock::start(
        TOKEN,
        &[&[Hello(SELDOM), Ready, FILLED_IN, Reconnect], &[Hello(SELDOM), Resumed, FILLED_IN, Stay]],
    );
    let home = Home::with(mock, None, HubMock { request: Some(with_a_form()), ..HubMock::default() });
    assert_eq!(answered(&home, 2).await, [json!({"type": 6}), json!({"type": 6})]);
    let entries = home.hub.entries.lock().unwrap().clone();
    let [(id, entry)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((id.as_str(), entry.by.as_str(), entry.name.as_str()), ("7002", "99", "ann"));
    assert_eq!((entry.form.as_str(), entry.message.as_deref()), ("Report", Some("1001")));
    // As much as the form takes, and nothing that it does not ask.
    let values: Vec<_> = entry.values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(values, [("what", "It broke"), ("when", "")]);
}

#[tokio::test]
async fn who_comes_too_late_or_as_one_too_many_is_told_and_nobody_else_sees_it() {
    let mock = Mock::start(TOKEN, &[&[Hello(SELDOM), Ready, PRESSED, FILLED_IN, Stay]]);
    let home = Home::at(mock, None);
    for answer in answered(&home, 2).await {
        let expected =
            json!({"content": "This form has expired.", "flags": 64, "allowed_mentions": {"parse": []}});
        assert_eq!((&answer["type"], &answer["data"]), (&json!(4), &expected));
    }
    let mock = Mock::start(TOKEN, &[&[Hello(SELDOM), Ready, FILLED_IN, Stay]]);
    let home = Home::with(mock, None, HubMock { request: Some(with_a_form()), ..HubMock::default() });
    answered(&home, 1).await;
    let before = home.hub.entries.lock().unwrap().clone();
    for (entries, words) in
        [(before.clone(), "no more answers"), ([before.clone(), before].concat(), "could not")]
    {
        let hub = HubMock { request: Some(with_a_form()), entries: Mutex::new(entries) };
        let home = Home::with(Mock::start(TOKEN, &[&[Hello(SELDOM), Ready, ANOTHER, Stay]]), None, hub);
        let answer = &answered(&home, 1).await[0];
        assert!(answer["data"]["content"].as_str().unwrap().contains(words), "{answer}");
        assert_eq!((&answer["type"], &answer["data"]["flags"]), (&json!(4), &json!(64)));
    }
}
