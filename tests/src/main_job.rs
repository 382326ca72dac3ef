//! The main job: an agent's message waits for a button, then arrives; or does not.
//!
//! One scenario for every broker. What the person saw is compared with what arrived by way of the stored rows: screen,
//! approval document, stored request, inbox.

use gatepost::channels::envelope::Envelope;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use gatepost_desktop::person::Seen;
use gatepost_link::{Digest, decision::Verdict, document::Document};
use serde_json::{Value, json};

use crate::hub::{
    TestHub,
    client::text,
    database::{self, Part},
};

/// One agent, the hub's own inbox, and parts small enough that a report has several.
pub const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]

[approval]
allow_software_companion = true

[channels.local.home]
limit = 800
"#;

/// Lines of code in [`report`].
pub const CODE_LINES: usize = 60;

/// What a model writes: a heading, a link, a table, a list and a long block of code.
pub fn report() -> String {
    let mut report = String::from(
        "# Nightly report\n\nAll **three** jobs ran, see the [dashboard](https://hub.test/jobs?night=1).\n\n\
         | Job | Result |\n|---|---|\n| backup | ok |\n| photos | ok |\n| mail index | 2 warnings |\n\n\
         1. Look at the warnings.\n2. Move the backup *before* the photos.\n\n```sh\n",
    );
    for line in 1..=CODE_LINES {
        writeln!(report, "rsync -a src/{line:02} dst/{line:02}").expect("a String takes everything");
    }
    report.push_str("```\n\nThat is all.\n");
    report
}

/// An agent's report is held, approved and arrives; a second message is denied and does not.
///
/// # Errors
/// Something was not as it must be.
pub async fn goes_well(fixture: &mut TestHub) -> Result<()> {
    let (agent, bridge) = (fixture.agent("engineer").await?, fixture.bridge("porch").await?);
    let context = bridge.heard("engineer", "ann")?;

    let held = agent.send(&json!({"to": "local:team", "message": report(), "context": context}))?;
    ensure!(held["state"] == "held" && held["ok"] == true, "{held}");
    ensure!(fixture.arrived("team")?.is_empty(), "it arrived before anybody was asked");
    let id = text(&held, "id");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(id, "sent")?;
    let arrived = arrived_as_shown(fixture, &sent, &seen, "team")?;
    ensure!(arrived.len() > 2, "{} parts are too few for a test of their order", arrived.len());
    let code: Vec<&str> =
        arrived.iter().flat_map(|part| part.lines()).filter(|l| l.starts_with("rsync")).collect();
    let expected: Vec<String> = (1..=CODE_LINES).map(|n| format!("rsync -a src/{n:02} dst/{n:02}")).collect();
    ensure!(code == expected, "lines of code are missing, or not in order: {code:?}");
    ensure!(signed(fixture, id, Verdict::Approve)?, "the approval on record is not the companion's");

    let held =
        agent.send(&json!({"to": "local:team", "message": "The door code is 4711.", "context": context}))?;
    let id = text(&held, "id");
    fixture.decide(Verdict::Deny).await?;
    let denied = agent.ended(id, "denied")?;
    ensure!(denied["ok"] == false && denied["code"] == "denied", "{denied}");
    ensure!(signed(fixture, id, Verdict::Deny)?, "the denial on record is not the companion's");
    let notice = agent.told_of(id)?;
    ensure!(notice["state"] == "denied" && text(&notice, "error").contains("refused"), "{notice}");
    ensure!(fixture.arrived("team")? == arrived, "something of a denied message arrived");

    let events: Vec<String> = database::audit(&fixture.database()?)?
        .into_iter()
        .filter(|line| line.message.as_deref() == Some(text(&sent, "id")))
        .map(|line| format!("{} {}", line.actor, line.event))
        .collect();
    let expected = [
        "agent:engineer message.accepted",
        "hub message.held",
        "companion:test message.ready",
        "hub message.sending",
        "hub message.sent",
    ];
    ensure!(events == expected, "{events:?}");
    fixture.audit_is_whole().await
}

