//! Every request that becomes a message on Google Chat, read by Google's own library; and one through a whole hub.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use gatepost::{
    channels::{Act, Adapter, Letter},
    config::Config,
    hub::open_accounts,
    message::deed::{Button, Deed, Extras, Poll, Press},
    render,
    store::Store,
};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    doubles::Desk,
    hub::{TestHub, client::text},
    main_job,
    peers::judge,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const KEY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../daemon/src/channels/googlechat/testdata/service-account.json");

fn app() -> Result<(TempDir, Arc<dyn Adapter>)> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(folder.path())?;
    let config =
        Config::parse(&format!("[channels.googlechat.home]\nkey = \"file:{KEY}\"\n"), Path::new("test"))?;
    let accounts = open_accounts(&config, &store)?;
    let adapter = accounts.pick("googlechat", None)?.1.clone();
    Ok((folder, adapter))
}

/// What goes with a text, at its bounds.
fn extras(adapter: &dyn Adapter) -> Result<Extras> {
    let rules = adapter.capabilities().buttons.context("buttons")?;
    let button = |n: usize| Button {
        text: "x".repeat(rules.text),
        press: if n.is_multiple_of(2) {
            Press::Data("d".repeat(rules.data))
        } else {
            Press::Url("https://a.test/".into())
        },
    };
    let card = json!({
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
    });
    Ok(Extras {
        buttons: (0..rules.in_all / rules.per_row)
            .map(|_| (0..rules.per_row).map(button).collect())
            .collect(),
        card: Some(card),
        ..Extras::default()
    })
}

#[tokio::test]
async fn googles_own_library_reads_every_message_that_we_make() -> Result<()> {
    let (_folder, adapter) = app()?;
    let all = extras(&*adapter)?;
    let check = adapter.capabilities().cards.context("cards")?.check;
    ensure!(check(all.card.as_ref().context("a card")?).is_ok());
    let long = "A word, *another* and a [link](https://a.test/x). ".repeat(700);
    let mut wires = Vec::new();
    for part in render::render(&render::parse(&long), &adapter.flavour())? {
        let letter = |thread, extras| Letter {
            address: "spaces/AAAA",
            thread,
            reply_to: None,
            silent: false,
            headline: "A word",
            part: &part,
            files: &[],
            extras,
            index: 0,
            of: 1,
        };
        wires.push(adapter.compose(&letter(None, &all)));
        wires.push(adapter.compose(&letter(Some("spaces/AAAA/threads/T"), Extras::NONE)));
        wires.push(adapter.compose(&letter(Some("tea"), Extras::NONE)));
    }
    let rules = adapter.capabilities().polls.context("polls")?;
    let part = render::render(&render::parse("**New**"), &adapter.flavour())?.remove(0);
    for deed in [
        Deed::Poll(Poll {
            question: "q".repeat(rules.question),
            options: (0..rules.options).map(|_| "o".repeat(rules.option)).collect(),
            multiple: true,
            seconds: None,
            anonymous: None,
        }),
        Deed::Thread { name: "Plans".into(), message: None },
        Deed::Edit { message: "spaces/AAAA/messages/M".into() },
    ] {
        let act = Act {
            address: "spaces/AAAA",
            thread: None,
            reply_to: None,
            silent: false,
            deed: &deed,
            part: Some(&part),
        };
        wires.push(adapter.act(&act).context("it can do that")?);
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
    let google = Desk::saying(said)?;
    let secrets = tempfile::tempdir()?;
    let address = format!("{}/v1/spaces/AAAA/messages?key=hush1&token=hush2", google.url());
    std::fs::write(secrets.path().join("webhook"), address)?;
    let mut house = TestHub::start(&format!(
        "[agents.engineer]\nallow = [\"googlechat:*\"]\n[approval]\nallow_software_companion = true\n\
         [channels.googlechat.home]\nwebhook = \"file:{}\"\n",
        secrets.path().join("webhook").display()
    ))
    .await?;
    let agent = house.agent("engineer").await?;
    let held = agent
        .send(&json!({"to": "googlechat:spaces/AAAA#tea", "message": "The **oven** is on, <users/all>."}))?;
    let seen = house.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&house, text(&sent, "id"), &seen)?;
    let took = google.heard();
    ensure!(took.len() == 1 && parts.len() == 1, "{took:?}");
    let body = took[0].json();
    let wire: Value = serde_json::from_str(&parts[0].wire)?;
    ensure!(body == wire["message"] && body["thread"]["threadKey"] == "tea", "{body}");
    ensure!(took[0].query.contains("&messageReplyOption=REPLY_MESSAGE_OR_FAIL"), "{:?}", took[0]);
    ensure!(text(&body, "text").contains("*oven*") && !text(&body, "text").contains("<users/all>"), "{body}");
    ensure!(sent["parts"][0]["platform_id"] == "spaces/AAAA/messages/M", "{sent}");
    ensure!(!sent.to_string().contains("hush") && !wire.to_string().contains("hush"));

    let refused = agent.post("/v1/messages", &json!({"to": "googlechat:spaces/BBBB", "message": "Hello"}))?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("own space"), "{refused:?}");
    house.audit_is_whole().await
}
