//! Discord, played by a mock that holds every body against the schemas that Discord publishes.
//!
//! Installed by `tests/run --setup-only`: Discord's schemas.

use gatepost::channels::envelope::Envelope;
use std::{fs, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    files::{PNG, noise},
    hub::{
        Client, SpawnedHub, TestHub, agents_on,
        client::{id_of, text},
        disk::SmallDisk,
        eventually,
    },
    main_job,
    peers::Mock,
};
use serde_json::{Value, json};

fn call(agent: &Client, to: &str, more: Value) -> Result<Value> {
    let mut call = json!({"to": format!("discord:{to}")});
    call.as_object_mut().context("an object")?.extend(more.as_object().context("an object")?.clone());
    agent.send_and_wait(&call)
}

/// What was posted into a channel and granted.
fn posted(mock: &Mock, channel: &str) -> Result<Vec<Value>> {
    let requests = mock.done(&format!("channels/{channel}/messages"))?;
    let body = |request: Value| match text(&request["body"], "payload_json") {
        "" => Ok(request["body"].clone()),
        payload => Ok(serde_json::from_str(payload)?),
    };
    requests.into_iter().map(body).collect()
}

/// A form.
fn report() -> Value {
    json!({"title": "Report", "fields": [
        {"name": "what", "label": "What happened?", "long": true, "min": 2, "max": 1000},
        {"name": "when", "label": "When?", "required": false, "placeholder": "today", "value": "now"},
    ]})
}

/// An Opus recording of two seconds, as far as its container goes.
fn recording() -> Vec<u8> {
    let page = |granule: u64, packet: &[u8]| {
        let mut page = b"OggS\0\0".to_vec();
        page.extend(granule.to_le_bytes());
        page.extend([0; 12]);
        page.extend([1, u8::try_from(packet.len()).expect("it is short")]);
        page.extend(packet);
        page
    };
    let head = b"OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0";
    [page(0, head), page(0, b"OpusTags"), page(96_000, &[1; 99])].concat()
}

