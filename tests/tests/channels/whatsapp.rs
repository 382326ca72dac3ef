//! WhatsApp with mocks of both of its ways: nothing of the real ones runs on loopback.
//!
//! Slow: one account takes a message in some seconds.

use gatepost::channels::envelope::Envelope;
use std::{fs, path::Path};

use anyhow::{Result, ensure};
use gatepost_link::{Digest, decision::Verdict, document::Document};
use gatepost_tests::{
    hub::{SpawnedHub, TestHub, agents_on, client::text, secret},
    main_job,
    mocks::{Answer, MockServer, evolution, whatsapp},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// `[channels.whatsapp.home]` at an Evolution API, whose key is in this folder.
fn by_evolution(server: &MockServer, secrets: &Path) -> Result<String> {
    let account = evolution::account(server, secrets)?;
    Ok(format!("[channels.whatsapp.home]\nkind = \"evolution\"\n{account}"))
}

/// An Evolution API, the folder with its key, and a hub with an account there.
async fn with_evolution() -> Result<(MockServer, TempDir, TestHub)> {
    let (server, secrets) = (evolution::start()?, tempfile::tempdir()?);
    let channel = by_evolution(&server, secrets.path())?;
    let fixture = TestHub::start(&agents_on("whatsapp", &channel)).await?;
    Ok((server, secrets, fixture))
}

/// What was sent, without questions.
fn messages(server: &MockServer) -> Vec<Value> {
    let sent = |path: &str| path.ends_with("/messages") || path.starts_with("/message/");
    server.heard().iter().filter(|request| sent(&request.path)).map(|request| request.json()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_are_described_by_the_account_that_an_agent_writes_from() -> Result<()> {
    let (server, secrets) = (whatsapp::start()?, tempfile::tempdir()?);
    let agents = "
[agents.official]
allow = [\"whatsapp:*\"]
accounts = { whatsapp = \"business\" }
[agents.homely]
allow = [\"whatsapp:*\"]
accounts = { whatsapp = \"home\" }
[agents.either]
allow = [\"whatsapp:*\"]
";
    let business = format!("[channels.whatsapp.business]\n{}", whatsapp::account(&server, secrets.path())?);
    let home = by_evolution(&server, secrets.path())?;
    let mut fixture = TestHub::start(&format!("{agents}{business}{home}")).await?;
    // Cards of buttons are Meta's, and only the other takes a message back.
    for (name, buttons, deletes, accounts) in
        [("official", true, false, false), ("homely", false, true, false), ("either", true, true, true)]
    {
        let tools = fixture.agent(name).await?.get("/v1/tools")?.taken()?;
        let (description, parameters) =
            (text(&tools["tools"][0], "description"), &tools["tools"][0]["inputSchema"]["properties"]);
        let actions = parameters["action"]["enum"].to_string();
        ensure!(parameters["buttons"].is_object() == buttons, "{name}: {parameters}");
        ensure!(actions.contains("delete") == deletes, "{name}: {actions}");
        let supported: Vec<&str> = description.lines().filter(|line| line.contains(" supports: ")).collect();
        ensure!(supported.concat().contains("delete") == deletes, "{name}: {description}");
        ensure!(parameters["accountId"].is_object() == accounts, "{name}: {parameters}");
        ensure!(parameters["channel"]["enum"] == json!(["whatsapp"]), "{name}: {parameters}");
        for account in ["business", "home"] {
            let line = format!("whatsapp by the account {account} supports: ");
            ensure!(description.contains(&line) == accounts, "{name}: {description}");
        }
    }
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_by_the_cloud_api_as_it_was_shown() -> Result<()> {
    let (server, secrets) = (whatsapp::start()?, tempfile::tempdir()?);
    let channel = format!("[channels.whatsapp.home]\n{}", whatsapp::account(&server, secrets.path())?);
    let mut fixture = TestHub::start(&agents_on("whatsapp", &channel)).await?;
    let agent = fixture.agent("engineer").await?;
    let to = "whatsapp:+49 151 12345679";
    let held = agent.send(&json!({"to": to, "message": main_job::report()}))?;
    ensure!(held["state"] == "held" && server.heard().is_empty(), "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let heard = messages(&server);
    ensure!(heard.len() == parts.len(), "{} requests for {} parts", heard.len(), parts.len());
    for (part, mut message) in parts.iter().zip(heard) {
        ensure!(message["biz_opaque_callback_data"] == part.key, "{message}");
        message.as_object_mut().map(|message| message.remove("biz_opaque_callback_data"));
        ensure!(Envelope::read(&part.request)?.request["message"] == message, "{message}");
        ensure!(!text(&message["text"], "body").starts_with(char::is_whitespace), "{message}");
    }
    let held = agent.send(&json!({"to": to, "message": "The door code is 4711."}))?;
    fixture.decide(Verdict::Deny).await?;
    agent.ended(text(&held, "id"), "denied")?;
    ensure!(messages(&server).len() == parts.len());
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cloud_api_takes_files_replies_buttons_and_reactions_and_its_refusals_are_told() -> Result<()> {
    let (server, secrets) = (whatsapp::start()?, tempfile::tempdir()?);
    let channel = format!(
        "[channels.whatsapp.home]\n{}template = \"update\"\n",
        whatsapp::account(&server, secrets.path())?
    );
    let mut fixture = TestHub::start(&agents_on("whatsapp", &channel)).await?;
    let agent = fixture.agent("courier").await?;
    let to = "whatsapp:4915112345679";
    let answer = json!({"to": to, "message": "Hm?", "replyTo": "wamid.HBgL"});
    let refused = agent.post("/v1/messages", &answer)?;
    ensure!(refused.body["reason"] == "message_elsewhere", "nobody knows where that is: {refused:?}");
    fixture.operator()?.heard_there("courier", ("whatsapp", "4915112345679"), "wamid.HBgL")?;
    let sent = agent.send_and_wait(&json!({
        "to": to,
        "message": "See **this**:",
        "replyTo": "wamid.HBgL",
        "attachments": [{"base64": "aGVsbG8=", "name": "a.txt", "caption": "*the* list"}],
    }))?;
    ensure!(sent["state"] == "sent" && sent["sent"] == "2 of 2", "{sent}");
    let heard = messages(&server);
    ensure!(
        heard[0]["text"]["body"] == "See *this*:" && heard[0]["text"]["preview_url"] == false,
        "{heard:?}"
    );
    ensure!(heard[0]["context"]["message_id"] == "wamid.HBgL" && heard[1]["context"].is_null(), "{heard:?}");
    ensure!(heard[1]["document"]["caption"] == "_the_ list", "{heard:?}");
    let id = text(&sent["parts"][0], "platform_id").to_owned();
    let done = agent.send_and_wait(&json!({"action": "react", "to": to, "messageId": id, "emoji": "👍"}))?;
    ensure!(done["state"] == "sent" && done["parts"][0]["platform_id"] == id, "{done}");
    let asked = agent.send_and_wait(&json!({
        "to": to, "message": "Tea?", "buttons": [[{"text": "Yes", "callback_data": "y"}, {"text": "No", "callback_data": "n"}]],
    }))?;
    ensure!(asked["state"] == "sent", "{asked}");

    for (name, base64) in [("a.gif", "R0lGODlhAQABAAAAACw="), ("a.zip", "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==")] {
        let call = json!({"to": to, "attachments": [{"base64": base64, "name": name}]});
        let (before, refused) = (server.heard().len(), agent.post("/v1/messages", &call)?);
        ensure!(refused.status == 400 && refused.body["reason"] == "files", "{refused:?}");
        ensure!(text(&refused.body, "error").contains(name), "{refused:?}");
        ensure!(server.heard().len() == before, "{name} was handed over");
    }
    let alike = json!([[{"text": "Yes", "callback_data": "y"}, {"text": "No", "callback_data": "y"}]]);
    let refused = agent.send_and_wait(&json!({"to": to, "message": "Tea?", "buttons": alike}))?;
    ensure!(refused["state"] == "failed" && text(&refused, "error").contains("of its own"), "{refused}");

    // The template that stands beside the text goes where the text may not.
    server.next([whatsapp::refusal(400, 131_047, "more than 24 hours have passed")]);
    let late = agent.send_and_wait(&json!({"to": to, "message": "Late."}))?;
    ensure!(late["state"] == "sent", "{late}");
    let last = messages(&server).pop().unwrap_or_default();
    ensure!(last["type"] == "template" && last.to_string().contains("Late."), "{last}");

    for (code, words) in
        [(131_026, "undeliverable"), (131_051, "unsupported"), (131_030, "test number's list")]
    {
        server.next([whatsapp::refusal(400, code, "undeliverable, unsupported")]);
        let failed = agent.send_and_wait(&json!({"to": to, "message": format!("Refused {code}")}))?;
        ensure!(failed["state"] == "failed" && text(&failed, "error").contains(words), "{failed}");
    }
    // 400 as it is, the code says that it was too much.
    let slower = json!({"error": {"code": 131_056, "message": "slower"}});
    server.next([Answer::With(400, "Retry-After: 1", slower)]);
    let sent = agent.send_and_wait(&json!({"to": to, "message": "Patience."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    server.next([Answer::Lost]);
    let unknown = agent.send_and_wait(&json!({"to": to, "message": "Once."}))?;
    ensure!(unknown["state"] == "unknown", "{unknown}");
    let refused = agent.post("/v1/messages", &json!({"action": "delete", "to": to, "messageId": id}))?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("correction"), "{refused:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evolution_api_takes_groups_files_polls_and_removals() -> Result<()> {
    let (server, secrets, mut fixture) = with_evolution().await?;
    let agent = fixture.agent("courier").await?;
    let to = "whatsapp:120363012345678901@g.us";
    fixture.operator()?.heard_there("courier", ("whatsapp", "120363012345678901@g.us"), "3EB0AA")?;
    let sent = agent.send_and_wait(&json!({
        "to": to,
        "message": "See this:",
        "replyTo": "3EB0AA",
        "attachments": [{"base64": "aGVsbG8=", "name": "a.txt", "caption": "a list"}],
    }))?;
    ensure!(sent["state"] == "sent" && sent["sent"] == "2 of 2", "{sent}");
    let id = text(&sent["parts"][0], "platform_id");
    for call in [
        json!({"action": "react", "to": to, "messageId": id, "emoji": "👍"}),
        json!({"action": "poll", "to": to, "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]}),
        json!({"action": "delete", "to": to, "messageId": id}),
    ] {
        let done = agent.send_and_wait(&call)?;
        ensure!(done["state"] == "sent", "{done}");
    }
    // It arrived, and its answer was lost: it is found, and nobody gets it twice.
    server.next([Answer::Lost]);
    let found = agent.send_and_wait(&json!({"to": to, "message": "Once."}))?;
    ensure!(found["state"] == "sent", "{found}");
    let sent = server.heard().iter().filter(|request| request.json()["text"] == "Once.").count();
    ensure!(sent == 1, "{sent}");
    let channel = by_evolution(&server, secrets.path())?;
    let ready = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel)?.cli(&["check"])?.well()?;
    ensure!(ready.contains("instance home"), "{ready}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evolution_api_calls_who_was_approved_in_a_group_and_nobody_elsewhere() -> Result<()> {
    let (server, _secrets, mut fixture) = with_evolution().await?;
    let agent = fixture.agent("engineer").await?;
    let to = "whatsapp:120363012345678901@g.us";
    let words = "[Ann](mention:+4915112345679) and [Bob](mention:175105850253361@lid), the oven! @all";
    let held = agent.send(&json!({"to": to, "message": words}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    ensure!(seen.pages.concat().contains("[notifies]"), "{seen:?}");
    let sent = agent.ended(text(&held, "id"), "sent")?;
    main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let last = || messages(&server).pop().unwrap_or_default();
    ensure!(last()["text"] == "[engineer] @4915112345679 and @175105850253361, the oven! @all", "{}", last());
    let called = json!(["4915112345679@s.whatsapp.net", "175105850253361@lid"]);
    ensure!(last()["mentioned"] == called && last()["mentionsEveryOne"].is_null(), "{}", last());
    // With a file it goes as a form.
    let courier = fixture.agent("courier").await?;
    let file =
        json!([{"base64": "aGVsbG8=", "name": "a.txt", "caption": "[Ann](mention:4915112345679)'s list"}]);
    let sent = courier.send_and_wait(&json!({"to": to, "attachments": file}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let person = json!({"to": "whatsapp:+4915112345678", "message": "[Ann](mention:+4915112345679)!"});
    let refused = agent.post("/v1/messages", &person)?;
    ensure!(refused.body.to_string().contains("in groups alone"), "{refused:?}");
    let refused = agent.post("/v1/messages", &json!({"to": to, "message": "[all](mention:everyone)"}))?;
    ensure!(refused.body["reason"] == "bad_mention", "{refused:?}");
    Ok(())
}

/// The messages that an Evolution API keeps of a conversation.
fn kept(server: &MockServer, jid: &str) -> Result<Vec<Value>> {
    let http = ureq::Agent::config_builder().proxy(None).build().new_agent();
    let asked =
        http.post(format!("{}/chat/findMessages/home", server.url())).header("apikey", evolution::KEY);
    let query = json!({"where": {"key": {"remoteJid": jid}}, "page": 1, "offset": 50}).to_string();
    let answer: Value = serde_json::from_str(&asked.send(query)?.body_mut().read_to_string()?)?;
    Ok(answer["messages"]["records"].as_array().cloned().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_brazilian_number_is_found_again_at_an_evolution_api_also_after_a_restart() -> Result<()> {
    let (server, _secrets, mut fixture) = with_evolution().await?;
    let agent = fixture.agent("courier").await?;
    // WhatsApp knows it without the 9.
    let (to, jid) = ("whatsapp:+55 41 98765-4321", "554187654321@s.whatsapp.net");
    let first = agent.send_and_wait(&json!({"to": to, "message": "One."}))?;
    let second = agent.send_and_wait(&json!({"to": to, "message": "Two."}))?;
    ensure!(first["state"] == "sent" && kept(&server, jid)?.len() == 2, "{first}");
    let delete = |message: &Value| json!({"action": "delete", "to": to, "messageId": text(&message["parts"][0], "platform_id")});
    // The server forgets it wherever it is asked to have it taken back; the phones of the others only where they have it.
    let taken_back = || {
        let all = server.heard();
        let last = all.iter().rev().find(|request| request.method == "DELETE");
        last.map(|request| request.json()["remoteJid"].clone()).unwrap_or_default()
    };
    let done = agent.send_and_wait(&delete(&first))?;
    ensure!(done["state"] == "sent" && taken_back() == jid, "it was removed elsewhere: {done}");
    fixture.restart().await?;
    let agent = fixture.agent("courier").await?;
    let done = agent.send_and_wait(&delete(&second))?;
    ensure!(done["state"] == "sent" && taken_back() == jid, "it was removed elsewhere: {done}");
    ensure!(kept(&server, jid)?.is_empty());
    // It arrived, and its answer was lost.
    server.next([Answer::Lost]);
    let found = agent.send_and_wait(&json!({"to": to, "message": "Once."}))?;
    ensure!(found["state"] == "sent" && kept(&server, jid)?.len() == 1, "{found}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evolution_api_gets_large_files_whole_and_each_under_a_name_that_says_its_type() -> Result<()> {
    let (server, secrets) = (evolution::start()?, tempfile::tempdir()?);
    let channel = by_evolution(&server, secrets.path())?;
    let out = tempfile::tempdir()?;
    let from = format!("[agents.courier]\nattach_from = \"{}\"\n", out.path().display());
    let agents = agents_on("whatsapp", "").replace("[agents.courier]\n", &from);
    let mut fixture = TestHub::start(&format!("{agents}{channel}")).await?;
    let agent = fixture.agent("courier").await?;
    let to = "whatsapp:4915112345679";
    // As base64 it would be 8 MB, on which the server's check overflows its stack.
    let large: Vec<u8> =
        b"%PDF-1.7\n".iter().copied().chain((0..6 << 20).map(|n: u32| (n % 251) as u8)).collect();
    fs::write(out.path().join("report"), &large)?;
    let sent = agent.send_and_wait(&json!({"to": to, "attachments": [{"path": "report"}]}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let document =
        kept(&server, "4915112345679@s.whatsapp.net")?.remove(0)["message"]["documentMessage"].clone();
    ensure!(document["sha256"] == Digest::of(&large).to_string(), "{document}");
    ensure!(document["mimetype"] == "application/pdf" && document["fileName"] == "report.pdf", "{document}");
    let gif = json!({"base64": "R0lGODlhAQABAAAAACw=", "name": "dance.gif"});
    let sent = agent.send_and_wait(&json!({"to": to, "attachments": [gif]}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let document =
        kept(&server, "4915112345679@s.whatsapp.net")?.remove(0)["message"]["documentMessage"].clone();
    ensure!(document["mimetype"] == "image/gif", "it moves no more: {document}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_at_an_evolution_api_is_tried_again_and_what_was_sent_is_not() -> Result<()> {
    let (server, _secrets, mut fixture) = with_evolution().await?;
    let agent = fixture.agent("courier").await?;
    let group = "whatsapp:120363012345678901@g.us";
    for (n, passing) in [
        evolution::group_not_found(),
        evolution::thrown("Error: Connection was lost"),
        evolution::thrown("Error: rate-overlimit"),
    ]
    .into_iter()
    .enumerate()
    {
        server.next([passing]);
        let sent = agent.send_and_wait(&json!({"to": group, "message": format!("Try {n}.")}))?;
        ensure!(sent["state"] == "sent", "{sent}");
    }
    let file = json!({"base64": "aGVsbG8=", "name": "a.txt"});
    server.next([evolution::not_prepared("Error: Media upload failed on all hosts")]);
    let sent = agent.send_and_wait(&json!({"to": group, "attachments": [file]}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let file = json!({"base64": "aGVsbG8gYWdhaW4=", "name": "b.txt"});
    server.next([evolution::thrown_after_sending("AxiosError: Request failed with status code 401")]);
    let unknown = agent.send_and_wait(&json!({"to": group, "attachments": [file]}))?;
    ensure!(unknown["state"] == "unknown" && unknown.to_string().contains("was sent"), "{unknown}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_words_of_a_voice_do_not_go_after_one_that_an_evolution_api_sent_and_could_not_turn_into_text()
-> Result<()> {
    let (server, _secrets, mut fixture) = with_evolution().await?;
    let agent = fixture.agent("courier").await?;
    let group = "120363012345678901@g.us";
    server.next([evolution::thrown_after_sending("AxiosError: Request failed with status code 401")]);
    let spoken = json!({"to": format!("whatsapp:{group}"), "voice": {"text": "Only spoken."}});
    let unknown = agent.send_and_wait(&spoken)?;
    ensure!(unknown["state"] == "unknown" && unknown.to_string().contains("was sent"), "{unknown}");
    // The voice arrived, once, and nothing with its words.
    let kept = kept(&server, group)?;
    ensure!(kept.len() == 1 && kept[0]["message"]["audioMessage"]["ptt"] == true, "{kept:?}");
    ensure!(messages(&server).len() == 1, "{:?}", messages(&server));
    // One that was refused before it left goes as its words.
    server.next([evolution::thrown("Error: ffmpeg exited with code 1")]);
    let sent = agent.send_and_wait(&spoken_again(group))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let said = messages(&server).pop().unwrap_or_default();
    ensure!(said["text"].as_str().is_some_and(|words| words.contains("Said again.")), "{said}");
    Ok(())
}

fn spoken_again(group: &str) -> Value {
    json!({"to": format!("whatsapp:{group}"), "voice": {"text": "Said again."}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_behind_a_user_name_is_written_to_and_held_as_an_identity_of_its_own() -> Result<()> {
    let (server, secrets) = (whatsapp::start()?, tempfile::tempdir()?);
    let channel = format!("[channels.whatsapp.home]\n{}", whatsapp::account(&server, secrets.path())?);
    let mut fixture = TestHub::start(&agents_on("whatsapp", &channel)).await?;
    let (user, agent) = ("US.13491208655302741918", fixture.agent("courier").await?);
    let sent = agent.send_and_wait(&json!({"to": format!("whatsapp:{user}"), "message": "Hello."}))?;
    let heard = messages(&server);
    ensure!(
        sent["state"] == "sent" && heard[0]["recipient"] == user && heard[0]["to"].is_null(),
        "{heard:?}"
    );
    let held = fixture
        .agent("engineer")
        .await?
        .send(&json!({"to": format!("whatsapp:{user}"), "message": "Hi."}))?;
    ensure!(held["state"] == "held" && text(&held, "to").ends_with(user), "{held}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hybrid_account_goes_on_by_the_second_way_when_the_first_is_refused() -> Result<()> {
    let (first, second, secrets) = (whatsapp::start()?, evolution::start()?, tempfile::tempdir()?);
    let channel = format!(
        "[channels.whatsapp.home]\nkind = \"hybrid\"\n{}{}",
        whatsapp::account(&first, secrets.path())?,
        evolution::account(&second, secrets.path())?
    );
    let mut fixture = TestHub::start(&agents_on("whatsapp", &channel)).await?;
    let agent = fixture.agent("courier").await?;
    let to = "whatsapp:4915112345679";
    let sent = agent.send_and_wait(&json!({"to": to, "message": "One."}))?;
    ensure!(sent["state"] == "sent" && messages(&first).len() == 1 && messages(&second).is_empty(), "{sent}");
    first.next([whatsapp::refusal(401, 190, "the token has expired")]);
    // Nothing of it left by the first: it goes by the second, as its request has it.
    let sent = agent.send_and_wait(&json!({"to": to, "message": "Two."}))?;
    ensure!(sent["state"] == "sent" && messages(&second).len() == 1, "{sent}");
    let sent = agent.send_and_wait(&json!({"to": to, "message": "Three."}))?;
    ensure!(sent["state"] == "sent" && messages(&second).len() == 2, "{sent}");
    // That one found the first way well again, and those after it take that.
    let sent = agent.send_and_wait(&json!({"to": to, "message": "Four."}))?;
    let (by_first, by_second) = (messages(&first), messages(&second).len());
    ensure!(sent["state"] == "sent" && by_second == 2, "{sent}");
    ensure!(by_first.last().is_some_and(|last| last["text"]["body"] == "Four."), "{by_first:?}");
    // Whoever approves is told the ways, which nothing changes any more.
    let held = fixture.agent("engineer").await?.send(&json!({"to": to, "message": "Five."}))?;
    ensure!(held["state"] == "held", "{held}");
    let stored: Vec<u8> =
        fixture.database()?.query_row("SELECT document FROM approvals", [], |row| row.get(0))?;
    let document = Document::decode(&stored).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    ensure!(document.options == ["by the Cloud API, or else the Evolution API"], "{document:?}");
    Ok(())
}

/// HMAC-SHA256 (RFC 2104), as Meta signs what it tells.
fn signed(secret: &str, body: &str) -> String {
    let pad = |with: u8| -> Vec<u8> {
        (0..64).map(|n| secret.as_bytes().get(n).copied().unwrap_or(0) ^ with).collect()
    };
    let inner = Digest::of(&[pad(0x36), body.as_bytes().to_vec()].concat());
    format!("sha256={}", Digest::of(&[pad(0x5c), inner.0.to_vec()].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_knew_whatsapp_tells_later_and_nobody_else_does() -> Result<()> {
    let (server, secrets) = (whatsapp::start()?, tempfile::tempdir()?);
    let (app, verify) = (
        secret(secrets.path(), "app", "the app_secret")?,
        secret(secrets.path(), "verify", "the verify_token")?,
    );
    let told = format!("app_secret = {app}\nverify_token = {verify}\n");
    let channel = format!("[channels.whatsapp.home]\n{}{told}", whatsapp::account(&server, secrets.path())?);
    let mut fixture = TestHub::start(&agents_on("whatsapp", &channel)).await?;
    let agent = fixture.agent("courier").await?;
    server.next([Answer::Lost]);
    let unknown =
        agent.send_and_wait(&json!({"to": "whatsapp:4915112345679", "message": "Whether it arrives?"}))?;
    ensure!(unknown["state"] == "unknown", "{unknown}");

    let http = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().new_agent();
    let port = format!("{}/v1/platform/whatsapp/home", agent.base());
    let verify = |word: &str| -> Result<(u16, String)> {
        let asked = format!("{port}?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={word}");
        let mut answer = http.get(asked).call()?;
        Ok((answer.status().as_u16(), answer.body_mut().read_to_string()?))
    };
    ensure!(verify("the%20verify_token")? == (200, "1158201444".into()));
    for word in ["", "another", "the%20app_secret"] {
        ensure!(verify(word)?.0 == 403, "{word}");
    }

    let key = text(&messages(&server)[0], "biz_opaque_callback_data").to_owned();
    let of = |state: &str| {
        let status = json!({"id": "wamid.later", "status": state, "biz_opaque_callback_data": key,
            "errors": [{"code": 131_047, "title": "Re-engagement message"}]});
        json!({"entry": [{"changes": [{"value": {"statuses": [status]}}]}]}).to_string()
    };
    let told = |port: &str, signature: &str, body: &str| -> Result<u16> {
        let told = http.post(port).header("X-Hub-Signature-256", signature).send(body)?;
        Ok(told.status().as_u16())
    };
    let body = of("delivered");
    let tell = |port: &str, signature: &str| told(port, signature, &body);
    let good = signed("the app_secret", &body);
    ensure!(tell(&port, &signed("the verify_token", &body))? == 401);
    ensure!(tell(&port.replace("/home", "/work"), &good)? == 401);
    let id = text(&unknown, "id");
    agent.ended(id, "unknown")?;
    for _ in 0..2 {
        ensure!(tell(&port, &good)? == 200);
    }
    let sent = agent.ended(id, "sent")?;
    ensure!(sent["parts"][0]["platform_id"] == "wamid.later" && messages(&server).len() == 1, "{sent}");
    // And that it did not reach the person after all, which Meta says of most messages outside the 24 hours only then.
    let body = of("failed");
    for _ in 0..2 {
        ensure!(told(&port, &signed("the app_secret", &body), &body)? == 200);
    }
    let failed = agent.ended(id, "failed")?;
    ensure!(failed.to_string().contains("configure a template"), "{failed}");
    fixture.audit_is_whole().await
}
