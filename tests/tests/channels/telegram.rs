//! Telegram, played by a mock that is as strict as its documentation and reads markup with Telegram's own parser.
//!
//! Installed by `tests/run --setup-only`: Telegram's parser.

use gatepost::channels::envelope::Envelope;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    files::{OGG, PNG},
    hub::{
        Client, SpawnedHub, TestHub, agents_on,
        client::{id_of, text},
        secret,
    },
    main_job,
    mocks::MockServer,
    peers::Mock,
};
use serde_json::{Value, json};

const FORUM: i64 = -1_001_000_000_001;

/// What the mock was asked under this method, all of it granted.
fn asked(mock: &Mock, method: &str) -> Result<Vec<Value>> {
    Ok(mock.done(&format!("/{method}"))?.into_iter().map(|request| request["body"].clone()).collect())
}

/// The texts that were sent to the person. The group's arrive between them, at any time.
fn to_person(mock: &Mock) -> Result<Vec<Value>> {
    Ok(asked(mock, "sendMessage")?.into_iter().filter(|body| body["chat_id"] == 777).collect())
}

fn call(agent: &Client, action: &str, more: Value) -> Result<Value> {
    let mut call = json!({"action": action, "to": "telegram:777"});
    let (call_members, more) = (call.as_object_mut().context("an object")?, more);
    call_members.extend(more.as_object().context("an object")?.clone());
    agent.send_and_wait(&call)
}