#[test]
fn all_that_an_agent_can_do_is_what_discords_schemas_take() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, Arc::new(tempfile::tempdir()?));
    let mut hub = SpawnedHub::at_rest(
        Arc::clone(&folder),
        &agents_on("discord", &mock.account(folder.path(), mock.token())?),
    )?;
    hub.log_at("trace");
    hub.run()?;
    let agent = hub.agent("courier")?;

    let tools = agent.get("/v1/tools")?.body.to_string();
    ensure!(tools.contains("callback_data") && !tools.contains("A form is what a press opens"), "{tools}");
    let first = id_of(&call(&agent, "200", json!({"message": "**Hello** @everyone, <@99>"}))?, 0)?;
    let answer = call(
        &agent,
        "200",
        json!({"message": main_job::report().repeat(2), "replyTo": first, "silent": true}),
    )?;
    let parts = answer["parts"].as_array().context("parts")?.len();
    ensure!(parts > 1, "{parts} parts");
    let bodies = posted(&mock, "200")?;
    ensure!(bodies.len() == 1 + parts, "{bodies:#?}");
    for (index, body) in bodies[1..].iter().enumerate() {
        ensure!(body.get("message_reference").is_some() == (index == 0), "{body}");
        ensure!(body["flags"] == 4 | 4096, "{body}");
    }
    let mut nonces: Vec<&str> = bodies.iter().map(|body| text(body, "nonce")).collect();
    nonces.sort_unstable();
    nonces.dedup();
    ensure!(nonces.len() == bodies.len(), "each part has its own nonce: {nonces:?}");

    let files = json!([{"base64": STANDARD.encode(PNG), "name": "June.png", "caption": "_June_"}]);
    id_of(&call(&agent, "200", json!({"attachments": files}))?, 0)?;
    id_of(&call(&agent, "200", json!({"voice": {"base64": STANDARD.encode(recording())}}))?, 0)?;
    let sent = posted(&mock, "200")?;
    let [.., picture, voice] = sent.as_slice() else { anyhow::bail!("{sent:#?}") };
    ensure!(picture["content"] == "*June*" || picture["content"] == "_June_", "{picture}");
    ensure!(picture["attachments"][0]["filename"] == "June.png", "{picture}");
    ensure!(voice["flags"] == 8192 && voice["attachments"][0]["duration_secs"] == 2.0, "{voice}");

    let poll = json!({"action": "poll", "pollQuestion": "Tea?", "pollOption": ["Yes", "No"], "pollDurationHours": 3});
    id_of(&call(&agent, "200", poll)?, 0)?;
    let dressed = json!({
        "message": "Go?",
        "buttons": [[{"text": "Yes", "callback_data": "y"}, {"text": "See", "url": "https://a.test/"}]],
        "selects": [{"id": "day", "placeholder": "When?", "options": [{"label": "Monday", "value": "1"}]}],
        "card": {"title": "T", "description": "D", "fields": [{"name": "n", "value": "v"}]},
    });
    id_of(&call(&agent, "200", dressed)?, 0)?;

    for more in [
        json!({"action": "react", "emoji": "👍"}),
        json!({"action": "react", "emoji": "<:party:123>", "remove": true}),
        json!({"action": "edit", "message": "*Another* text"}),
        json!({"action": "pin"}),
        json!({"action": "unpin"}),
    ] {
        let mut more = more;
        more["messageId"] = json!(first);
        ensure!(id_of(&call(&agent, "200", more.clone())?, 0)? == first, "{more}");
    }

    let thread = json!({"action": "thread", "threadName": "June", "messageId": first, "message": "In it"});
    ensure!(id_of(&call(&agent, "200", thread)?, 0)? == first);
    ensure!(posted(&mock, &first)?[0]["content"] == "In it");
    let bare = id_of(&call(&agent, "200", json!({"action": "thread", "threadName": "July"}))?, 0)?;
    id_of(&call(&agent, "200", json!({"message": "There", "threadId": bare}))?, 0)?;
    ensure!(posted(&mock, &bare)?[0]["content"] == "There");
    for place in ["202", "203"] {
        let thread = json!({"action": "thread", "threadName": "August", "message": "Hot"});
        id_of(&call(&agent, place, thread)?, 0)?;
    }
    let elsewhere = call(&agent, "200", json!({"message": "Psst", "threadId": "211"}))?;
    ensure!(
        elsewhere["state"] == "failed" && text(&elsewhere, "error").contains("no thread of"),
        "{elsewhere}"
    );
    ensure!(posted(&mock, "211")?.is_empty());
    let evading = call(&agent, "210", json!({"message": "Psst"}))?;
    ensure!(evading["state"] == "failed" && text(&evading, "error").contains("is a thread"), "{evading}");

    id_of(&call(&agent, "@99", json!({"message": "For you"}))?, 0)?;
    // A conversation's own id means its person, and is judged as that.
    let by_number = call(&agent, "900", json!({"message": "For you, too"}))?;
    ensure!(by_number["state"] == "sent" && by_number["to"] == "discord:@99", "{by_number}");
    ensure!(posted(&mock, "900")?[0]["content"] == "For you");

    let timeout = json!({"action": "timeout", "userId": "99", "durationMinutes": 10, "reason": "Rüde, 2×"});
    ensure!(id_of(&call(&agent, "200", timeout)?, 0)? == "99");
    ensure!(mock.done("/members/99")?[0]["reason"] == "R%C3%BCde%2C%202%C3%97");
    id_of(&call(&agent, "200", json!({"action": "kick", "userId": "<@98>"}))?, 0)?;
    id_of(&call(&agent, "200", json!({"action": "ban", "userId": "99"}))?, 0)?;
    id_of(&call(&agent, "200", json!({"action": "delete", "messageId": first}))?, 0)?;

    let status = json!({"action": "setPresence", "channel": "discord", "status": "away"});
    let modal = json!({"to": "discord:200", "message": "Who are you?", "modal": {"title": "You"}});
    let form = json!({"to": "discord:200", "message": "Who are you?", "buttons": [[{"text": "Say", "form": report()}]]});
    for (refused, reason, instead) in [
        (status, "not_supported", "gateway = true"),
        (modal, "unknown_parameter", "opened by a button"),
        (form, "not_supported", "gateway = true"),
        (json!({"to": "discord:200", "card": {"titel": "T"}}), "bad_card", ""),
        (json!({"to": "discord:general", "message": "Hello"}), "bad_address", ""),
    ] {
        let answer = agent.post("/v1/messages", &refused)?;
        ensure!(answer.status == 400 && answer.body["reason"] == reason, "{answer:?}");
        let hint = text(&answer.body, "hint");
        ensure!(!hint.is_empty() && hint.contains(instead), "{answer:?}");
    }
    let log = hub.log()?;
    ensure!(log.len() > 10_000, "at this level much is logged");
    ensure!(!log.contains("a-token.of_the_test"), "the token is in the log");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_found_by_name_and_called_by_the_id_that_was_approved() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, tempfile::tempdir()?);
    let mut fixture =
        TestHub::start(&agents_on("discord", &mock.account(folder.path(), mock.token())?)).await?;
    let courier = fixture.agent("courier").await?;
    for name in ["@ann.lee", "@Ann.Lee"] {
        let sent = call(&courier, name, json!({"message": format!("For {name}")}))?;
        ensure!(sent["state"] == "sent" && sent["to"] == "discord:@99", "{sent}");
    }
    ensure!(posted(&mock, "900")?.len() == 2);
    // One wears the other's name.
    let refused = courier.post("/v1/messages", &json!({"to": "discord:@Bob", "message": "For you"}))?;
    let words = refused.body.to_string();
    ensure!(refused.status == 400 && words.contains("@98 on Home, @97 on Home"), "{refused:?}");

    let agent = fixture.agent("engineer").await?;
    let held =
        agent.send(&json!({"to": "discord:200", "message": "[Ann](mention:99), the oven! @everyone"}))?;
    ensure!(held["state"] == "held", "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    ensure!(seen.pages.concat().contains("[notifies] 99"), "{seen:?}");
    let sent = agent.ended(text(&held, "id"), "sent")?;
    main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let bodies = posted(&mock, "200")?;
    let [body] = bodies.as_slice() else { anyhow::bail!("{bodies:#?}") };
    ensure!(
        body["allowed_mentions"] == json!({"parse": [], "replied_user": false, "users": ["99"]}),
        "{body}"
    );
    let content = text(body, "content");
    ensure!(content.contains("<@99>, the oven!") && !content.contains("@everyone"), "{body}");
    let refused =
        agent.post("/v1/messages", &json!({"to": "discord:200", "message": "[all](mention:&99)"}))?;
    ensure!(refused.body["reason"] == "bad_mention", "{refused:?}");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_in_the_channel_as_it_was_shown_and_signed() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, tempfile::tempdir()?);
    let mut fixture =
        TestHub::start(&agents_on("discord", &mock.account(folder.path(), mock.token())?)).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "discord:200", "message": main_job::report()}))?;
    ensure!(held["state"] == "held" && posted(&mock, "200")?.is_empty(), "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let bodies = posted(&mock, "200")?;
    ensure!(bodies.len() == parts.len(), "{bodies:#?}");
    for (part, body) in parts.iter().zip(bodies) {
        let mut wire = Envelope::read(&part.request)?.request;
        let mut wire = wire["request"]["body"].take();
        wire["nonce"] = body["nonce"].clone();
        wire["enforce_nonce"] = json!(true);
        ensure!(wire == body && part.key.ends_with(text(&body, "nonce")), "{wire:#} became {body:#}");
    }
    fixture.audit_is_whole().await
}

