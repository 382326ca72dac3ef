//! The main job on Teams: a bot at Microsoft's own Agents Playground, a workflow's webhook, and every card read by the
//! parser of Adaptive Cards.
//!
//! Installed by `tests/run --setup-only`: Agents Playground, the parser of Adaptive Cards.

use gatepost::channels::envelope::Envelope;
use std::fs;

use anyhow::{Context as _, Result, anyhow, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost::{
    channels::{Failure, OutgoingPart, PartKey, RateHints, teams::receive},
    message::{
        new_part_key,
        operation::{Operation, Poll},
    },
    render,
};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    adapter::{extras, opened, outgoing, request_of},
    hub::{TestHub, agents_on, client::text, eventually, secret},
    main_job,
    mocks::{
        MockServer,
        teams::{connector, microsoft, token},
    },
    peers::{Playground, cards_check},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The playground, somebody who gives tokens to all who ask, and the bot's secret as a file.
struct Fixture {
    playground: Playground,
    login: MockServer,
    secrets: TempDir,
}

impl Fixture {
    fn build() -> Result<Self> {
        let granted =
            json!({ "token_type": "Bearer", "expires_in": 3600, "access_token": "a.granted.token" });
        let secrets = tempfile::tempdir()?;
        fs::write(secrets.path().join("secret"), "hush~secret")?;
        Ok(Self { playground: Playground::start()?, login: MockServer::saying(granted)?, secrets })
    }

    fn channel(&self) -> String {
        format!(
            "[channels.teams.home]\napp_id = \"app-1\"\nsecret = \"file:{}\"\nservice_url = \"{}\"\nlogin_url = \"{}\"\n",
            self.secrets.path().join("secret").display(),
            self.playground.service_url(),
            self.login.url(),
        )
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_reaches_the_conversation_and_can_be_changed_there() -> Result<()> {
    let server = Fixture::build()?;
    let mut fixture = TestHub::start(&agents_on("teams", &server.channel())).await?;
    let agent = fixture.agent("engineer").await?;
    let to = format!("teams:{}", server.playground.personal());
    let held = agent
        .send(&json!({"to": to, "message": "The **oven** is still on, see <https://hub.test/oven>."}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    ensure!(parts.len() == 1, "{sent}");
    let id = text(&sent["parts"][0], "platform_id").to_owned();
    ensure!(!id.is_empty() && !id.starts_with("accepted"), "{sent}");

    // It is there: what is there can be changed, and nothing else.
    let (_folder, adapter) = opened("teams", &server.channel())?;
    let key = || PartKey(new_part_key());
    let edit = |message: &str| {
        request_of(&*adapter, server.playground.personal(), &Operation::Edit { message: message.into() })
    };
    for _ in 0..2 {
        ensure!(adapter.read(&edit(&id)?).deliver(&key(), &mut RateHints::default()).await?.id == id);
    }
    let nowhere = adapter.read(&edit("1234")?).deliver(&key(), &mut RateHints::default()).await;
    ensure!(matches!(nowhere, Err(Failure::Permanent(_))), "{nowhere:?}");

    let held = agent.send(&json!({"to": to, "message": "The door code is 4711."}))?;
    fixture.decide(Verdict::Deny).await?;
    agent.ended(text(&held, "id"), "denied")?;

    // A long one, an answer, and a picture.
    let courier = fixture.agent("courier").await?;
    let to = format!("teams:{}", server.playground.group());
    let long: String = (1..=400).map(|n| format!("- line number {n} of a long report\n")).collect();
    let sent = courier.send_and_wait(&json!({"to": to, "message": long}))?;
    ensure!(
        sent["state"] == "sent" && sent["parts"].as_array().is_some_and(|parts| parts.len() > 2),
        "{sent}"
    );
    let first = text(&sent["parts"][0], "platform_id").to_owned();
    let sent = courier.send_and_wait(&json!({"to": to, "message": "Read it.", "replyTo": first}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    // A PNG of one pixel.
    let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let sent =
        courier.send_and_wait(&json!({"to": to, "attachments": [{"base64": pixel, "name": "a.png"}]}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    // Any other file is offered to one person; a group has no such thing, which is said before anybody is asked.
    let letter = |to: &str| json!({"to": to, "attachments": [{"base64": "aGVsbG8=", "name": "a.txt"}]});
    let offered = courier.send_and_wait(&letter(&to))?;
    ensure!(text(&offered["parts"][0], "reason").contains("once its reader accepts it"), "{offered}");
    for asks in [&courier, &agent] {
        let refused = asks.post("/v1/messages", &letter("teams:19:abc@thread.tacv2"))?;
        ensure!(refused.body["state"] == "failed" || refused.status == 400, "{refused:?}");
        ensure!(refused.body.to_string().contains("send a link"), "{refused:?}");
    }

    let failed = courier.send_and_wait(&json!({"to": "teams:19:nobody@thread.tacv2", "message": "Hello"}))?;
    ensure!(failed["state"] == "failed" && text(&failed, "error").contains("service_url"), "{failed}");
    let refused = courier.post("/v1/messages", &json!({"to": "teams:general", "message": "Hello"}))?;
    ensure!(
        refused.status == 400 && text(&refused.body, "hint").contains("conversation's id"),
        "{refused:?}"
    );
    ensure!(server.login.heard().len() <= 2, "a token is asked for once an account");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_reaches_the_workflow_once_and_its_secret_nobody() -> Result<()> {
    let workflow = MockServer::saying(json!({}))?;
    let secrets = tempfile::tempdir()?;
    let address = format!("{}/workflows/1/invoke?api-version=1&sig=hush-sig", workflow.url());
    let channel =
        format!("[channels.teams.home]\nwebhook = {}\n", secret(secrets.path(), "webhook", &address)?);
    let mut fixture = TestHub::start(&agents_on("teams", &channel)).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "teams:webhook", "message": "The **oven** is on."}))?;
    ensure!(held["state"] == "held" && workflow.heard().is_empty(), "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let took = workflow.heard();
    ensure!(took.len() == 1 && parts.len() == 1, "{took:?}");
    let (request, body) = (&took[0], took[0].json());
    let wire: Value = Envelope::read(&parts[0].request)?.request;
    ensure!(request.method == "POST" && request.path == "/workflows/1/invoke", "{request:?}");
    ensure!(request.query == "api-version=1&sig=hush-sig" && body == wire["message"], "{request:?}");
    let card = &body["attachments"][0]["content"];
    ensure!(text(&card["body"][0], "text").contains("**oven**"), "{card}");
    ensure!(cards_check(std::slice::from_ref(card))? == [Vec::<String>::new()]);
    ensure!(!sent.to_string().contains("hush") && !wire.to_string().contains("hush"));
    let refused =
        agent.post("/v1/messages", &json!({"to": "teams:19:abc@thread.tacv2", "message": "Hello"}))?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("teams:webhook"), "{refused:?}");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_approved_is_called_by_the_bot_in_a_text_and_in_a_card_and_by_a_workflow() -> Result<()> {
    let (server, secrets) = (microsoft(&connector()?)?, tempfile::tempdir()?);
    let (url, bot) = (server.url(), secret(secrets.path(), "secret", "hush~secret")?);
    let account = format!(
        "[channels.teams.home]\napp_id = \"app-1\"\ntenant = \"my-tenant\"\nsecret = {bot}\n\
         service_url = \"{url}/teams\"\nlogin_url = \"{url}\"\n"
    );
    let mut fixture = TestHub::start(&agents_on("teams", &account)).await?;
    let agent = fixture.agent("engineer").await?;
    let to = "teams:19:abc@thread.tacv2#1700000000000";
    let words = "**[Ann *Lee*](mention:29:1abc-_0)**, the oven! <at>Bob</at> @everyone";
    let held = agent.send(&json!({"to": to, "message": words}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    ensure!(seen.pages.concat().contains("[notifies] 29:1abc-_0"), "{seen:?}");
    let sent = agent.ended(text(&held, "id"), "sent")?;
    main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let last = || server.heard().pop().map(|request| request.json()).unwrap_or_default();
    ensure!(text(&last(), "text").contains(" **<at>Ann Lee</at>**, the oven! &lt;at&gt;Bob"), "{}", last());
    let entity = |name: &str, id: &str| json!([{"type": "mention", "text": format!("<at>{name}</at>"), "mentioned": {"id": id, "name": name}}]);
    ensure!(last()["entities"] == entity("Ann Lee", "29:1abc-_0"), "{}", last());
    let courier = fixture.agent("courier").await?;
    let edit = json!({
        "action": "edit", "to": to, "messageId": text(&sent["parts"][0], "platform_id"),
        "message": "[Bob](mention:bob@example.org)!",
    });
    let edited = courier.send_and_wait(&edit)?;
    ensure!(edited["state"] == "sent" && last()["entities"] == entity("Bob", "bob@example.org"), "{edited}");
    let asks = json!({
        "to": to, "message": "[Ann](mention:29:1)?", "buttons": [[{"text": "Yes", "callback_data": "y"}]],
    });
    let asked = courier.send_and_wait(&asks)?;
    let card = last()["attachments"][0]["content"].clone();
    ensure!(asked["state"] == "sent" && card["msteams"]["entities"] == entity("Ann", "29:1"), "{card}");
    // What Teams adds to the schema its parser does not know.
    let mut card = card;
    card.as_object_mut().context("a card")?.remove("msteams");
    let against = cards_check(std::slice::from_ref(&card))?;
    ensure!(against == [Vec::<String>::new()], "{against:?} against {card}");

    let workflow = MockServer::saying(json!({}))?;
    let address = format!("{}/workflows/1/invoke?api-version=1&sig=hush-sig", workflow.url());
    let channel =
        format!("[channels.teams.home]\nwebhook = {}\n", secret(secrets.path(), "webhook", &address)?);
    let mut fixture = TestHub::start(&agents_on("teams", &channel)).await?;
    let courier = fixture.agent("courier").await?;
    let call = |id: &str| json!({"to": "teams:webhook", "message": format!("[Ann](mention:{id})!")});
    let sent = courier.send_and_wait(&call("0de69e5e-2da8-4cf2-821f-5e6585b2c65b"))?;
    let card = workflow.heard().pop().context("a card")?.json()["attachments"][0]["content"].clone();
    ensure!(sent["state"] == "sent" && text(&card["body"][0], "text").ends_with("<at>Ann</at>!"), "{card}");
    ensure!(card["msteams"]["entities"] == entity("Ann", "0de69e5e-2da8-4cf2-821f-5e6585b2c65b"), "{card}");
    let refused = courier.post("/v1/messages", &call("29:1abc"))?;
    ensure!(refused.body["reason"] == "bad_mention", "{refused:?}");
    Ok(())
}

/// A card with something of everything.
fn card() -> Value {
    json!({
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            { "type": "TextBlock", "text": "x".repeat(5_000), "wrap": true },
            { "type": "FactSet", "facts": [{ "title": "Oven", "value": "off" }] },
            { "type": "ColumnSet", "columns": [
                { "type": "Column", "width": "auto", "items": [{ "type": "Image", "url": "https://a.test/i.png" }] },
            ] },
            { "type": "Input.Text", "id": "why", "placeholder": "Why?" },
        ],
        "actions": [{ "type": "Action.Submit", "title": "Send", "data": { "x": 1 } }],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parser_of_adaptive_cards_takes_every_card_that_we_make_and_so_does_the_connector() -> Result<()>
{
    let server = Fixture::build()?;
    let (_folder, adapter) = opened("teams", &server.channel())?;
    let personal = server.playground.personal();
    let all = extras(&*adapter, card())?;
    let check = adapter.capabilities().cards.context("cards")?.check;
    ensure!((check)(all.card.as_ref().context("a card")?) == Ok(()));
    let mut wires = Vec::new();
    let long = "A word, *another* and a [link](https://a.test/x). ".repeat(200);
    for part in render::render(&render::parse(&long), &adapter.flavour())? {
        let outgoing = OutgoingPart { headline: "A word", extras: &all, ..outgoing(personal, &part) };
        wires.push(adapter.plan(&outgoing)?.request);
    }
    let rules = adapter.capabilities().polls.context("polls")?;
    for multiple in [false, true] {
        let poll = Poll {
            question: "q".repeat(rules.question),
            options: (0..rules.options).map(|_| "o".repeat(rules.option)).collect(),
            multiple,
            seconds: None,
            anonymous: None,
        };
        wires.push(request_of(&*adapter, personal, &Operation::Poll(poll))?);
    }
    let cards: Vec<Value> =
        wires.iter().map(|wire| wire["activity"]["attachments"][0]["content"].clone()).collect();
    ensure!(cards.len() > 3);
    for (card, against) in cards.iter().zip(cards_check(&cards)?) {
        ensure!(against.is_empty(), "{against:?} against {card}");
    }
    for wire in &wires {
        let id = adapter.read(wire).deliver(&PartKey(new_part_key()), &mut RateHints::default()).await?.id;
        ensure!(!id.starts_with("accepted"), "one message each: {wire}");
    }

    // The parser can say no, and what it refuses we refuse before it.
    let card = |body: Value| json!({ "type": "AdaptiveCard", "version": "1.4", "body": body });
    let bad = [
        card(json!([{ "type": "Video", "url": "https://a.test/" }])),
        card(json!([{ "type": "Input.ChoiceSet" }])),
        card(json!([{ "type": "Container", "items": [{ "type": "Nothing" }] }])),
        card(json!([{ "type": "ActionSet", "actions": [{ "type": "Action.Dance" }] }])),
    ];
    for (card, against) in bad.iter().zip(cards_check(&bad)?) {
        ensure!(!against.is_empty() && check(card).is_err(), "{card}: {against:?}, {:?}", check(card));
    }
    Ok(())
}

/// The playground signs nothing, so a hub believes none of it; what it tells is read as Teams' own words are.
#[test]
fn what_the_playground_tells_a_bot_is_read() -> Result<()> {
    let playground = Playground::start()?;
    let read = |activity: &Value| receive::read(activity.to_string().as_bytes(), "app-1");
    for (kind, happened) in
        [("install", "join"), ("uninstall", "leave"), ("userAdded", "join"), ("userRemoved", "leave")]
    {
        let told = playground.tells(kind, playground.group())?;
        let all = read(&told).map_err(|dropped| anyhow!("{dropped:?}: {told}"))?;
        ensure!(all.iter().all(|one| one.event.word() == happened), "{kind}: {told}");
        ensure!(all[0].conversation.address == playground.group() && !all[0].conversation.direct, "{told}");
    }
    // That the bot itself was added is told twice; the installation counts.
    let told = playground.tells("botAdded", playground.group())?;
    ensure!(read(&told).is_err(), "{told}");
    let mut said = playground.tells("install", playground.personal())?;
    (said["type"], said["text"], said["textFormat"]) = ("message".into(), "Hello".into(), "plain".into());
    let all = read(&said).map_err(|dropped| anyhow!("{dropped:?}: {said}"))?;
    ensure!(
        all[0].event.words().is_some_and(|words| words.text == "Hello") && all[0].conversation.direct,
        "{said}"
    );
    ensure!(all[0].author.same_as.len() == 1 && all[0].said_at.is_some(), "{said}");
    Ok(())
}

/// What Teams tells the bot when Ann has answered to an offer.
fn answered(server: &MockServer, action: &str, context: &Value) -> Value {
    let mut value = json!({"type": "fileUpload", "action": action, "context": context});
    if action == "accept" {
        value["uploadInfo"] = json!({
            "uploadUrl": format!("{}/drive?token=hush", server.url()), "contentUrl": "https://c.sharepoint.com/plan.pdf",
            "name": "plan.pdf", "uniqueId": "u-1", "fileType": "pdf",
        });
    }
    json!({
        "type": "invoke", "name": "fileConsent/invoke", "id": format!("f:{action}"), "channelId": "msteams",
        "serviceUrl": "https://smba.test/teams/", "conversation": {"id": "a:1abcdef"},
        "from": {"id": "29:1", "name": "Ann"}, "value": value,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_document_is_handed_over_to_who_accepts_it_and_nobody_else_can_have_it_sent() -> Result<()>
{
    const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n";
    let pair = connector()?;
    let (server, secrets) = (microsoft(&pair)?, tempfile::tempdir()?);
    let (url, secret) = (server.url(), secret(secrets.path(), "secret", "hush~secret")?);
    let account = format!(
        "[channels.teams.home]\napp_id = \"app-1\"\ntenant = \"my-tenant\"\nsecret = {secret}\n\
         service_url = \"{url}/teams\"\nlogin_url = \"{url}\"\nopenid_url = \"{url}/openid\"\n"
    );
    let mut fixture = TestHub::start(&agents_on("teams", &account)).await?;
    fixture.approve_unseen_files();
    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    let file = |name: &str| json!([{"base64": STANDARD.encode(PDF), "name": name, "caption": "The *plan*"}]);
    let group = json!({"to": "teams:19:abc@thread.tacv2", "attachments": file("plan.pdf")});
    let held = agent.post("/v1/messages", &group)?;
    ensure!(held.body.to_string().contains("send a link"), "{held:?}");

    let held = agent
        .send(&json!({"to": "teams:a:1abcdef", "message": "Here it is.", "attachments": file("plan.pdf")}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    ensure!(parts.len() == 2 && parts[1].shown.contains("plan.pdf"), "{}", parts.len());
    ensure!(text(&sent["parts"][1], "reason").contains("once its reader accepts it"), "{sent}");
    let offered = server.heard().pop().context("an offer")?.json();
    let context = &offered["attachments"][0]["content"]["acceptContext"];
    ensure!(offered["attachments"][0]["content"]["description"] == "The plan", "{offered}");

    // Nobody else's word has the file sent.
    let before = server.heard().len();
    let activity = answered(&server, "accept", context);
    let port = "/v1/platform/teams/home";
    for token in [None, Some("a.b.c".to_owned()), Some(token(&pair, "app-2", "https://smba.test/teams/")?)] {
        let refused = fixture.anybody(token.as_deref())?.post(port, &activity)?;
        ensure!(refused.status == 401, "{refused:?}");
    }
    let connector = fixture.anybody(Some(&token(&pair, "app-1", "https://smba.test/teams/")?))?;
    ensure!(connector.post("/v1/platform/teams/nobody", &activity)?.status == 401);
    let asked = server.heard().len();
    ensure!(
        server.heard()[before..].iter().all(|request| request.method == "GET"),
        "only keys were asked for"
    );

    for _ in 0..2 {
        let taken = connector.post(port, &activity)?;
        ensure!(taken.status == 200, "{taken:?}");
    }
    let notice = eventually("the agent is told", || {
        let inbox = agent.get("/v1/inbox")?.taken()?;
        let notices = inbox["notices"].as_array().cloned().unwrap_or_default();
        Ok(notices.into_iter().find(|notice| notice["entry"]["values"]["answer"] == "accepted"))
    })?;
    ensure!(
        notice["entry"]["values"]["file"] == "handed over" && notice["entry"]["name"] == "Ann",
        "{notice}"
    );
    ensure!(notice["receipt"]["id"] == sent["id"], "{notice}");
    let handed: Vec<_> =
        server.heard()[asked..].iter().filter(|request| request.method != "GET").cloned().collect();
    ensure!(handed.len() == 2 && handed[0].method == "PUT" && handed[0].body == PDF, "{}", handed.len());
    ensure!(handed[1].json()["attachments"][0]["content"]["uniqueId"] == "u-1");

    let held = agent.send(&json!({"to": "teams:a:1abcdef", "attachments": file("other.pdf")}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    let offered = server.heard().pop().context("an offer")?.json();
    let context = &offered["attachments"][0]["content"]["declineContext"];
    ensure!(connector.post(port, &answered(&server, "decline", context))?.status == 200);
    eventually("the agent is told of the no", || {
        let inbox = agent.get("/v1/inbox")?.taken()?;
        Ok(inbox["notices"].as_array().and_then(|notices| {
            notices.iter().find(|notice| notice["entry"]["values"]["answer"] == "declined").cloned()
        }))
    })?;
    ensure!(server.heard().iter().filter(|request| request.method == "PUT").count() == 1);
    fixture.audit_is_whole().await
}
