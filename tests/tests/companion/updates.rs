//! New firmware for companions: added, rolled out, fetched, confirmed, or stopped. The companions are scripts that speak the frames.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use gatepost_link::{
    frame::{Part, Progress, State, Up},
    update::Version,
};
use gatepost_tests::{
    hub::{
        TestHub,
        client::text,
        eventually,
        firmware::{BOARD, RELEASE_SEED, Scripted, release, write_root},
    },
    main_job::CONFIG,
    release::Release,
};
use serde_json::Value;

/// Faults after which a companion is not listened to.
const MAX_FAULTS: usize = 20;

/// A hub that takes releases, and whose own companion is switched off: by these lines of `[updates]`.
async fn hub(lines: &str) -> Result<TestHub> {
    let folder = Arc::new(tempfile::tempdir()?);
    let root = write_root(&folder)?;
    let config = format!("{CONFIG}\n[updates]\nroot = {:?}\n{lines}\n", root.to_str().context("a path")?);
    let mut fixture = TestHub::start_in(folder, &config).await?;
    fixture.switch_off();
    fixture.listed_when("test", |one| one["online"] == false)?;
    Ok(fixture)
}

/// Adds a release that is signed as it must be.
fn added(fixture: &TestHub, board: &str, version: &str) -> Result<Release> {
    let release = release(board, version)?;
    let file = release.write(fixture.folder(), RELEASE_SEED)?;
    let said = fixture.cli(&["ota", "add", file.to_str().context("a path")?])?.well()?;
    ensure!(said.trim() == format!("added {version} for {board}"), "{said}");
    Ok(release)
}

/// How far the companion of this name is, once it is as wanted.
fn update(fixture: &TestHub, name: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    let operator = fixture.operator()?;
    let seen = eventually(&format!("{name} is so far"), || {
        let all = operator.get("/v1/updates")?.taken()?;
        let one =
            all["companions"].as_array().context("a list")?.iter().find(|one| text(one, "name") == name);
        Ok(one.map(|one| one["update"].clone()).filter(&wanted))
    });
    let now = operator.get("/v1/updates")?.taken()?;
    seen.with_context(|| now.to_string())
}

fn is(state: &'static str) -> impl Fn(&Value) -> bool {
    move |update| text(update, "state") == state
}