#[test]
fn a_lost_answer_costs_nothing_and_a_limit_is_kept() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, tempfile::tempdir()?);
    let hub = SpawnedHub::start(&agents_on("discord", &mock.account(folder.path(), mock.token())?))?;
    let agent = hub.agent("courier")?;
    let limited = json!({"message": "You are being rate limited.", "retry_after": 1.6, "global": false});
    let headers = json!({
        "Retry-After": "2", "X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1470173023.123",
        "X-RateLimit-Reset-After": "1.57", "X-RateLimit-Bucket": "abcd1234", "X-RateLimit-Scope": "user",
    });
    mock.plan(json!([{"match": "messages", "status": 429, "headers": headers, "body": limited}]))?;
    let before = std::time::Instant::now();
    let sent = call(&agent, "200", json!({"message": "Later."}))?;
    ensure!(sent["state"] == "sent" && before.elapsed().as_millis() >= 1_600, "{sent}");
    let message = agent.message(text(&sent, "id"))?;
    ensure!(message["attempts"] == 0, "a limit spends no attempt: {message}");

    mock.plan(json!([{"match": "messages", "lose": "after"}]))?;
    let sent = call(&agent, "200", json!({"message": "Once."}))?;
    let heard = mock.heard()?;
    let [.., lost, again] = heard.as_slice() else { anyhow::bail!("{heard:#?}") };
    ensure!(
        lost["lost"] == "after" && lost["body"] == again["body"] && lost["answer"] == again["answer"],
        "{heard:#?}"
    );
    ensure!(id_of(&sent, 0)? == text(&lost["answer"], "id"), "{sent}");

    // A thread has no nonce.
    mock.plan(json!([{"match": "threads", "lose": "after"}]))?;
    let lost = call(&agent, "200", json!({"action": "thread", "threadName": "June"}))?;
    ensure!(lost["state"] == "unknown" && mock.done("threads")?.len() == 1, "{lost}");

    let unknown = call(&agent, "404", json!({"message": "Hello?"}))?;
    ensure!(
        unknown["state"] == "failed" && text(&unknown, "error").contains("10003: Unknown Channel"),
        "{unknown}"
    );
    let closed = call(&agent, "@98", json!({"message": "Hello?"}))?;
    ensure!(closed["state"] == "failed" && text(&closed, "error").contains("50007"), "{closed}");
    Ok(())
}

