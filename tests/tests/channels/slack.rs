//! The main job on Slack, with `emulate`, read back through the Web API; its blocks with Slack's own library.
//!
//! Installed by `tests/run --setup-only`: `emulate`, Slack's library.

use gatepost::channels::envelope::Envelope;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use gatepost::{
    channels::{Attempt, Failure, OperationRequest, OutgoingPart, PartKey, RateHints, Redelivery},
    message::operation::{Button, Choice, Extras, Operation, Poll, Presence, Press, Select},
    render,
};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    adapter::{opened, outgoing, part, request_of},
    hub::{SpawnedHub, TestHub, agents_on, client::text, secret},
    main_job,
    peers::{Slack, judge},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A workspace with a channel, and the bot's token as a file.
struct Fixture {
    slack: Slack,
    kitchen: String,
    secrets: TempDir,
}

impl Fixture {
    fn build(scopes: &str) -> Result<Self> {
        let slack = Slack::start(scopes)?;
        let kitchen = slack.channel("kitchen")?;
        let secrets = tempfile::tempdir()?;
        fs::write(secrets.path().join("token"), Slack::BOT)?;
        Ok(Self { slack, kitchen, secrets })
    }

    fn channel(&self, token: &str) -> String {
        format!(
            "[channels.slack.home]\ntoken = \"file:{}\"\nbase_url = \"{}\"\n",
            self.secrets.path().join(token).display(),
            self.slack.base_url(),
        )
    }
}