/// Waits for the audit's first row of this event, about the companion of this name.
fn told(fixture: &TestHub, event: &str, name: &str) -> Result<Value> {
    let about = |line: &Value| text(line, "name") == name;
    eventually(&format!("the audit has {event} of {name}"), || {
        Ok(fixture.audit(event)?.into_iter().map(|line| line.detail).find(about))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_companion_takes_a_release_first_and_the_next_one_once_it_has_proved_it() -> Result<()> {
    let fixture = hub("").await?;
    let hall = Scripted::join(&fixture, "hall", BOARD).await?;
    let attic = Scripted::join(&fixture, "attic", BOARD).await?;
    let release = added(&fixture, BOARD, "1.1.0")?;
    ensure!(hall.manifests() == 0, "added is not rolled out");
    fixture.cli(&["ota", "roll-out", "1.1.0"])?.well()?;
    hall.is_offered(&release, 1)?;
    hall.takes(&release)?;
    // Whoever looks sees that a person has to go there.
    let asking = update(&fixture, "hall", is("asking"))?;
    ensure!(text(&asking, "text").starts_with("asks on its screen since 20"), "{asking}");
    let status = fixture.cli(&["ota", "status"])?.well()?;
    ensure!(status.contains("asks on its screen since") && status.contains("waits for hall"), "{status}");
    let listed = fixture.cli(&["companion", "list"])?.well()?;
    ensure!(listed.contains("esp32c3 1.0.0") && listed.contains("1.1.0: asks on its screen"), "{listed}");

    hall.reports(&release, Progress::Installing)?;
    told(&fixture, "ota.installed", "hall")?;
    let hall = hall.restarts(&fixture, release.version(), State::Trial(release.image_id()))?;
    update(&fixture, "hall", is("installing"))?;
    hall.begins(State::Settled)?;
    told(&fixture, "ota.confirmed", "hall")?;
    let waits = update(&fixture, "attic", |update| text(update, "text").contains("until hall has decided"))?;
    ensure!(attic.manifests() == 0 && text(&waits, "state") == "waits", "{waits}");

    // A card that is decided with it proves it.
    fixture.write("UPDATE devices SET decided_at = 4000000000000 WHERE name = ?", "hall").await?;
    attic.begins(State::Settled)?;
    attic.is_offered(&release, 1)?;
    let figure = "gatepost_companion_firmware{board=\"esp32c3\",version=\"1.1.0\",update=\"confirmed\"}";
    ensure!(fixture.operator()?.figure(figure)? == Some(1.0));
    for event in ["ota.added", "ota.rolled_out"] {
        ensure!(fixture.audit(event)?.len() == 1, "{event}");
    }
    told(&fixture, "ota.offered", "attic")?;
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn it_stops_where_a_release_went_back_and_goes_there_again_only_if_somebody_says_so() -> Result<()> {
    let fixture = hub("soak = \"0s\"").await?;
    let hall = Scripted::join(&fixture, "hall", BOARD).await?;
    let attic = Scripted::join(&fixture, "attic", BOARD).await?;
    let cellar = Scripted::join(&fixture, "cellar", BOARD).await?;
    let release = added(&fixture, BOARD, "1.1.0")?;
    fixture.cli(&["ota", "roll-out", "1.1.0", "--to", "attic", "hall", "cellar"])?.well()?;
    attic.is_offered(&release, 1)?;
    attic.takes(&release)?;
    attic.reports(&release, Progress::Installing)?;
    let attic = attic.restarts(&fixture, release.version(), State::Settled)?;
    told(&fixture, "ota.confirmed", "attic")?;
    hall.is_offered(&release, 1)?;
    ensure!(cellar.manifests() == 0, "one after the other");
    hall.takes(&release)?;
    hall.reports(&release, Progress::Installing)?;
    told(&fixture, "ota.installed", "hall")?;
    let old = Version { major: 1, minor: 0, patch: 0 };
    let hall = hall.restarts(&fixture, old, State::WentBack(release.image_id()))?;
    told(&fixture, "ota.went_back", "hall")?;
    let stopped = update(&fixture, "cellar", |update| text(update, "text").contains("went wrong on hall"))?;
    update(&fixture, "hall", is("went_back"))?;
    ensure!(cellar.manifests() == 0 && hall.manifests() == 0, "{stopped}");

    // Rolled out once more it goes on, but not to where it went back.
    fixture.cli(&["ota", "roll-out", "1.1.0"])?.well()?;
    cellar.is_offered(&release, 1)?;
    fixture.cli(&["ota", "roll-out", "1.1.0", "--to", "hall", "--again"])?.well()?;
    hall.is_offered(&release, 1)?;
    drop(attic);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_takes_the_offer_back_and_so_does_an_approver_that_is_missing() -> Result<()> {
    let fixture = hub("").await?;
    let hall = Scripted::join(&fixture, "hall", BOARD).await?;
    let release = added(&fixture, BOARD, "1.1.0")?;
    fixture.cli(&["ota", "roll-out", "1.1.0", "--now"])?.well()?;
    let waits = update(&fixture, "hall", is("waits"))?;
    ensure!(text(&waits, "text").contains("another companion can be asked"), "{waits}");
    ensure!(hall.manifests() == 0, "nobody could approve meanwhile");

    let attic = Scripted::join(&fixture, "attic", BOARD).await?;
    hall.is_offered(&release, 1)?;
    let before = hall.no_updates();
    fixture.cli(&["ota", "pause"])?.well()?;
    eventually("the offer is taken back", || Ok((hall.no_updates() == before + 1).then_some(())))?;
    let refused = fixture.cli(&["ota", "pause"])?;
    ensure!(refused.status == 1 && refused.stderr.contains("not paused"), "{refused:?}");
    ensure!(
        refused.stderr.contains("gatepost ota status"),
        "what to do is said in words of the command line: {refused:?}"
    );
    fixture.cli(&["ota", "resume"])?.well()?;
    hall.is_offered(&release, 2)?;
    attic.say(&Up::Display { works: false })?;
    eventually("the offer is taken back again", || Ok((hall.no_updates() == before + 2).then_some(())))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_does_not_outlive_its_session_if_the_offer_does_not() -> Result<()> {
    let fixture = hub("soak = \"0s\"").await?;
    let hall = Scripted::join(&fixture, "hall", BOARD).await?;
    let attic = Scripted::join(&fixture, "attic", BOARD).await?;
    let _always_here = Scripted::join(&fixture, "cellar", BOARD).await?;
    let release = added(&fixture, BOARD, "1.1.0")?;
    let old = Version { major: 1, minor: 0, patch: 0 };
    // It still asks, and knows nothing of what has happened meanwhile: whatever that is, it is told.
    let is_told = |hall: &Scripted, why: &str| {
        eventually(why, || Ok((hall.no_updates() == 1).then_some(())))?;
        ensure!(hall.manifests() == 0, "{why}");
        Ok(())
    };
    fixture.cli(&["ota", "roll-out", "1.1.0", "--to", "hall"])?.well()?;
    hall.is_offered(&release, 1)?;
    hall.takes(&release)?;
    update(&fixture, "hall", is("asking"))?;
    fixture.cli(&["ota", "pause"])?.well()?;
    let hall = hall.restarts(&fixture, old, State::Settled)?;
    is_told(&hall, "the roll-out rests")?;
    let said = fixture.cli(&["ota", "roll-out", "1.1.0", "--to", "attic"])?;
    ensure!(said.status == 0 && said.stderr.contains("was paused: that is over"), "{said:?}");
    let hall = hall.restarts(&fixture, old, State::Settled)?;
    is_told(&hall, "it is not for this companion any more")?;
    fixture.cli(&["ota", "roll-out", "1.1.0", "--to", "attic", "hall"])?.well()?;
    attic.is_offered(&release, 1)?;
    attic.takes(&release)?;
    attic.reports(&release, Progress::Installing)?;
    told(&fixture, "ota.installed", "attic")?;
    let _attic = attic.restarts(&fixture, old, State::WentBack(release.image_id()))?;
    told(&fixture, "ota.went_back", "attic")?;
    let hall = hall.restarts(&fixture, old, State::Settled)?;
    is_told(&hall, "it has stopped")
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_the_root_vouches_for_is_added_and_only_to_its_board_is_it_offered() -> Result<()> {
    let fixture = hub("soak = \"0s\"").await?;
    let hall = Scripted::join(&fixture, "hall", BOARD).await?;
    let attic = Scripted::join(&fixture, "attic", BOARD).await?;
    let file = release(BOARD, "1.1.0")?.write(fixture.folder(), [9; 32])?;
    let foreign = fixture.cli(&["ota", "add", file.to_str().context("a path")?])?;
    ensure!(
        foreign.status == 1 && foreign.stderr.contains("not signed by the keys that are trusted"),
        "{foreign:?}"
    );
    ensure!(fixture.cli(&["ota", "list", "--json"])?.json()? == serde_json::json!([]));
    let missing = fixture.cli(&["ota", "roll-out", "1.1.0"])?;
    ensure!(missing.status == 5 && missing.stderr.contains("gatepost ota add"), "{missing:?}");

    added(&fixture, "qemu-virt", "1.1.0")?;
    fixture.cli(&["ota", "roll-out", "1.1.0", "--now"])?.well()?;
    let release = added(&fixture, BOARD, "1.2.0")?;
    fixture.cli(&["ota", "roll-out", "1.2.0", "--now"])?.well()?;
    hall.is_offered(&release, 1)?;
    ensure!(hall.manifests() == 1 && attic.manifests() == 0);

    // Without a root, nothing is taken, and what to do is said.
    let without = TestHub::start(CONFIG).await?;
    let file = release.write(fixture.folder(), RELEASE_SEED)?;
    let refused = without.cli(&["ota", "add", file.to_str().context("a path")?])?;
    ensure!(refused.status == 1 && refused.stderr.contains("[updates] root"), "{refused:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_companion_that_asks_for_what_is_not_there_is_not_listened_to_for_long() -> Result<()> {
    let fixture = hub("").await?;
    let hall = Scripted::join(&fixture, "hall", BOARD).await?;
    let attic = Scripted::join(&fixture, "attic", BOARD).await?;
    let release = added(&fixture, BOARD, "1.1.0")?;
    fixture.cli(&["ota", "roll-out", "1.1.0"])?.well()?;
    hall.is_offered(&release, 1)?;
    attic.say(&Up::Update { image: release.image_id(), progress: Progress::Asking })?;
    let ask = |offset, length| hall.say(&Up::FetchBlock { part: Part::Image, offset, length });
    for _ in 0..MAX_FAULTS {
        ask(u32::MAX, u16::MAX)?;
    }
    ask(0, 2_048)?;
    // Its session goes on, and others are served.
    hall.reports(&release, Progress::Asking)?;
    attic.begins(State::Settled)?;
    update(&fixture, "attic", is("waits"))?;
    ensure!(hall.blocks() == 0, "it is not listened to");
    update(&fixture, "hall", is("offered"))?;
    Ok(())
}