#[test]
fn whether_the_bot_can_send_is_asked_from_the_shell() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, tempfile::tempdir()?);
    let check = |token: &str| {
        SpawnedHub::at_rest(tempfile::tempdir()?.into(), &mock.account(folder.path(), token)?)?
            .cli(&["check"])
    };
    let ready = check(mock.token())?.well()?;
    ensure!(ready.contains("ready") && ready.contains("hub (123456)"), "{ready}");
    let refused = check("a.wrong.one")?;
    ensure!(refused.status == 1 && refused.stdout.contains("bot token rejected"), "{refused:?}");
    ensure!(!refused.stdout.contains("wrong") && !refused.stderr.contains("wrong"), "{refused:?}");
    Ok(())
}

#[test]
fn a_bots_status_and_its_forms_go_over_the_gateway() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, Arc::new(tempfile::tempdir()?));
    let account = format!("{}gateway = true\n", mock.account(folder.path(), mock.token())?);
    let mut hub = SpawnedHub::at_rest(Arc::clone(&folder), &agents_on("discord", &account))?;
    hub.log_at("trace");
    hub.run()?;
    let agent = hub.agent("courier")?;
    let said = |op: u64| -> Result<Vec<Value>> {
        let said = mock.happen(json!("said"))?;
        let said = said.as_array().context("events")?.iter().filter(|event| event["op"] == op);
        Ok(said.map(|event| event["d"].clone()).collect())
    };

    let tools = agent.get("/v1/tools")?.body.to_string();
    ensure!(tools.contains("A form is what a press opens") && tools.contains("setPresence"), "{tools}");
    let status = json!({"action": "setPresence", "channel": "discord", "status": "busy", "statusText": "In the garden"});
    ensure!(id_of(&agent.send_and_wait(&status)?, 0)? == "123456");
    let shown = json!([{"name": "Custom Status", "type": 4, "state": "In the garden"}]);
    let set = eventually("the status", || Ok(said(3)?.pop()))?;
    ensure!(set["status"] == "dnd" && set["activities"] == shown, "{set}");
    let long = json!({"action": "setPresence", "channel": "discord", "status": "busy", "statusText": "x".repeat(129)});
    let refused = agent.post("/v1/messages", &long)?;
    ensure!(refused.status == 400 && refused.body["reason"] == "over_the_bound", "{refused:?}");
    ensure!(text(&refused.body, "error").contains("128 at most"), "{refused:?}");
    ensure!(text(&refused.body, "hint").contains("shorter"), "{refused:?}");

    // Who was killed comes back with the status that was set last.
    hub.kill()?;
    hub.run()?;
    let last = eventually("the second session", || Ok(said(2)?.get(1).cloned()))?;
    ensure!(last["presence"]["status"] == "dnd" && last["presence"]["activities"] == shown, "{last}");
    let ready = hub.cli(&["check"])?.well()?;
    ensure!(ready.contains("hub (123456)"), "{ready}");
    ensure!(said(2)?.len() == 2, "who checks is not seen online");

    let ask = json!({"message": "What happened?", "buttons": [[{"text": "Say", "form": report()}]]});
    let dry =
        call(&agent, "200", json!({"dryRun": true, "message": ask["message"], "buttons": ask["buttons"]}))?;
    let seen = text(&dry["parts"][0], "shown");
    for words in ["[button] Say opens the form: Report", "What happened? = what", "When? = when", ": now"] {
        ensure!(seen.contains(words), "{words} is not in {seen}");
    }
    let asked = call(&agent, "200", ask)?;
    let (message, id) = (id_of(&asked, 0)?, text(&asked, "id").to_owned());
    let press = json!({"press": message, "in": "200", "button": "Say", "by": "99"});
    let pressed = mock.happen(press)?;
    let callback = |of: &Value| format!("interactions/{0}/interaction.{0}/callback", text(of, "id"));
    let answers = |of: &Value| -> Result<Vec<Value>> {
        let (heard, at) = (mock.heard()?, callback(of));
        Ok(heard.into_iter().filter(|request| text(request, "path").ends_with(&at)).collect())
    };
    let answered = |of: &Value| -> Result<Value> {
        let answer = eventually("an answer to the interaction", || Ok(answers(of)?.first().cloned()))?;
        ensure!(answer["status"] == 204, "{answer}");
        Ok(answer)
    };
    let opened = answered(&pressed)?;
    ensure!(opened["body"]["type"] == 9 && opened["body"]["data"]["title"] == "Report", "{opened}");

    // The same event twice is one entry.
    let values = json!({"what": "It broke.\n*In two*", "when": ""});
    let filled = mock.happen(json!({"fill": text(&pressed, "id"), "values": values, "again": true}))?;
    ensure!(answered(&filled)?["body"] == json!({"type": 6}));
    // Discord takes the first answer; the second time there is nothing to write down any more.
    eventually("both answers", || Ok((answers(&filled)?.len() == 2).then_some(())))?;
    let inbox = agent.get("/v1/inbox")?;
    // Of the message itself nothing is told: it was sent at once.
    let [notice] = inbox.body["notices"].as_array().context("notices")?.as_slice() else {
        anyhow::bail!("{inbox:?}")
    };
    let entry = json!({"form": "Report", "by": "99", "name": "Ann", "message": message, "values": values});
    ensure!(notice["entry"] == entry && notice["receipt"]["id"] == id.as_str(), "{notice}");

    let event = agent
        .listen(Some(0))?
        .until("what was entered", |heard| heard.name == "form.entered" && heard.data["id"] == id.as_str())?;
    ensure!(event.data["notice"] == notice["seq"] && event.data["by"] == "99", "{:?}", event.data);
    ensure!(!event.data.to_string().contains("It broke"), "what was entered is in the audit");

    // What is gone has no form any more.
    hub.cli(&["queue", "purge", &id])?.well()?;
    let late = mock.happen(json!({"press": message, "in": "200", "button": "Say", "by": "98"}))?;
    let late = answered(&late)?;
    ensure!(
        late["body"]["type"] == 4 && text(&late["body"]["data"], "content").contains("expired"),
        "{late}"
    );

    let log = hub.log()?;
    ensure!(log.len() > 10_000, "at this level much is logged");
    for secret in ["a-token.of_the_test", "interaction.7"] {
        ensure!(!log.contains(secret), "{secret} is in the log");
    }
    ensure!(!log.contains("It broke"), "what somebody entered is in the log");

    // Who stops is shown offline at once; who was killed above had no time for it.
    let codes = || -> Result<Vec<Value>> {
        let left = mock.happen(json!("left"))?;
        Ok(left.as_array().context("codes")?.iter().filter(|code| !code.is_null()).cloned().collect())
    };
    ensure!(codes()?.is_empty(), "it left while it ran: {:?}", codes()?);
    hub.terminate()?;
    let codes =
        eventually("the end of the session", || Ok(Some(codes()?).filter(|codes| !codes.is_empty())))?;
    ensure!(codes == [json!(1000)], "{codes:?}");
    Ok(())
}