fn key() -> PartKey {
    PartKey(gatepost::message::new_part_key())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_calls_the_person_whose_id_was_approved_and_nobody_else() -> Result<()> {
    let server = Fixture::build(Slack::SCOPES)?;
    let ann = server.slack.user("anna")?;
    let mut fixture = TestHub::start(&agents_on("slack", &server.channel("token"))).await?;
    let agent = fixture.agent("engineer").await?;
    let to = format!("slack:{}", server.kitchen);
    let words = format!("[Ann](mention:{ann}), the oven! <@{ann}> <!channel>");
    let held = agent.send(&json!({"to": to, "message": words}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    ensure!(seen.pages.concat().contains(&format!("[notifies] {ann}")), "{seen:?}");
    let sent = agent.ended(text(&held, "id"), "sent")?;
    main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let messages = server.slack.messages(&server.kitchen)?;
    let arrived = text(&messages[0], "text");
    ensure!(arrived.contains(&format!("<@{ann}>, the oven! &lt;@{ann}&gt; &lt;!channel&gt;")), "{arrived}");
    let refused = agent.post("/v1/messages", &json!({"to": to, "message": "[all](mention:!channel)"}))?;
    ensure!(refused.body["reason"] == "bad_mention", "{refused:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_in_the_channel_once_and_a_denied_one_does_not() -> Result<()> {
    let server = Fixture::build(Slack::SCOPES)?;
    let mut fixture = TestHub::start(&agents_on("slack", &server.channel("token"))).await?;
    let agent = fixture.agent("engineer").await?;
    let to = format!("slack:{}", server.kitchen);

    let held = agent
        .send(&json!({"to": to, "message": "The *oven* is on, <!channel> & see <https://hub.test/oven>."}))?;
    ensure!(held["state"] == "held" && server.slack.messages(&server.kitchen)?.is_empty(), "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let messages = server.slack.messages(&server.kitchen)?;
    ensure!(messages.len() == 1 && parts.len() == 1, "{messages:#?}");
    let wire: Value = Envelope::read(&parts[0].request)?.request;
    let first = &messages[0];
    ensure!(first["text"] == wire["body"]["text"], "{wire} was sent, and {first} arrived");
    ensure!(text(first, "text").contains("&lt;!channel&gt;"), "{first}");
    ensure!(first["unfurl_links"] == false && first["link_names"] == false, "{first}");
    ensure!(sent["parts"][0]["platform_id"] == first["ts"], "{sent}");

    // A long one into the thread of the first, in its order.
    let courier = fixture.agent("courier").await?;
    let thread = text(first, "ts").to_owned();
    let long: String = (1..=600).map(|n| format!("- line number {n} of a long report\n")).collect();
    let sent = courier.send_and_wait(&json!({"to": format!("{to}#{thread}"), "message": long}))?;
    let answers = server.slack.thread(&server.kitchen, &thread)?.split_off(1);
    ensure!(answers.len() > 2 && answers.len() == sent["parts"].as_array().context("parts")?.len(), "{sent}");
    let numbers: Vec<usize> = answers
        .iter()
        .flat_map(|message| text(message, "text").lines())
        .filter_map(|line| line.strip_prefix("• line number ")?.split(' ').next()?.parse().ok())
        .collect();
    ensure!(numbers == (1..=600).collect::<Vec<_>>(), "{numbers:?}");
    ensure!(server.slack.messages(&server.kitchen)?.len() == 1);

    // An answer, and one that is denied.
    let held = agent.send(&json!({"to": to, "message": "Off now.", "replyTo": thread}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    let before = server.slack.thread(&server.kitchen, &thread)?.len();
    ensure!(before == answers.len() + 2);
    let held = agent.send(&json!({"to": format!("{to}#{thread}"), "message": "The door code is 4711."}))?;
    fixture.decide(Verdict::Deny).await?;
    agent.ended(text(&held, "id"), "denied")?;
    ensure!(server.slack.thread(&server.kitchen, &thread)?.len() == before);
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_arrives_whole_with_its_caption() -> Result<()> {
    let server = Fixture::build(Slack::SCOPES)?;
    let mut fixture = TestHub::start(&agents_on("slack", &server.channel("token"))).await?;
    let agent = fixture.agent("courier").await?;
    let sent = agent.send_and_wait(&json!({
        "to": format!("slack:{}", server.kitchen),
        "message": "Two things:",
        "attachments": [{"base64": "aGVsbG8=", "name": "a b.txt", "caption": "*June*"}],
    }))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let messages = server.slack.messages(&server.kitchen)?;
    ensure!(messages.len() == 2 && messages[0]["text"] == "Two things:", "{messages:#?}");
    let (shared, file) = (&messages[1], &messages[1]["files"][0]);
    ensure!(text(shared, "text") == "_June_" && file["title"] == "a b.txt" && file["size"] == 5, "{shared}");
    ensure!(sent["parts"][1]["platform_id"] == shared["ts"], "{sent}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_done_to_a_message_is_done_once_and_seen() -> Result<()> {
    let server = Fixture::build(Slack::SCOPES)?;
    let (_folder, adapter) = opened("slack", &server.channel("token"))?;
    let kitchen = server.kitchen.as_str();
    let hello = part("Hello", &*adapter)?;
    let id = adapter
        .read(&adapter.plan(&outgoing(kitchen, &hello))?.request)
        .deliver(&key(), &mut RateHints::default())
        .await?
        .id;
    let op = |operation: Operation| request_of(&*adapter, kitchen, &operation);
    let message = || id.clone();
    let look = || -> Result<Value> { Ok(server.slack.thread(kitchen, &id)?.remove(0)) };
    let react = |remove| Operation::React { message: message(), emoji: "👍".into(), remove };

    // Twice each: what is asked for again, such as after a lost answer, changes nothing.
    for _ in 0..2 {
        ensure!(adapter.read(&op(react(false))?).deliver(&key(), &mut RateHints::default()).await?.id == id);
    }
    ensure!(look()?["reactions"][0]["name"] == "+1" && look()?["reactions"][0]["count"] == 1, "{}", look()?);
    for _ in 0..2 {
        adapter.read(&op(react(true))?).deliver(&key(), &mut RateHints::default()).await?;
    }
    ensure!(look()?["reactions"].is_null(), "{}", look()?);
    let pins = || -> Result<usize> {
        let pins = server.slack.call("pins.list", Slack::ANNA, &json!({ "channel": kitchen }))?;
        Ok(pins["items"].as_array().context("items")?.len())
    };
    for (operation, pinned) in
        [(Operation::Pin { message: message() }, 1), (Operation::Unpin { message: message() }, 0)]
    {
        let wire = op(operation)?;
        for _ in 0..2 {
            adapter.read(&wire).deliver(&key(), &mut RateHints::default()).await?;
        }
        ensure!(pins()? == pinned);
    }
    adapter
        .read(&op(Operation::Edit { message: message() })?)
        .deliver(&key(), &mut RateHints::default())
        .await?;
    ensure!(look()?["text"] == "*New*", "{}", look()?);
    adapter
        .read(&op(Operation::Presence { status: Presence::Away, text: None })?)
        .deliver(&key(), &mut RateHints::default())
        .await?;
    let poll = Poll {
        question: "Tea?".into(),
        options: vec!["Yes".into(), "No".into()],
        multiple: false,
        seconds: None,
        anonymous: None,
    };
    adapter.read(&op(Operation::Poll(poll))?).deliver(&key(), &mut RateHints::default()).await?;
    let thread = adapter
        .read(&op(Operation::Thread { name: "Plans".into(), message: None })?)
        .deliver(&key(), &mut RateHints::default())
        .await?
        .id;
    ensure!(text(&server.slack.thread(kitchen, &thread)?[0], "text").starts_with("*Plans*\n"));
    adapter
        .read(&op(Operation::Delete { message: message() })?)
        .deliver(&key(), &mut RateHints::default())
        .await?;
    ensure!(!server.slack.messages(kitchen)?.iter().any(|left| left["ts"] == id.as_str()));
    let again = adapter
        .read(&op(Operation::Delete { message: message() })?)
        .deliver(&key(), &mut RateHints::default())
        .await;
    ensure!(matches!(&again, Err(Failure::Permanent(why)) if why.contains("message_not_found")), "{again:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_does_all_of_it_by_the_one_tool() -> Result<()> {
    let server = Fixture::build(Slack::SCOPES)?;
    let mut fixture = TestHub::start(&agents_on("slack", &server.channel("token"))).await?;
    let agent = fixture.agent("courier").await?;
    let to = format!("slack:{}", server.kitchen);
    let done = |mut call: Value| -> Result<String> {
        call["to"] = json!(to);
        let sent = agent.send_and_wait(&call)?;
        ensure!(sent["state"] == "sent", "{sent}");
        Ok(text(&sent["parts"][0], "platform_id").to_owned())
    };
    let buttons = json!([[{"text": "Yes", "callback_data": "y"}, {"text": "See", "url": "https://a.test/"}]]);
    let id = done(json!({"message": "Tea?", "buttons": buttons}))?;
    let look = || -> Result<Value> { Ok(server.slack.thread(&server.kitchen, &id)?.remove(0)) };
    ensure!(look()?["blocks"][1]["elements"][1]["url"] == "https://a.test/", "{}", look()?);
    done(json!({"action": "react", "messageId": id, "emoji": ":tada:"}))?;
    ensure!(look()?["reactions"][0]["name"] == "tada", "{}", look()?);
    done(json!({"action": "edit", "messageId": id, "message": "Coffee?"}))?;
    ensure!(look()?["text"] == "Coffee?" && look()?["blocks"] == json!([]), "{}", look()?);
    done(json!({"action": "pin", "messageId": id}))?;
    done(json!({"action": "unpin", "messageId": id}))?;
    done(json!({"action": "poll", "pollQuestion": "Cake?", "pollOption": ["Yes", "No"]}))?;
    let thread = done(json!({"action": "thread", "threadName": "Plans", "message": "First"}))?;
    done(json!({"action": "thread-reply", "threadId": thread, "message": "Second"}))?;
    ensure!(server.slack.thread(&server.kitchen, &thread)?.len() == 2);
    done(json!({"action": "delete", "messageId": id}))?;
    ensure!(server.slack.thread(&server.kitchen, &id)?.is_empty());

    let refused = agent.post("/v1/messages", &json!({"action": "kick", "to": to, "userId": "U012AB3CD"}))?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("administers"), "{refused:?}");
    let card = json!({"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "<!channel>"}}]});
    let refused = agent.post("/v1/messages", &json!({"to": to, "message": "Hello", "card": card}))?;
    ensure!(refused.status == 400 && text(&refused.body, "error").contains("calls people"), "{refused:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_answer_was_lost_is_found_in_a_channel_a_thread_and_a_direct_conversation()
-> Result<()> {
    let server = Fixture::build(Slack::SCOPES)?;
    let (_folder, adapter) = opened("slack", &server.channel("token"))?;
    let hello = part("Hello", &*adapter)?;
    let anna = server.slack.user("anna")?;
    let root = adapter
        .read(&adapter.plan(&outgoing(&server.kitchen, &hello))?.request)
        .deliver(&key(), &mut RateHints::default())
        .await?
        .id;
    // More than a page's worth of others.
    for n in 0..40 {
        let other = json!({ "channel": server.kitchen, "text": format!("other {n}") });
        server.slack.call("chat.postMessage", Slack::ANNA, &other)?;
    }
    for (address, thread) in [
        (server.kitchen.as_str(), None),
        (server.kitchen.as_str(), Some(root.as_str())),
        (anna.as_str(), None),
    ] {
        let wire =
            adapter.read(&adapter.plan(&OutgoingPart { thread, ..outgoing(address, &hello) })?.request);
        ensure!(wire.redelivery() == Redelivery::Ask);
        let (lost, never) = (key(), key());
        let id = wire.deliver(&lost, &mut RateHints::default()).await?.id;
        for n in 0..20 {
            let other =
                json!({ "channel": server.kitchen, "text": format!("later {n}"), "thread_ts": thread });
            server.slack.call("chat.postMessage", Slack::ANNA, &other)?;
        }
        ensure!(
            wire.find(&Attempt::new(&lost, 0), &mut RateHints::default()).await? == Some(id),
            "{address} {thread:?}"
        );
        ensure!(
            wire.find(&Attempt::new(&never, 0), &mut RateHints::default()).await?.is_none(),
            "{address} {thread:?}"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_lacks_a_scope_is_told_which() -> Result<()> {
    let server = Fixture::build("users:read")?;
    let mut fixture = TestHub::start(&agents_on("slack", &server.channel("token"))).await?;
    let agent = fixture.agent("courier").await?;
    let failed =
        agent.send_and_wait(&json!({"to": format!("slack:{}", server.kitchen), "message": "Hello"}))?;
    ensure!(failed["state"] == "failed" && failed["code"] == "execution_failed", "{failed}");
    ensure!(text(&failed, "error").contains("the app needs chat:write"), "{failed}");
    let refused = agent.post("/v1/messages", &json!({"to": "slack:#kitchen", "message": "Hello"}))?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("id"), "{refused:?}");

    let hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &server.channel("token"))?;
    let ready = hub.cli(&["check"])?.well()?;
    ensure!(ready.contains("ready") && ready.contains("gatepost in Home"), "{ready}");
    Ok(())
}

/// What goes with a text, at its bounds.
fn extras() -> Extras {
    let button = |n: usize| Button {
        text: format!("{n:75}").replace(' ', "x"),
        press: if n.is_multiple_of(2) {
            Press::Data("d".repeat(2000))
        } else {
            Press::Url("https://a.test/".into())
        },
    };
    let choice =
        |n: usize| Choice { label: format!("choice {n}"), value: format!("{n:75}").replace(' ', "v") };
    Extras {
        buttons: (0..4).map(|_| (0..25).map(button).collect()).collect(),
        selects: vec![Select {
            id: "day".into(),
            placeholder: Some("When?".into()),
            options: (0..100).map(choice).collect(),
        }],
        card: Some(json!([
            { "type": "header", "text": { "type": "plain_text", "text": "h".repeat(150) } },
            { "type": "section", "text": { "type": "mrkdwn", "text": "s".repeat(3000) } },
            { "type": "divider" },
            { "type": "image", "image_url": "https://a.test/i.png", "alt_text": "a" },
            { "type": "context", "elements": vec![json!({ "type": "mrkdwn", "text": "c" }); 10] },
        ])),
        effect: None,
    }
}

#[tokio::test]
async fn slacks_own_models_take_every_block_that_we_make_and_refuse_what_we_refuse() -> Result<()> {
    let secrets = tempfile::tempdir()?;
    let token = secret(secrets.path(), "token", Slack::BOT)?;
    let (_folder, adapter) = opened("slack", &format!("[channels.slack.home]\ntoken = {token}\n"))?;
    let all = extras();
    let rules = adapter.capabilities().cards.context("cards")?;
    ensure!((rules.check)(all.card.as_ref().context("a card")?).is_ok());
    let mut blocks = Vec::new();
    let long =
        format!("```\n{}\n```\n\n{}", "code line\n".repeat(900), "A word and *another* one. ".repeat(300));
    for part in render::render(&render::parse(&long), &adapter.flavour())? {
        blocks.push(
            adapter.plan(&OutgoingPart { extras: &all, ..outgoing("C012AB3CD", &part) })?.request["body"]["blocks"]
                .clone(),
        );
    }
    let poll = Poll {
        question: "q".repeat(3000),
        options: (0..25).map(|n| format!("{n:75}").replace(' ', "o")).collect(),
        multiple: true,
        seconds: None,
        anonymous: None,
    };
    let operation = Operation::Poll(poll);
    let op = OperationRequest {
        address: "C012AB3CD",
        thread: None,
        reply_to: None,
        silent: false,
        operation: &operation,
        part: None,
    };
    blocks.push(adapter.plan_operation(&op, None).context("a poll")??.request["body"]["blocks"].clone());
    let numbered = |blocks: &[Value]| -> Vec<Value> {
        blocks.iter().enumerate().map(|(index, blocks)| json!({ "index": index, "blocks": blocks })).collect()
    };
    ensure!(blocks.len() > 3 && blocks.iter().all(Value::is_array));
    let verdict = judge("slack-blocks", &numbered(&blocks))?;
    ensure!(verdict.against.is_empty(), "{:#?}", verdict.against);

    // Whoever judges can say no, and so do we before it.
    let bad = [
        json!([{ "type": "section", "text": { "type": "mrkdwn", "text": "s".repeat(3001) } }]),
        json!([{ "type": "header", "text": { "type": "plain_text", "text": "h".repeat(151) } }]),
        json!([{ "type": "actions", "elements": vec![json!({ "type": "button", "action_id": "a", "text": { "type": "plain_text", "text": "B" } }); 26] }]),
        json!([{ "type": "image", "image_url": format!("https://a.test/{}", "i".repeat(3000)), "alt_text": "a" }]),
        json!(vec![json!({ "type": "divider" }); 51]),
    ];
    let verdict = judge("slack-blocks", &numbered(&bad))?;
    for (index, card) in bad.iter().enumerate() {
        ensure!((rules.check)(card).is_err(), "{card}");
        ensure!(
            verdict.against.iter().any(|why| why.starts_with(&format!("part {index}:"))),
            "{index}: {:?}",
            verdict.against
        );
    }
    Ok(())
}