/// Checks that each part arrived once at `local:address` as the person saw it; returns their texts, in order.
///
/// # Errors
/// One did not.
pub fn arrived_as_shown(fixture: &TestHub, sent: &Value, seen: &Seen, address: &str) -> Result<Vec<String>> {
    let parts = shown_and_signed(fixture, text(sent, "id"), seen)?;
    let of = parts.len();
    ensure!(text(sent, "sent") == format!("{of} of {of}"), "{sent}");
    let arrived = fixture.operator()?.arrived(address)?;
    ensure!(arrived.len() == of, "{} parts arrived, not {of}", arrived.len());
    for ((part, arrived), receipt) in
        parts.iter().zip(&arrived).zip(sent["parts"].as_array().context("receipts")?)
    {
        let wire: Value = Envelope::read(&part.request)?.request;
        ensure!(wire["text"] == arrived["text"], "{wire} was sent, and {arrived} arrived");
        ensure!(receipt["state"] == "confirmed", "{receipt}");
        ensure!(
            receipt["platform_id"] == format!("local:{}", arrived["seq"]),
            "{receipt} is not for {arrived}"
        );
    }
    Ok(arrived.iter().map(|part| text(part, "text").to_owned()).collect())
}

/// Checks a message's stored parts against the document that was signed, and the document against what stood on the
/// screen.
///
/// # Errors
/// They differ.
pub fn shown_and_signed(fixture: &TestHub, id: &str, seen: &Seen) -> Result<Vec<Part>> {
    let db = fixture.database()?;
    let (parts, approval) = (database::parts(&db, id)?, database::approval(&db, id)?);
    ensure!(approval.request == seen.request, "the person was asked about something else");
    let document = Document::decode(&approval.document).map_err(|error| anyhow::anyhow!("{error}"))?;
    ensure!(document.parts.len() == parts.len(), "the document has {} parts", document.parts.len());
    for (stored, shown) in parts.iter().zip(&document.parts) {
        ensure!(
            shown.wire == Digest::of(stored.request.as_bytes()),
            "the signed hash is not of {}",
            stored.request
        );
        ensure!(shown.text == stored.shown, "the signed text is not {}", stored.shown);
    }
    let on_screen = on_screen(seen, parts.len());
    let expected: Vec<String> = parts.iter().map(|part| squeezed(&part.shown)).collect();
    ensure!(on_screen == expected, "the person saw {on_screen:#?} of {expected:#?}");
    Ok(parts)
}

/// Whether the decision on record is `verdict`, with the companion's signature.
fn signed(fixture: &TestHub, id: &str, verdict: Verdict) -> Result<bool> {
    Ok(database::approval(&fixture.database()?, id)?.is_signed(
        fixture.hub()?.key(),
        fixture.device(),
        verdict,
    ))
}

/// The text of each of `of` parts as it stood on the screen, without white space, which pages do not keep.
pub fn on_screen(seen: &Seen, of: usize) -> Vec<String> {
    let mut parts = vec![String::new(); of];
    for page in &seen.pages {
        let (first, rest) = page.split_once('\n').unwrap_or((page, ""));
        let number = first
            .strip_prefix("-- part ")
            .and_then(|marker| marker.split(' ').next())
            .and_then(|number| number.parse::<usize>().ok());
        match number {
            Some(number) => parts[number - 1].push_str(&squeezed(rest)),
            // A single part has no marker; the request stands on the pages before, whose rows begin with labels.
            None if of == 1 && !is_request(page) => parts[0].push_str(&squeezed(page)),
            None => {}
        }
    }
    parts
}

/// On a small display the request is two pages.
fn is_request(page: &str) -> bool {
    ["agent: ", "account: "].iter().any(|label| page.starts_with(label))
        || page.lines().any(|row| row.starts_with("parts: "))
}

/// Without white space.
pub fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