#[test]
fn all_that_an_agent_can_do_is_what_the_bot_api_takes() -> Result<()> {
    let (mock, folder) = (Mock::telegram()?, Arc::new(tempfile::tempdir()?));
    let mut hub = SpawnedHub::at_rest(
        Arc::clone(&folder),
        &agents_on("telegram", &mock.account(folder.path(), mock.token())?),
    )?;
    hub.log_at("trace");
    hub.run()?;
    let agent = hub.agent("courier")?;

    // A group takes a message in four seconds: its part goes on beside the other.
    let group = {
        let (agent, mock) = (agent.clone(), mock.clone());
        std::thread::spawn(move || in_a_group(&agent, &mock))
    };

    let first =
        id_of(&call(&agent, "send", json!({"message": "**Hello** & <you>, see [it](https://a.test/)"}))?, 0)?;
    ensure!(first == "1", "{first}");
    let sent = to_person(&mock)?.pop().context("the person's message")?;
    ensure!(text(&sent, "text").starts_with("<b>Hello</b> &amp; &lt;you&gt;"), "{sent}");
    ensure!(sent["link_preview_options"]["is_disabled"] == true, "{sent}");

    let long = main_job::report().repeat(3);
    let answer = call(&agent, "reply", json!({"message": long, "replyTo": first, "silent": true}))?;
    let (parts, first_part) = (answer["parts"].as_array().context("parts")?.len(), id_of(&answer, 0)?);
    ensure!(parts > 1, "{parts} parts");
    let of_person = to_person(&mock)?;
    ensure!(of_person.len() == 1 + parts, "{of_person:#?}");
    for (index, body) in of_person[1..].iter().enumerate() {
        let reply = body.get("reply_parameters").map(|reply| &reply["message_id"]);
        ensure!((reply == Some(&json!(1))) == (index == 0), "{body}");
        ensure!(body["disable_notification"] == true, "{body}");
    }

    let picture = json!([{"base64": STANDARD.encode(PNG), "name": "June.png", "caption": "_June_"}]);
    let photo = id_of(&call(&agent, "send", json!({"attachments": picture}))?, 0)?;
    let sent = mock.done("/sendPhoto")?.remove(0);
    ensure!(
        sent["files"]["photo"]["name"] == "June.png" && sent["body"]["caption"] == "<i>June</i>",
        "{sent:#}"
    );
    album(&agent, &mock)?;
    let voice = json!({"base64": STANDARD.encode(OGG)});
    id_of(&call(&agent, "send", json!({"voice": voice}))?, 0)?;
    ensure!(mock.done("/sendVoice")?[0]["files"]["voice"]["kind"] == "audio/ogg");
    let notes = json!([{"base64": STANDARD.encode("notes"), "name": "ä.txt"}]);
    id_of(&call(&agent, "send", json!({"attachments": notes}))?, 0)?;
    ensure!(mock.done("/sendDocument")?[0]["files"]["document"]["name"] == "ä.txt");
    // Longer than Telegram takes with a file: it goes before it.
    let caption = "In June. ".repeat(200);
    let long = json!([{"base64": STANDARD.encode("notes"), "name": "b.txt", "caption": caption}]);
    call(&agent, "send", json!({"attachments": long}))?;
    let (before, file) = (to_person(&mock)?.pop().context("a text")?, mock.done("/sendDocument")?.remove(1));
    ensure!(before["text"] == caption.trim() && file["body"]["caption"].is_null(), "{before} {file}");

    let poll = json!({"pollQuestion": "Tea?", "pollOption": ["Yes", "No"], "pollDurationHours": 1, "pollAnonymous": false});
    id_of(&call(&agent, "poll", poll)?, 0)?;
    let buttons = json!([[{"text": "Yes", "callback_data": "y"}, {"text": "See", "url": "https://a.test/"}]]);
    let asking = id_of(&call(&agent, "send", json!({"message": "Go?", "buttons": buttons}))?, 0)?;
    // An edit without them would take the buttons away.
    call(&agent, "edit", json!({"messageId": asking, "message": "Go now?"}))?;
    let is_edit = |request: &&Value| text(request, "path").ends_with("/editMessageText");
    let edited = mock.heard()?.iter().rfind(is_edit).context("an edit")?["body"].clone();
    ensure!(edited["reply_markup"]["inline_keyboard"] == buttons, "{edited}");

    for (action, more) in [
        ("react", json!({"emoji": "❤\u{fe0f}"})),
        ("react", json!({"emoji": "❤", "remove": true})),
        ("edit", json!({"message": "*Another* text"})),
        ("edit", json!({"message": "*Another* text"})),
        ("pin", json!({})),
        ("unpin", json!({})),
        ("delete", json!({})),
    ] {
        let mut more = more;
        more["messageId"] = json!(first_part);
        ensure!(id_of(&call(&agent, action, more)?, 0)? == first_part, "{action}");
    }
    call(&agent, "edit", json!({"messageId": photo, "message": "**July**"}))?;
    // After the album's.
    let captions = asked(&mock, "editMessageCaption")?;
    ensure!(captions.len() == 2 && captions[1]["caption"] == "<b>July</b>", "{captions:?}");
    ensure!(asked(&mock, "deleteMessage")?.len() == 1);

    let refused = agent
        .post("/v1/messages", &json!({"action": "setPresence", "channel": "telegram", "status": "away"}))?;
    ensure!(refused.status == 400 && refused.body["reason"] == "not_supported", "{refused:?}");
    let five = agent.post("/v1/messages", &json!({"to": "telegram:kitchen", "message": "Hello"}))?;
    ensure!(five.status == 400 && text(&five.body, "hint").contains("number"), "{five:?}");

    group.join().map_err(|_| anyhow::anyhow!("the group's part panicked"))??;
    let log = hub.log()?;
    ensure!(log.len() > 10_000, "at this level much is logged");
    ensure!(!log.contains("a-token_of_the_test"), "the token is in the log");
    Ok(())
}

