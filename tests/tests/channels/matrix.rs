//! The main job on Matrix, with Synapse, read back through the server's own API.
//!
//! Installed by `tests/run --setup-only`: Synapse.

use gatepost::channels::envelope::Envelope;
use std::{fs, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use gatepost::channels::{PartKey, RateHints};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    adapter::opened,
    hub::{SpawnedHub, TestHub, agents_on, client::text, eventually},
    main_job,
    peers::{Account, Synapse, html_check},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server with a room in which the hub's account and Anna are.
struct Fixture {
    synapse: Synapse,
    bot: Account,
    anna: Account,
    room: String,
    /// The hub's token, as a file.
    secrets: TempDir,
}

impl Fixture {
    fn build() -> Result<Self> {
        Self::on(Synapse::start()?)
    }

    fn on(synapse: Synapse) -> Result<Self> {
        let bot = synapse.register("gatepost", "a password")?;
        let anna = synapse.register("anna", "another password")?;
        let room = synapse.create_room(&bot.access_token)?;
        synapse.invite(&bot.access_token, &room, &anna.user_id)?;
        synapse.join(&anna.access_token, &room)?;
        let secrets = tempfile::tempdir()?;
        fs::write(secrets.path().join("token"), &bot.access_token)?;
        Ok(Self { synapse, bot, anna, room, secrets })
    }

    fn channel(&self, token: &str) -> String {
        format!(
            "[channels.matrix.home]\nhomeserver = \"{}\"\ntoken = \"file:{}\"\nlimit = 600\n",
            self.synapse.base_url(),
            self.secrets.path().join(token).display()
        )
    }

    /// The messages in the room, as Anna sees them, oldest first.
    fn messages(&self) -> Result<Vec<Value>> {
        let events = self.synapse.messages(&self.anna.access_token, &self.room)?;
        Ok(events.into_iter().filter(|event| event["type"] == "m.room.message").collect())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_in_the_room_once_and_a_denied_one_does_not() -> Result<()> {
    let server = Fixture::build()?;
    let mut fixture = TestHub::start(&agents_on("matrix", &server.channel("token"))).await?;
    let agent = fixture.agent("engineer").await?;
    let to = format!("matrix:{}", server.room);

    let held =
        agent.send(&json!({"to": to, "message": "The *oven* is still on, see <https://hub.test/oven>."}))?;
    ensure!(held["state"] == "held" && server.messages()?.is_empty(), "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    arrived(&fixture, &server, &sent, &seen, 0)?;
    let first = server.messages()?.remove(0);
    ensure!(text(&first["content"], "body").contains("[engineer]"), "{first}");
    ensure!(text(&first["content"], "formatted_body").contains("<em>oven</em>"), "{first}");

    let held = agent.send(&json!({"to": to, "message": main_job::report()}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = arrived(&fixture, &server, &sent, &seen, 1)?;
    ensure!(parts > 2, "{parts} parts are too few for a test of their order");
    let bodies: String =
        server.messages()?.iter().map(|event| text(&event["content"], "body").to_owned() + "\n").collect();
    let code: Vec<&str> = bodies.lines().filter(|line| line.starts_with("rsync")).collect();
    let expected: Vec<String> =
        (1..=main_job::CODE_LINES).map(|n| format!("rsync -a src/{n:02} dst/{n:02}")).collect();
    ensure!(code == expected, "{code:?}");

    let before = server.messages()?.len();
    let held = agent.send(&json!({"to": to, "message": "The door code is 4711."}))?;
    fixture.decide(Verdict::Deny).await?;
    let id = text(&held, "id");
    agent.ended(id, "denied")?;
    ensure!(agent.told_of(id)?["state"] == "denied");
    // The lane is free again; what would have come before this has not.
    let held = agent.send(&json!({"to": to, "message": "Good night."}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    let after = server.messages()?;
    ensure!(after.len() == before + 1, "{} messages after {before}", after.len());
    ensure!(!after.iter().any(|event| event.to_string().contains("4711")));
    fixture.audit_is_whole().await
}

/// Checks that all parts of a message stand in the room once, in order, as they were shown and signed, after `before`
/// other messages; returns how many they are.
fn arrived(
    fixture: &TestHub,
    server: &Fixture,
    sent: &Value,
    seen: &gatepost_desktop::person::Seen,
    before: usize,
) -> Result<usize> {
    let parts = main_job::shown_and_signed(fixture, text(sent, "id"), seen)?;
    let events = server.messages()?.split_off(before);
    ensure!(events.len() == parts.len(), "{} events for {} parts: {events:#?}", events.len(), parts.len());
    let receipts = sent["parts"].as_array().context("receipts")?;
    for ((part, event), receipt) in parts.iter().zip(&events).zip(receipts) {
        let wire: Value = Envelope::read(&part.request)?.request;
        ensure!(event["content"] == wire["content"], "{wire} was sent, and {event} arrived");
        ensure!(event["sender"] == "@gatepost:hub.test", "{event}");
        ensure!(receipt["state"] == "confirmed" && receipt["platform_id"] == event["event_id"], "{receipt}");
    }
    let html: Vec<&str> = events.iter().map(|event| text(&event["content"], "formatted_body")).collect();
    ensure!(html.iter().all(|html| !html.is_empty()));
    let problems = html_check(&html)?;
    ensure!(problems.is_empty(), "{problems:#?}");
    Ok(parts.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_delivered_again_under_its_key_is_one_event() -> Result<()> {
    let server = Fixture::build()?;
    let (_folder, adapter) = opened("matrix", &server.channel("token"))?;
    let wire = |body: &str| json!({"room": server.room, "type": "m.room.message", "content": {"msgtype": "m.text", "body": body}});
    let (one, other) = (PartKey("1".repeat(32)), PartKey("2".repeat(32)));
    let first = adapter.read(&wire("once")).deliver(&one, &mut RateHints::default()).await?.id;
    let again = adapter.read(&wire("once")).deliver(&one, &mut RateHints::default()).await?.id;
    let next = adapter.read(&wire("once")).deliver(&other, &mut RateHints::default()).await?.id;
    ensure!(first == again && first != next, "{first} {again} {next}");
    let messages = server.messages()?;
    let ids: Vec<&str> = messages.iter().map(|event| text(event, "event_id")).collect();
    ensure!(ids == [first.as_str(), next.as_str()], "{messages:?}");

    // Whether the account could send at all, asked from the shell.
    let ready = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &server.channel("token"))?
        .cli(&["check"])?
        .well()?;
    ensure!(ready.contains("ready") && ready.contains("@gatepost:hub.test"), "{ready}");
    fs::write(server.secrets.path().join("wrong"), "syt_wrong_token")?;
    let refused =
        SpawnedHub::at_rest(tempfile::tempdir()?.into(), &server.channel("wrong"))?.cli(&["check"])?;
    ensure!(refused.status == 1 && refused.stdout.contains("NOT READY"), "{refused:?}");
    ensure!(
        refused.stdout.contains("M_UNKNOWN_TOKEN") && refused.stdout.contains("replace the token"),
        "{refused:?}"
    );
    ensure!(!refused.stdout.contains("syt_wrong") && !refused.stderr.contains("syt_wrong"), "{refused:?}");
    Ok(())
}

/// The server takes two at once and then one in two seconds; everything else it answers with 429 and `retry_after_ms`.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_too_much_gets_every_part_once_in_order_and_no_attempt_is_spent() -> Result<()>
{
    let server = Fixture::on(Synapse::start_limited()?)?;
    let agents = "[agents.engineer]\nallow = [\"matrix:*\"]\ncross_context = \"allow\"\ndecorate = false\n";
    let mut hub =
        SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), &format!("{agents}{}", server.channel("token")))?;
    hub.log_at("debug");
    hub.run()?;
    let agent = hub.agent("engineer")?;
    let words = |n: usize| format!("Sentence {n} of a long story. ").repeat(20);
    let story: Vec<String> = (0..5).map(words).collect();
    let before = std::time::Instant::now();
    let sent =
        agent.send(&json!({"to": format!("matrix:{}", server.room), "message": story.join("\n\n")}))?;
    let sent = agent.ended(text(&sent, "id"), "sent")?;
    let parts = sent["parts"].as_array().context("parts")?;
    ensure!(parts.len() >= 5, "{sent}");
    // Two go at once; the server lets each of the others in two seconds after the one before.
    ensure!(before.elapsed().as_secs() >= 2 * (parts.len() as u64 - 3), "it was not limited: {sent}");
    let message = agent.message(text(&sent, "id"))?;
    ensure!(message["attempts"] == 0, "a limit spends no attempt: {message}");
    let events = server.messages()?;
    let ids: Vec<&str> = events.iter().map(|event| text(event, "event_id")).collect();
    let told: Vec<&str> = parts.iter().map(|part| text(part, "platform_id")).collect();
    ensure!(ids == told, "{events:#?}");
    let log = hub.log()?;
    ensure!(log.contains("M_LIMIT_EXCEEDED"), "the server never said no");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_the_account_is_not_in_fails_with_the_servers_words() -> Result<()> {
    let server = Fixture::build()?;
    let private = server.synapse.create_room(&server.anna.access_token)?;
    let mut fixture = TestHub::start(&agents_on("matrix", &server.channel("token"))).await?;
    let agent = fixture.agent("courier").await?;
    let failed = agent.send_and_wait(&json!({"to": format!("matrix:{private}"), "message": "Let me in."}))?;
    ensure!(failed["state"] == "failed" && failed["code"] == "execution_failed", "{failed}");
    ensure!(text(&failed, "error").contains("M_FORBIDDEN"), "{failed}");
    ensure!(agent.told_of(text(&failed, "id"))?["state"] == "failed");
    let refused =
        agent.post("/v1/messages", &json!({"to": "matrix:#kitchen:hub.test", "message": "Hello"}))?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("room id"), "{refused:?}");
    Ok(())
}

/// Names as Synapse has them, and whom its push rules count a message for.
#[tokio::test(flavor = "multi_thread")]
async fn a_room_and_a_person_are_found_by_name_and_who_is_called_is_notified() -> Result<()> {
    let server = Fixture::build()?;
    let (bot, anna) = (&server.bot.access_token, &server.anna.access_token);
    let put = |token: &str, path: String, body: Value| -> Result<()> {
        let (status, said) = server.synapse.call("PUT", &path, Some(token), Some(&body))?;
        ensure!(status == 200, "{path}: {status} {said}");
        Ok(())
    };
    put(bot, format!("v3/rooms/{}/state/m.room.name", server.room), json!({"name": "Kitchen"}))?;
    put(anna, format!("v3/profile/{}/displayname", server.anna.user_id), json!({"displayname": "Anna Lee"}))?;
    let direct = server.synapse.create_room(bot)?;
    server.synapse.invite(bot, &direct, &server.anna.user_id)?;
    server.synapse.join(anna, &direct)?;
    let list = json!({(server.anna.user_id.as_str()): [direct]});
    put(bot, format!("v3/user/{}/account_data/m.direct", server.bot.user_id), list)?;

    let mut fixture = TestHub::start(&agents_on("matrix", &server.channel("token"))).await?;
    let courier = fixture.agent("courier").await?;
    for (name, room) in [("#kitchen", &server.room), ("@Anna Lee", &direct)] {
        let sent = courier.send_and_wait(&json!({"to": format!("matrix:{name}"), "message": "Hello"}))?;
        ensure!(sent["state"] == "sent" && sent["to"] == format!("matrix:{room}"), "{sent}");
    }
    let refused = courier.post("/v1/messages", &json!({"to": "matrix:@Anna", "message": "Hello"}))?;
    ensure!(
        refused.status == 400 && refused.body.to_string().contains("that is called @anna"),
        "{refused:?}"
    );

    // What her push rules made of it: the messages that called her by her id.
    let called = || -> Result<Vec<Value>> {
        let (_, said) = server.synapse.call("GET", "v3/notifications?only=highlight", Some(anna), None)?;
        Ok(said["notifications"].as_array().context("a list")?.clone())
    };
    ensure!(called()?.is_empty(), "{:?}", called()?);
    let agent = fixture.agent("engineer").await?;
    let words = format!("[Anna](mention:{}), the oven! @room", server.anna.user_id);
    let held = agent.send(&json!({"to": format!("matrix:{}", server.room), "message": words}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    ensure!(seen.pages.concat().contains("[notifies]"), "{seen:?}");
    let sent = agent.ended(text(&held, "id"), "sent")?;
    main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let events = server.messages()?;
    let content = &events.last().context("an event")?["content"];
    ensure!(content["m.mentions"] == json!({"user_ids": [server.anna.user_id]}), "{content}");
    ensure!(!text(content, "body").contains("mention:"), "{content}");
    let html = text(content, "formatted_body");
    ensure!(
        html.contains(&format!("<a href=\"https://matrix.to/#/{}\">Anna</a>", server.anna.user_id)),
        "{html}"
    );
    let problems = html_check(&[html])?;
    ensure!(problems.is_empty(), "{problems:#?}");
    // Synapse counts behind the event.
    eventually("she is called once", || {
        let is_it = matches!(called()?.as_slice(), [one] if one["event"]["content"] == *content);
        Ok(is_it.then_some(()))
    })
}

/// Everything that is done to a room, by the tool, read back as Anna sees it.
#[tokio::test(flavor = "multi_thread")]
async fn all_that_an_agent_can_do_in_a_room_is_done_there() -> Result<()> {
    let server = Fixture::build()?;
    let agents = "[agents.engineer]\nallow = [\"matrix:*\"]\ncross_context = \"allow\"\ndecorate = false\n";
    let mut fixture = TestHub::start(&format!("{agents}{}", server.channel("token"))).await?;
    let agent = fixture.agent("engineer").await?;
    let to = format!("matrix:{}", server.room);
    let op = |mut call: Value| -> Result<String> {
        call["to"] = to.as_str().into();
        let done = agent.send_and_wait(&call)?;
        ensure!(done["state"] == "sent", "{call}: {done}");
        Ok(text(&done["parts"][0], "platform_id").to_owned())
    };
    let seen = |path: &str| server.synapse.call("GET", path, Some(&server.anna.access_token), None);
    let event = |id: &str| -> Result<Value> { Ok(seen(&format!("v3/rooms/{}/event/{id}", server.room))?.1) };

    let message = op(json!({"message": "The **first** word."}))?;
    let reaction = op(json!({"action": "react", "messageId": message, "emoji": "👍"}))?;
    ensure!(event(&reaction)?["content"]["m.relates_to"]["key"] == "👍", "{}", event(&reaction)?);
    op(json!({"action": "react", "messageId": message, "emoji": "👍", "remove": true}))?;
    ensure!(event(&reaction)?["content"] == json!({}), "the reaction is still there: {}", event(&reaction)?);

    let reply = op(json!({"message": "Said *who*?", "replyTo": message}))?;
    let reply = event(&reply)?;
    ensure!(reply["content"]["m.relates_to"] == json!({"m.in_reply_to": {"event_id": message}}), "{reply}");
    ensure!(text(&reply["content"], "formatted_body").contains("Said <em>who</em>?"), "{reply}");
    let quiet = event(&op(json!({"message": "Nobody wakes up.", "silent": true}))?)?;
    ensure!(quiet["content"]["msgtype"] == "m.notice" && reply["content"]["msgtype"] == "m.text", "{quiet}");

    op(json!({"action": "edit", "messageId": message, "message": "The *last* word."}))?;
    let shown = event(&message)?;
    let newest = &shown["unsigned"]["m.relations"]["m.replace"]["content"]["m.new_content"];
    ensure!(newest["body"] == "The last word.", "{shown}");

    let pinned =
        || Ok::<_, anyhow::Error>(seen(&format!("v3/rooms/{}/state/m.room.pinned_events", server.room))?.1);
    op(json!({"action": "pin", "messageId": message}))?;
    ensure!(pinned()?["pinned"] == json!([message]), "{}", pinned()?);
    op(json!({"action": "unpin", "messageId": message}))?;
    ensure!(pinned()?["pinned"] == json!([]), "{}", pinned()?);

    let poll = op(json!({"action": "poll", "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]}))?;
    let poll = event(&poll)?;
    ensure!(poll["type"] == "org.matrix.msc3381.poll.start", "{poll}");
    let thread = op(json!({"action": "thread", "threadName": "Plans"}))?;
    let inside = op(json!({"action": "thread-reply", "threadId": thread, "message": "First."}))?;
    ensure!(event(&inside)?["content"]["m.relates_to"]["event_id"] == thread.as_str(), "{}", event(&inside)?);
    op(json!({"action": "delete", "messageId": message}))?;
    ensure!(event(&message)?["content"] == json!({}), "{}", event(&message)?);

    let presence =
        json!({"action": "setPresence", "channel": "matrix", "status": "away", "statusText": "Asleep"});
    ensure!(agent.send_and_wait(&presence)?["state"] == "sent", "its own status");
    let timeout = json!({"to": to, "action": "timeout", "userId": server.anna.user_id, "durationMinutes": 5});
    let refused = agent.post("/v1/messages", &timeout)?;
    ensure!(
        refused.body["reason"] == "not_supported" && text(&refused.body, "hint").contains("kick"),
        "{refused:?}"
    );
    op(json!({"action": "kick", "userId": server.anna.user_id, "reason": "for a test"}))?;
    let (status, _) = seen(&format!("v3/rooms/{}/event/{thread}", server.room))?;
    ensure!(status == 200 || status == 403, "{status}");
    let (_, joined) = seen("v3/joined_rooms")?;
    ensure!(joined["joined_rooms"] == json!([]), "she is still there: {joined}");

    // Who was put out may be asked in again, and who is banned may not.
    server.synapse.invite(&server.bot.access_token, &server.room, &server.anna.user_id)?;
    server.synapse.join(&server.anna.access_token, &server.room)?;
    op(json!({"action": "ban", "userId": server.anna.user_id, "reason": "for a test"}))?;
    let membership = format!("v3/rooms/{}/state/m.room.member/{}", server.room, server.anna.user_id);
    let (_, member) = server.synapse.call("GET", &membership, Some(&server.bot.access_token), None)?;
    ensure!(member["membership"] == "ban" && member["reason"] == "for a test", "{member}");
    let again = server.synapse.invite(&server.bot.access_token, &server.room, &server.anna.user_id);
    ensure!(again.is_err(), "she may come in again");
    fixture.stop().await;
    Ok(())
}

#[test]
fn a_room_that_is_encrypted_is_refused_and_gets_nothing_in_plain_text() -> Result<()> {
    let server = Fixture::build()?;
    let mut hub = SpawnedHub::start(&agents_on("matrix", &server.channel("token")))?;
    let agent = hub.agent("courier")?;
    let call = json!({"to": format!("matrix:{}", server.room), "message": "The door code is 4711."});
    server.synapse.encrypt(&server.bot.access_token, &server.room)?;
    let failed = agent.send_and_wait(&call)?;
    ensure!(failed["state"] == "failed", "{failed}");
    let why = text(&failed, "error");
    ensure!(why.contains("is encrypted") && why.contains("use a room without encryption"), "{why}");
    ensure!(server.messages()?.is_empty(), "{:?}", server.messages()?);
    hub.terminate()
}
