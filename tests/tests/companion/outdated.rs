//! A companion whose firmware is older than its hub: it may approve what nobody has read, so it is asked nothing, approves nothing,
//! and is told everywhere what to do. Its pairing stays.

use anyhow::{Context as _, Result, ensure};
use ed25519_dalek::SigningKey;
use gatepost_companion::{Keys, View};
use gatepost_link::{
    Digest, RequestId,
    decision::{Decision, Statement, Verdict},
    document::Document,
    envelope::OLDEST,
    frame::{Down, Offer, PIECE, Up, Withdrawal},
};
use gatepost_tests::{
    hub::{Client, Impostor, TestHub, client::text, database, eventually},
    main_job::CONFIG,
};
use serde_json::json;

const OLD: &str = "firmware is too old";

/// A hub whose one companion has older firmware: its keys, and the firmware as it runs.
async fn fixture() -> Result<(TestHub, Client, Keys, Impostor)> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.switch_off();
    let agent = fixture.agent("engineer").await?;
    let (keys, old) = fixture.join_outdated("attic", OLDEST).await?;
    fixture.listed_when("attic", |one| one["online"] == true)?;
    Ok((fixture, agent, keys, old))
}

/// What `gatepost check` says of this hub's configuration.
fn checked(fixture: &TestHub) -> Result<String> {
    let file = fixture.folder().path().join("checked.toml");
    std::fs::write(&file, format!("{CONFIG}\n[hub]\ndata_dir = {:?}\n", fixture.data_dir()))?;
    let file = file.to_str().context("a path")?;
    let ended = fixture.cli(&["--config", file, "check", "--offline"])?;
    Ok(ended.stdout + &ended.stderr)
}

fn offers(old: &Impostor) -> Vec<Offer> {
    old.heard(|frame| match frame {
        Down::Offer(offer) => Some(offer),
        _ => None,
    })
}

/// What it decides without a look, in its session.
fn blindly(
    fixture: &TestHub,
    keys: &Keys,
    old: &Impostor,
    request: RequestId,
    document: Digest,
) -> Result<Decision> {
    let key = SigningKey::from_bytes(&keys.sign);
    let device = gatepost_link::decision::PublicKey(key.verifying_key().to_bytes());
    let (hub, session) = (fixture.hub()?.key(), old.session()?);
    Ok(Statement { hub, device, request, document, verdict: Verdict::Approve, counter: 7, session }
        .sign(&key))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_older_firmware_approves_blindly_is_not_sent_and_everybody_is_told_why() -> Result<()> {
    let (fixture, agent, keys, old) = fixture().await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    let id = text(&held, "id");
    ensure!(text(&held["asked"], "problem").contains("1 has firmware that is too old: update it"), "{held}");

    // Older firmware says of its display that it works only after it did not, and is not believed.
    old.say(&Up::Display { works: true })?;
    let approval = database::approval(&fixture.database()?, id)?;
    let digest = Digest::of(&approval.document);
    old.say_decision(blindly(&fixture, &keys, &old, approval.request, digest)?)?;
    let refused = eventually("the approval is refused", || Ok(fixture.audit("decision.rejected")?.pop()))?;
    ensure!(refused.detail["why"].as_str().is_some_and(|why| why.contains(OLD)), "{refused:?}");
    ensure!(agent.message(id)?["state"] == "held" && fixture.arrived("team")?.is_empty());

    let attic = fixture.listed("attic")?;
    ensure!(attic["able"] == false && text(&attic, "unable_because").contains(OLD), "{attic}");
    let table = fixture.cli(&["companion", "list"])?.well()?;
    ensure!(table.lines().any(|row| row.starts_with("attic") && row.contains("too old")), "{table}");
    ensure!(fixture.operator()?.figure("gatepost_companions_able")? == Some(0.0));
    let said = checked(&fixture)?;
    ensure!(said.contains("firmware that is too old"), "{said}");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn older_firmware_shows_one_card_that_says_what_to_do_and_never_a_message() -> Result<()> {
    let (fixture, agent, keys, old) = fixture().await?;
    let offer = eventually("a card", || Ok(offers(&old).pop()))?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    let length = usize::try_from(offer.length)?;
    ensure!(length <= PIECE, "one piece: {offer:?}");
    old.say(&Up::Fetch { request: offer.request, piece: 0 })?;
    let document = eventually("its text", || {
        Ok(old
            .heard(|frame| match frame {
                Down::Piece { bytes, .. } => Some(bytes.to_vec()),
                _ => None,
            })
            .pop())
    })?;
    ensure!(Digest::of(&document) == offer.document);
    let shown = Document::decode(&document).map_err(|error| anyhow::anyhow!("{error}"))?;
    ensure!(shown.parts[0].text.contains("too old") && shown.parts[0].text.contains("cable"), "{shown:?}");

    // A hold on it is nothing; it closes, and is not shown again in this session.
    old.say_decision(blindly(&fixture, &keys, &old, offer.request, offer.document)?)?;
    eventually("it closes", || {
        let closed = |frame: &Down<'_>| matches!(frame, Down::Withdraw { request, reason: Withdrawal::Cancelled } if *request == offer.request);
        Ok((old.frames(closed) == 1).then_some(()))
    })?;
    let other = agent.send(&json!({"to": "local:team", "message": "And now?"}))?;
    old.say(&Up::Ready)?;
    eventually("it knows that two are held", || {
        Ok((old.frames(|frame| matches!(frame, Down::Status(report) if report.held == 2)) > 0).then_some(()))
    })?;
    ensure!(offers(&old).len() == 1, "{:?}", offers(&old));
    ensure!(fixture.audit("decision.rejected")?.is_empty());

    // With new firmware it is the same companion, and is asked.
    drop(old);
    let attic = fixture.updated("attic", keys)?;
    eventually("it can be asked", || {
        Ok(Some(()).filter(|()| fixture.listed("attic").is_ok_and(|it| it["able"] == true)))
    })?;
    for held in [&held, &other] {
        attic.screen("a card", |screen| matches!(screen.view, View::Card(_)))?;
        attic.decide(Verdict::Approve).await?;
        agent.ended(text(held, "id"), "sent")?;
    }
    let said = checked(&fixture)?;
    ensure!(!said.contains("too old"), "{said}");
    fixture.audit_is_whole().await
}