/// Several pictures are one message to people, and to whoever names it by its receipt.
fn album(agent: &Client, mock: &Mock) -> Result<()> {
    let picture = |name: &str| json!({"base64": STANDARD.encode(PNG), "name": name});
    let mut first = picture("June.png");
    first["caption"] = json!("_Summer_");
    let files = json!([first, picture("July.png"), picture("August.png")]);
    let sent = call(agent, "send", json!({"attachments": files, "silent": true}))?;
    ensure!(sent["sent"] == "1 of 1", "{sent}");
    let id = id_of(&sent, 0)?;
    let asked_for = mock.done("/sendMediaGroup")?.remove(0);
    let media: Value = serde_json::from_str(text(&asked_for["body"], "media"))?;
    ensure!(media[0]["caption"] == "<i>Summer</i>" && media[2]["media"] == "attach://file2", "{asked_for:#}");
    ensure!(asked_for["files"]["file1"]["name"] == "July.png", "{asked_for:#}");
    ensure!(id.split(',').count() == 3, "the receipt has the ids of all: {id}");
    let edited = call(agent, "edit", json!({"messageId": id, "message": "**Autumn**"}))?;
    ensure!(Some(id_of(&edited, 0)?.as_str()) == id.split(',').next(), "{edited}");
    ensure!(id_of(&call(agent, "delete", json!({"messageId": id}))?, 0)? == id);
    let removed = asked(mock, "deleteMessages")?;
    ensure!(removed[0]["message_ids"].as_array().is_some_and(|ids| ids.len() == 3), "{removed:?}");
    Ok(())
}

/// What only a supergroup has.
fn in_a_group(agent: &Client, mock: &Mock) -> Result<()> {
    let group = format!("telegram:{FORUM}");
    let there = |more: Value| -> Result<Value> {
        let mut call = json!({"to": group});
        call.as_object_mut().context("an object")?.extend(more.as_object().context("an object")?.clone());
        agent.send_and_wait(&call)
    };
    let topic = there(json!({"action": "thread", "threadName": "June", "message": "The **first** one"}))?;
    let topic = id_of(&topic, 0)?;
    id_of(&there(json!({"message": "The second", "threadId": topic}))?, 0)?;
    let number = json!(topic.parse::<i64>()?);
    let in_topic: Vec<Value> =
        asked(mock, "sendMessage")?.into_iter().filter(|body| body["chat_id"] == FORUM).collect();
    ensure!(
        in_topic.len() == 2 && in_topic.iter().all(|body| body["message_thread_id"] == number),
        "{in_topic:?}"
    );
    for (action, more) in
        [("timeout", json!({"durationMinutes": 10})), ("kick", json!({})), ("ban", json!({}))]
    {
        let mut more = more;
        more["action"] = json!(action);
        more["userId"] = json!("99");
        ensure!(id_of(&there(more)?, 0)? == "99", "{action}");
    }
    ensure!(asked(mock, "restrictChatMember")?[0]["permissions"] == json!({"can_send_messages": false}));
    ensure!(asked(mock, "banChatMember")?.len() == 2 && asked(mock, "unbanChatMember")?.len() == 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_approved_arrives_and_the_text_without_markup_was_approved_with_it() -> Result<()> {
    let (mock, folder) = (Mock::telegram()?, tempfile::tempdir()?);
    let mut fixture =
        TestHub::start(&agents_on("telegram", &mock.account(folder.path(), mock.token())?)).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "telegram:777", "message": main_job::report()}))?;
    ensure!(held["state"] == "held" && asked(&mock, "sendMessage")?.is_empty(), "{held}");
    // Telegram claims not to be able to read it.
    let unreadable = json!({
        "ok": false, "error_code": 400, "description": "Bad Request: can't parse entities: Unexpected end tag at byte offset 9",
    });
    mock.plan(json!([{"match": "sendMessage", "status": 400, "body": unreadable}]))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let heard = mock.heard()?;
    ensure!(heard.len() == 1 + parts.len(), "{heard:#?}");
    let wire: Value = Envelope::read(&parts[0].request)?.request;
    ensure!(heard[0]["body"] == wire["body"], "{wire:#}");
    let plain = &heard[1]["body"];
    ensure!(plain["text"] == wire["plain"] && plain.get("parse_mode").is_none(), "{plain:#}");
    fixture.audit_is_whole().await
}