#[test]
fn a_form_on_a_nearly_full_disk_is_refused_and_taken_when_there_is_room() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, Arc::new(tempfile::tempdir()?));
    let Some(disk) = SmallDisk::mount(&folder.path().join("data"), 40)? else { return Ok(()) };
    let account = format!("{}gateway = true\n", mock.account(folder.path(), mock.token())?);
    let mut hub = SpawnedHub::at_rest(Arc::clone(&folder), &agents_on("discord", &account))?;
    hub.run()?;
    let agent = hub.agent("courier")?;
    let ask = json!({"message": "What happened?", "buttons": [[{"text": "Say", "form": report()}]]});
    let message = id_of(&call(&agent, "200", ask)?, 0)?;
    let answered = |of: &Value| -> Result<Value> {
        let at = format!("interactions/{0}/interaction.{0}/callback", text(of, "id"));
        eventually("an answer to the interaction", || {
            Ok(mock.heard()?.into_iter().find(|request| text(request, "path").ends_with(&at)))
        })
    };
    // Somebody presses the button, and fills in what opens; what Discord is answered to that.
    let filled_in = |words: &str| -> Result<Value> {
        let pressed = mock.happen(json!({"press": message, "in": "200", "button": "Say", "by": "99"}))?;
        let opened = answered(&pressed)?;
        ensure!(opened["body"]["type"] == 9, "{opened}");
        let values = json!({"what": words, "when": ""});
        let filled = mock.happen(json!({"fill": text(&pressed, "id"), "values": values}))?;
        Ok(answered(&filled)?["body"].clone())
    };
    let entries = || -> Result<Vec<Value>> {
        let inbox = agent.get("/v1/inbox")?.taken()?;
        Ok(inbox["notices"]
            .as_array()
            .context("notices")?
            .iter()
            .map(|notice| notice["entry"].clone())
            .collect())
    };
    let ready = |status: u16| {
        eventually("the hub has looked at its disk", || {
            Ok((agent.get("/readyz")?.status == status).then_some(()))
        })
    };

    let ballast = disk.fill(4 * 1024 * 1024)?;
    ready(503)?;
    let refused = filled_in("It broke.")?;
    ensure!(refused["type"] == 4 && refused["data"]["flags"] == 64, "{refused}");
    ensure!(
        text(&refused["data"], "content").contains("could not"),
        "who filled it in believes that it was taken: {refused}"
    );
    ensure!(entries()?.is_empty(), "{:?}", entries()?);

    fs::remove_file(ballast)?;
    ready(200)?;
    ensure!(filled_in("It still is.")? == json!({"type": 6}));
    let entries = entries()?;
    ensure!(entries.len() == 1 && entries[0]["values"]["what"] == "It still is.", "{entries:?}");
    hub.terminate()
}

