//! Every request that becomes a message on Google Chat, read by Google's own library; and one through a whole hub.
//!
//! Installed by `tests/run --setup-only`: Google's library.

use gatepost::channels::envelope::Envelope;

use anyhow::{Context as _, Result, ensure};
use gatepost::{
    channels::OutgoingPart,
    message::operation::{Extras, Operation, Poll},
    render,
};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    adapter::{extras, opened, outgoing, request_of},
    hub::{SpawnedHub, TestHub, agents_on, client::text, secret},
    main_job,
    mocks::{Answer, MockServer, googlechat},
    peers::judge,
};
use serde_json::{Value, json};

const KEY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../daemon/src/channels/googlechat/testdata/service-account.json");

/// A card with something of everything.
fn card() -> Value {
    json!({
        "header": { "title": "Report", "subtitle": "June" },
        "sections": [{
            "header": "Numbers",
            "widgets": [
                { "textParagraph": { "text": "x".repeat(4_000) } },
                { "decoratedText": { "topLabel": "Oven", "text": "off", "startIcon": { "knownIcon": "STAR" } } },
                { "image": { "imageUrl": "https://a.test/i.png", "altText": "i" } },
                { "divider": {} },
            ],
        }],
    })
}

#[tokio::test]
async fn googles_own_library_reads_every_message_that_we_make() -> Result<()> {
    let (_folder, adapter) =
        opened("googlechat", &format!("[channels.googlechat.home]\nkey = \"file:{KEY}\"\n"))?;
    let all = extras(&*adapter, card())?;
    let check = adapter.capabilities().cards.context("cards")?.check;
    ensure!(check(all.card.as_ref().context("a card")?).is_ok());
    let long = "A word, *another* and a [link](https://a.test/x). ".repeat(700);
    let mut wires = Vec::new();
    for part in render::render(&render::parse(&long), &adapter.flavour())? {
        let outgoing = |thread, extras| OutgoingPart {
            thread,
            headline: "A word",
            extras,
            ..outgoing("spaces/AAAA", &part)
        };
        wires.push(adapter.plan(&outgoing(None, &all))?.request);
        wires.push(adapter.plan(&outgoing(Some("spaces/AAAA/threads/T"), Extras::NONE))?.request);
        wires.push(adapter.plan(&outgoing(Some("tea"), Extras::NONE))?.request);
    }
    let rules = adapter.capabilities().polls.context("polls")?;
    for operation in [
        Operation::Poll(Poll {
            question: "q".repeat(rules.question),
            options: (0..rules.options).map(|_| "o".repeat(rules.option)).collect(),
            multiple: true,
            seconds: None,
            anonymous: None,
        }),
        Operation::Thread { name: "Plans".into(), message: None },
        Operation::Edit { message: "spaces/AAAA/messages/M".into() },
    ] {
        wires.push(request_of(&*adapter, "spaces/AAAA", &operation)?);
    }
    let lines = |messages: &[Value]| -> Vec<Value> {
        messages
            .iter()
            .enumerate()
            .map(|(index, message)| json!({ "index": index, "message": message }))
            .collect()
    };
    let messages: Vec<Value> = wires.iter().map(|wire| wire["message"].clone()).collect();
    ensure!(messages.len() >= 12);
    let verdict = judge("googlechat-messages", &lines(&messages))?;
    ensure!(verdict.against.is_empty(), "{:#?}", verdict.against);

    // It can say no.
    let bad = [
        json!({ "text": "x", "blocks": [] }),
        json!({ "cardsV2": [{ "cardId": "a", "card": { "sections": [{ "widgets": [{ "button": {} }] }] } }] }),
        json!({ "text": "x".repeat(32_000) }),
        json!({}),
    ];
    let verdict = judge("googlechat-messages", &lines(&bad))?;
    for index in 0..bad.len() {
        ensure!(verdict.against.iter().any(|why| why.starts_with(&format!("part {index}:"))), "{verdict:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_reaches_the_webhook_once_and_its_secret_nobody() -> Result<()> {
    let said = json!({ "name": "spaces/AAAA/messages/M", "thread": { "name": "spaces/AAAA/threads/T" } });
    let google = MockServer::saying(said)?;
    let secrets = tempfile::tempdir()?;
    let address = format!("{}/v1/spaces/AAAA/messages?key=hush1&token=hush2", google.url());
    let channel =
        format!("[channels.googlechat.home]\nwebhook = {}\n", secret(secrets.path(), "webhook", &address)?);
    let mut fixture = TestHub::start(&agents_on("googlechat", &channel)).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent
        .send(&json!({"to": "googlechat:spaces/AAAA#tea", "message": "The **oven** is on, <users/all>."}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let took = google.heard();
    ensure!(took.len() == 1 && parts.len() == 1, "{took:?}");
    let body = took[0].json();
    let wire: Value = Envelope::read(&parts[0].request)?.request;
    ensure!(body == wire["message"] && body["thread"]["threadKey"] == "tea", "{body}");
    ensure!(took[0].query.contains("&messageReplyOption=REPLY_MESSAGE_OR_FAIL"), "{:?}", took[0]);
    ensure!(text(&body, "text").contains("*oven*") && !text(&body, "text").contains("<users/all>"), "{body}");
    ensure!(sent["parts"][0]["platform_id"] == "spaces/AAAA/messages/M", "{sent}");
    ensure!(!sent.to_string().contains("hush") && !wire.to_string().contains("hush"));

    let refused = agent.post("/v1/messages", &json!({"to": "googlechat:spaces/BBBB", "message": "Hello"}))?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("own space"), "{refused:?}");
    fixture.audit_is_whole().await
}

/// An app by its service account, with a mock of the two that it speaks to.
#[tokio::test(flavor = "multi_thread")]
async fn all_that_an_app_can_do_in_its_space_is_done_there_and_once() -> Result<()> {
    const EMAIL: &str = "gatepost@hub-test.iam.gserviceaccount.com";
    let google = googlechat::start(EMAIL)?;
    let channel = format!(
        "[channels.googlechat.home]\nkey = \"file:{KEY}\"\nbase_url = \"{0}\"\ntoken_url = \"{0}/token\"\n",
        google.url()
    );
    let agents = "[agents.engineer]\nallow = [\"googlechat:*\"]\n[agents.courier]\nallow = [\"googlechat:*\"]\n\
        cross_context = \"allow\"\ndecorate = false\n[approval]\nallow_software_companion = true\n";
    let mut fixture = TestHub::start(&format!("{agents}{channel}")).await?;
    let to = format!("googlechat:{}", googlechat::SPACE);

    let engineer = fixture.agent("engineer").await?;
    let held = engineer.send(&json!({"to": to, "message": "The **oven** is on, <users/all>."}))?;
    ensure!(held["state"] == "held" && google.heard().is_empty(), "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = engineer.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let wire: Value = Envelope::read(&parts[0].request)?.request;
    ensure!(made(&google) == [wire["message"].clone()], "{wire}");

    let agent = fixture.agent("courier").await?;
    let op = |more: Value| -> Result<String> {
        let mut call = json!({"to": to});
        call.as_object_mut().context("an object")?.extend(more.as_object().context("an object")?.clone());
        let done = agent.send_and_wait(&call)?;
        ensure!(done["state"] == "sent", "{call}: {done}");
        Ok(text(&done["parts"][0], "platform_id").to_owned())
    };
    // Its name is the part's key, and it stands in the space.
    let first = op(json!({"message": "The first."}))?;
    ensure!(first.starts_with(&format!("{}/messages/client-", googlechat::SPACE)), "{first}");
    op(json!({"message": "An answer.", "replyTo": first}))?;
    let answer = made(&google).pop().context("an answer")?;
    ensure!(text(&answer["thread"], "name").contains("/threads/"), "{answer}");
    let thread = op(json!({"action": "thread", "threadName": "Plans", "message": "In it."}))?;
    op(json!({"message": "In it too.", "threadId": thread}))?;
    ensure!(made(&google).pop().context("it")?["thread"]["name"] == thread.as_str(), "{thread}");
    op(json!({"action": "poll", "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]}))?;
    op(json!({"message": "Go?", "buttons": [[{"text": "Yes", "callback_data": "y"}]]}))?;
    ensure!(op(json!({"action": "edit", "messageId": first, "message": "*Better*."}))? == first);
    ensure!(op(json!({"action": "delete", "messageId": first}))? == first);
    let gone =
        agent.send_and_wait(&json!({"to": to, "action": "edit", "messageId": first, "message": "?"}))?;
    ensure!(gone["state"] == "failed" && text(&gone, "error").contains("NOT_FOUND"), "{gone}");

    // A lost answer costs nothing: it goes again under the name that it would have there.
    let before = made(&google).len();
    google.next([Answer::Lost]);
    let sent = agent.send_and_wait(&json!({"to": to, "message": "Once."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let again = made(&google).split_off(before);
    ensure!(again.len() == 2 && again[0] == again[1], "{again:?}");
    let asked: Vec<String> = google
        .heard()
        .into_iter()
        .filter(|request| request.method == "POST" && request.json()["text"] == "Once.")
        .map(|request| request.query)
        .collect();
    ensure!(asked.len() == 2 && asked[0] == asked[1] && asked[0].contains("messageId=client-"), "{asked:?}");

    let elsewhere = agent.send_and_wait(&json!({"to": "googlechat:spaces/BBBB", "message": "Hello"}))?;
    ensure!(
        elsewhere["state"] == "failed" && text(&elsewhere, "error").contains("Chat app to the space"),
        "{elsewhere}"
    );
    let tokens = google.heard().iter().filter(|request| request.path == "/token").count();
    ensure!(tokens == 1, "a token is asked for once an hour, and not {tokens} times");
    ensure!(!sent.to_string().contains(googlechat::TOKEN));

    // As it is in the repository everybody can read it.
    let own = tempfile::NamedTempFile::new()?;
    std::fs::copy(KEY, own.path())?;
    let channel = channel.replace(KEY, &own.path().display().to_string());
    let ready = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel)?.cli(&["check"])?.well()?;
    ensure!(ready.contains("ready") && ready.contains(EMAIL), "{ready}");
    fixture.audit_is_whole().await
}

/// The messages that were to be made, as they came.
fn made(google: &MockServer) -> Vec<Value> {
    let heard = google.heard();
    let creates =
        heard.iter().filter(|request| request.method == "POST" && request.path.ends_with("/messages"));
    creates.map(|request| request.json()).collect()
}