#[test]
fn telegrams_limits_refusals_and_lost_answers_are_what_they_are() -> Result<()> {
    let (mock, folder) = (Mock::telegram()?, tempfile::tempdir()?);
    let hub = SpawnedHub::start(&agents_on("telegram", &mock.account(folder.path(), mock.token())?))?;
    let agent = hub.agent("courier")?;
    let wait = json!({
        "ok": false, "error_code": 429, "description": "Too Many Requests: retry after 2", "parameters": {"retry_after": 2},
    });
    mock.plan(json!([{"match": "sendMessage", "status": 429, "body": wait}]))?;
    let before = std::time::Instant::now();
    let sent = call(&agent, "send", json!({"message": "Later."}))?;
    ensure!(sent["state"] == "sent" && before.elapsed().as_secs() >= 2, "{sent}");
    let message = agent.message(text(&sent, "id"))?;
    ensure!(message["attempts"] == 0, "a limit spends no attempt: {message}");

    mock.plan(json!([{"match": "sendMessage", "lose": "after"}]))?;
    let lost = call(&agent, "send", json!({"message": "Was that there?"}))?;
    ensure!(lost["state"] == "unknown" && lost["code"] == "unknown_outcome", "{lost}");
    ensure!(asked(&mock, "sendMessage")?.len() == 2 && mock.heard()?.len() == 3, "it was sent again");

    mock.plan(json!([{"match": "pinChatMessage", "lose": "after"}]))?;
    let pinned = call(&agent, "pin", json!({"messageId": "1"}))?;
    ensure!(pinned["state"] == "sent" && asked(&mock, "pinChatMessage")?.len() == 2, "{pinned}");

    let moved = agent.send_and_wait(&json!({"to": "telegram:-4711", "message": "Hello"}))?;
    ensure!(
        moved["state"] == "failed" && text(&moved, "error").contains("telegram:-1001000004711"),
        "{moved}"
    );
    let blocked = agent.send_and_wait(&json!({"to": "telegram:778", "message": "Hello"}))?;
    ensure!(blocked["state"] == "failed", "{blocked}");
    Ok(())
}

#[test]
fn whether_the_bot_can_send_is_asked_from_the_shell() -> Result<()> {
    let (mock, folder) = (Mock::telegram()?, tempfile::tempdir()?);
    let check = |token: &str| {
        SpawnedHub::at_rest(tempfile::tempdir()?.into(), &mock.account(folder.path(), token)?)?
            .cli(&["check"])
    };
    let ready = check(mock.token())?.well()?;
    ensure!(ready.contains("ready") && ready.contains("@HubTestBot"), "{ready}");
    let refused = check("123456:a-wrong_one")?;
    ensure!(refused.status == 1 && refused.stdout.contains("bot token rejected"), "{refused:?}");
    ensure!(
        !refused.stdout.contains("a-wrong_one") && !refused.stderr.contains("a-wrong_one"),
        "{refused:?}"
    );
    let odd = check("Bot 5:a-wrong_one")?;
    ensure!(
        odd.status != 0 && odd.stderr.contains("@BotFather") && !odd.stderr.contains("a-wrong_one"),
        "{odd:?}"
    );
    Ok(())
}

#[test]
fn a_house_behind_a_proxy_reaches_its_platforms_through_it() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let answer =
        json!({"ok": true, "result": {"message_id": 7, "chat": {"id": 777, "type": "private"}, "date": 0}});
    let proxy = MockServer::open(move |_| (200, answer.clone()))?;
    let token = secret(folder.path(), "token", "77:secret")?;
    let channel = format!("[channels.telegram.home]\ntoken = {token}\nbase_url = \"http://telegram.test\"\n");
    let mut hub = SpawnedHub::at_rest(Arc::clone(&folder), &agents_on("telegram", &channel))?;
    hub.reaches_out_by(&proxy.url());
    hub.run()?;
    let sent = call(&hub.agent("courier")?, "send", json!({"message": "Hello"}))?;
    ensure!(id_of(&sent, 0)?.ends_with('7'), "{sent}");
    let paths: Vec<String> = proxy.heard().into_iter().map(|request| request.path).collect();
    ensure!(paths.iter().any(|path| path == "http://telegram.test/bot77:secret/sendMessage"), "{paths:?}");
    hub.terminate()
}