#[test]
fn an_account_whose_gateway_is_closed_for_good_is_ready_and_its_messages_go() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, Arc::new(tempfile::tempdir()?));
    let account = format!("{}gateway = true\n", mock.account(folder.path(), mock.token())?);
    let mut hub = SpawnedHub::at_rest(Arc::clone(&folder), &agents_on("discord", &account))?;
    hub.run()?;
    let agent = hub.agent("courier")?;
    eventually("a session", || {
        let said = mock.happen(json!("said"))?;
        Ok(said.as_array().context("events")?.iter().any(|event| event["op"] == 2).then_some(()))
    })?;
    // "Disallowed intent(s)": who is closed so comes back to the same.
    mock.happen(json!({"close": 4014}))?;
    let channels = eventually("what closed it", || {
        let said = hub.operator()?.get("/v1/channels")?.body;
        Ok(said.to_string().contains("intents").then_some(said))
    })?;
    let account =
        channels["channels"].as_array().and_then(|all| all.iter().find(|one| one["channel"] == "discord"));
    let account = account.with_context(|| channels.to_string())?;
    ensure!(account["ready"] == true && account.to_string().contains("hub (123456)"), "{account}");
    ensure!(agent.send_and_wait(&json!({"to": "discord:200", "message": "Plain."}))?["state"] == "sent");
    ensure!(posted(&mock, "200")?.len() == 1);
    let status = json!({"action": "setPresence", "channel": "discord", "status": "busy", "statusText": "x"});
    let refused = agent.send_and_wait(&status)?;
    ensure!(refused["state"] == "failed" && text(&refused, "error").contains("intents"), "{refused}");
    hub.terminate()
}

#[test]
fn forms_that_discord_would_refuse_or_send_elsewhere_are_refused_at_once() -> Result<()> {
    let (mock, folder) = (Mock::discord()?, Arc::new(tempfile::tempdir()?));
    let account = format!("{}gateway = true\n", mock.account(folder.path(), mock.token())?);
    let mut hub = SpawnedHub::at_rest(Arc::clone(&folder), &agents_on("discord", &account))?;
    hub.run()?;
    let agent = hub.agent("courier")?;
    let asked = |words: &str, field: Value| {
        let form = json!({"title": "Report", "fields": [field]});
        let call =
            json!({"to": "discord:200", "message": words, "buttons": [[{"text": "Say", "form": form}]]});
        agent.send_and_wait(&call)
    };
    for (field, words) in [
        (json!({"name": "a", "label": "A", "value": "one\ntwo"}), "give it long"),
        (json!({"name": "a", "label": "A", "min": 5, "value": "four"}), "fewer than its min"),
    ] {
        let refused = asked("What?", field)?;
        ensure!(refused["state"] == "failed" && text(&refused, "error").contains(words), "{refused}");
    }
    let fits = json!({"name": "a", "label": "A", "long": true, "min": 3, "max": 9, "value": "one\ntwo"});
    ensure!(asked("What?", fits.clone())?["state"] == "sent");
    ensure!(posted(&mock, "200")?.len() == 1);
    // Somebody gives the application an address for what people press.
    mock.happen(json!({"endpoint": "https://example.org/interactions"}))?;
    let channels = eventually("readiness", || {
        let said = hub.operator()?.get("/v1/channels")?.body.to_string();
        Ok(said.contains("Interactions Endpoint URL").then_some(said))
    })?;
    ensure!(channels.contains("hub (123456)"), "the account is ready all the same: {channels}");
    let refused = asked("And now?", fits)?;
    ensure!(
        refused["state"] == "failed" && text(&refused, "error").contains("Interactions Endpoint URL"),
        "{refused}"
    );
    ensure!(agent.send_and_wait(&json!({"to": "discord:200", "message": "Plain."}))?["state"] == "sent");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_boosted_server_takes_larger_files_and_another_refuses_them_before_anything_is_sent() -> Result<()>
{
    let (mock, folder, out) = (Mock::discord()?, tempfile::tempdir()?, tempfile::tempdir()?);
    let agents = agents_on("discord", "").replace(
        "[agents.courier]\n",
        &format!("[agents.courier]\nattach_from = \"{}\"\n", out.path().display()),
    );
    let account = mock.account(folder.path(), mock.token())?;
    let mut fixture = TestHub::start(&format!("{agents}{account}")).await?;
    let agent = fixture.agent("courier").await?;
    fs::write(out.path().join("a.png"), noise(PNG, 11 << 20))?;
    let large = json!({"attachments": [{"path": "a.png"}]});
    let refused = call(&agent, "200", large.clone())?;
    ensure!(refused["state"] == "failed" && text(&refused, "error").contains("10 MiB at most"), "{refused}");
    // It is known now, and said at once.
    let refused = call(&agent, "200", json!({"message": "See", "attachments": large["attachments"]}))?;
    ensure!(refused["state"] == "failed" && refused["code"] == "input_invalid", "{refused}");
    ensure!(posted(&mock, "200")?.is_empty());
    mock.happen(json!({"boost": 2}))?;
    // Another hub asks anew.
    drop(fixture);
    let mut fixture = TestHub::start(&format!("{agents}{account}")).await?;
    let sent = call(&fixture.agent("courier").await?, "200", large)?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

/// Whether the mock's schema takes an answer to an interaction: it looks at the body first, and then finds no such interaction.
fn taken(mock: &Mock, body: &Value) -> Result<bool> {
    let url = format!("{}/api/v10/interactions/1/interaction.1/callback", mock.base_url());
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent
        .post(&url)
        .header("Authorization", format!("Bot {}", mock.token()))
        .header("User-Agent", "DiscordBot (https://example.org, 1.0)")
        .header("Content-Type", "application/json")
        .send(body.to_string())?;
    let said: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
    match said["code"].as_u64() {
        Some(10062) => Ok(true),
        Some(50035) if said["errors"].is_object() => Ok(false),
        _ => anyhow::bail!("{said}"),
    }
}

#[test]
fn the_schema_refuses_every_broken_form() -> Result<()> {
    let mock = Mock::discord()?;
    let input = json!({"type": 4, "custom_id": "what", "style": 2, "required": true, "min_length": 2, "max_length": 1000});
    let label = json!({"type": 18, "label": "What happened?", "component": input});
    let data = json!({"custom_id": "gatepost:form:a:0", "title": "Report", "components": [label]});
    let good = json!({"type": 9, "data": data});
    ensure!(taken(&mock, &good)?, "a form like ours");
    for (at, wrong) in [
        ("/data/title", json!("x".repeat(46))),
        ("/data/custom_id", json!("")),
        ("/data/components", json!([])),
        ("/data/components/0/type", json!(4)),
        ("/data/components/0/label", json!("x".repeat(46))),
        ("/data/components/0/component/style", json!(3)),
        ("/data/components/0/component/custom_id", json!("x".repeat(101))),
        ("/data/components/0/component/max_length", json!(4001)),
        ("/data/components/0/component", json!({"type": 4, "custom_id": "a", "style": 1, "hint": "unknown"})),
    ] {
        let mut broken = good.clone();
        *broken.pointer_mut(at).context("a member")? = wrong;
        ensure!(!taken(&mock, &broken)?, "{at}: {broken}");
    }
    Ok(())
}
