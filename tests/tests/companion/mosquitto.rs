//! The same main job with mosquitto in place of the embedded broker.
//!
//! Installed by `tests/run --setup-only`: mosquitto.

use std::{fs, os::unix::fs::PermissionsExt as _};

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::{Screen, View};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{Ended, TestHub, eventually, gatepost},
    main_job::{self, CONFIG},
    peers::Mosquitto,
};

#[tokio::test(flavor = "multi_thread")]
async fn mosquitto_carries_the_main_job_as_the_embedded_broker_does() -> Result<()> {
    let broker = Mosquitto::start()?;
    let mut fixture = TestHub::start_at(&broker, CONFIG).await?;
    main_job::goes_well(&mut fixture).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_was_restarted_meets_its_companion_at_mosquitto_again() -> Result<()> {
    let broker = Mosquitto::start()?;
    let mut fixture = TestHub::start_at(&broker, CONFIG).await?;
    main_job::goes_well(&mut fixture).await?;
    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&serde_json::json!({"to": "local:late", "message": "Good night."}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let id = held["id"].as_str().unwrap_or("");
    main_job::arrived_as_shown(&fixture, &agent.ended(id, "sent")?, &seen, "late")?;
    Ok(())
}

/// The seconds that the open card has left, by its own screen, while it can be decided.
fn left(screen: &Screen) -> Option<u64> {
    let open = matches!(screen.view, View::Card(_)) && screen.footer.text.contains("deny");
    let (minutes, seconds) = screen.header.text.split_whitespace().last()?.split_once(':')?;
    Some(minutes.parse::<u64>().ok()? * 60 + seconds.parse::<u64>().ok()?).filter(|_| open)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_goes_on_with_the_time_that_is_left_when_the_broker_comes_back() -> Result<()> {
    let broker = Mosquitto::start()?;
    let mut fixture = TestHub::start_at(&broker, CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&serde_json::json!({"to": "local:team", "message": "Shall I?"}))?;
    let some_time = |screen: &Screen| left(screen).is_some_and(|left| left <= 597);
    let before = left(&fixture.screen("the card, some seconds later", some_time)?).context("it has time")?;

    let port = broker.stop();
    fixture.screen("it cannot be decided", |screen| screen.footer.text.contains("OFFLINE"))?;
    let said = eventually("nobody is here", || {
        let said = fixture.cli(&["companion", "list"])?;
        Ok(Some(said).filter(|said| said.stderr.contains("nothing listens")))
    })?;
    ensure!(said.stderr.contains("the MQTT broker is away") && said.stdout.contains("offline"), "{said:?}");
    let _broker = Mosquitto::start_at(port)?;
    let after =
        left(&fixture.screen("the same card", |screen| left(screen).is_some())?).context("it has time")?;
    ensure!(after < before && after > 500, "{after} of {before} seconds are left");
    eventually("it is here again", || {
        let said = fixture.cli(&["companion", "list"])?;
        Ok((said.stdout.contains("online") && said.stderr.is_empty()).then_some(()))
    })?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(held["id"].as_str().unwrap_or(""), "sent")?;
    main_job::arrived_as_shown(&fixture, &sent, &seen, "team")?;

    // A restarted hub takes no time back either.
    let held = agent.send(&serde_json::json!({"to": "local:team", "message": "And this?"}))?;
    let before = left(&fixture.screen("the card, some seconds later", some_time)?).context("it has time")?;
    fixture.restart().await?;
    let after =
        left(&fixture.screen("the card again", |screen| left(screen).is_some())?).context("it has time")?;
    ensure!(after <= before && after > 500, "{after} of {before} seconds are left");
    fixture.decide(Verdict::Approve).await?;
    let agent = fixture.agent("engineer").await?;
    agent.ended(held["id"].as_str().unwrap_or(""), "sent")?;
    fixture.audit_is_whole().await
}

/// How the hub reaches a broker by TLS, as lines of `[broker]`: at this host, trusting this authority, with this certificate.
fn way(broker: &Mosquitto, host: &str, ca: &str, own: Option<&str>) -> Result<String> {
    let file = |name: &str, end: &str| broker.file(&format!("{name}.{end}")).display().to_string();
    let own = own.map(|own| format!("cert = \"{}\"\nkey = \"{}\"", file(own, "crt"), file(own, "key")));
    let url = format!("url = \"mqtts://{host}:{}\"", broker.secured_port()?);
    Ok(format!("{url}\nca = \"{}\"\n{}", file(ca, "crt"), own.unwrap_or_default()))
}

/// What `gatepost check` says of a hub that reaches its broker so.
fn check(broker: &Mosquitto, way: &str, password: &str) -> Result<Ended> {
    let folder = tempfile::tempdir()?;
    let (file, secret) = (folder.path().join("gatepost.toml"), folder.path().join("password"));
    fs::write(&secret, password)?;
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600))?;
    let user = broker.hub_credentials().username;
    let login = format!("user = \"{user}\"\npassword = \"file:{}\"\n", secret.display());
    fs::write(&file, format!("{CONFIG}\n[broker]\n{way}\n{login}"))?;
    gatepost(&["--config".as_ref(), file.as_os_str(), "check".as_ref()], b"", &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn by_tls_with_a_certificate_of_its_own_a_hub_does_the_main_job_at_mosquitto() -> Result<()> {
    let broker = Mosquitto::start_secured()?;
    let way = way(&broker, "localhost", "ca", Some("hub"))?;
    let checked = check(&broker, &way, broker.hub_credentials().password)?;
    ensure!(checked.status == 0 && checked.stdout.contains("broker"), "{checked:?}");
    let mut fixture = TestHub::start_at_by(&broker, CONFIG, &way).await?;
    main_job::goes_well(&mut fixture).await?;
    let listed = fixture.cli(&["companion", "list"])?;
    ensure!(listed.status == 0 && listed.stderr.is_empty(), "{listed:?}");
    Ok(())
}

#[test]
fn a_broker_that_is_not_the_one_or_that_does_not_know_the_hub_is_refused_and_the_error_says_what_to_do()
-> Result<()> {
    let broker = Mosquitto::start_secured()?;
    let password = broker.hub_credentials().password;
    for (what, host, ca, own, says) in [
        (
            "another authority",
            "localhost",
            "other-ca",
            Some("hub"),
            "not signed by a trusted authority: set [broker] ca",
        ),
        ("no certificate", "localhost", "ca", None, "set [broker] cert and key"),
        (
            "a stranger's certificate",
            "localhost",
            "ca",
            Some("stranger"),
            "does not take the hub's certificate",
        ),
        ("another name", "127.0.0.1", "ca", Some("hub"), "certificate is not for 127.0.0.1"),
    ] {
        let checked = check(&broker, &way(&broker, host, ca, own)?, password)?;
        ensure!(checked.status == 1 && checked.stdout.contains("NOT READY"), "{what}: {checked:?}");
        ensure!(checked.stdout.contains(says), "{what}: {checked:?}");
    }
    let right = way(&broker, "localhost", "ca", Some("hub"))?;
    let checked = check(&broker, &right, "a guess")?;
    ensure!(checked.stdout.contains("check [broker] user and password"), "{checked:?}");
    let plain = right.replace(&broker.secured_port()?.to_string(), &broker.port().to_string());
    let checked = check(&broker, &plain, password)?;
    ensure!(checked.status == 1 && checked.stdout.contains("TLS"), "{checked:?}");
    let swapped = right.replace("hub.key", "stranger.key");
    let checked = check(&broker, &swapped, password)?;
    ensure!(
        checked.status == 1 && checked.stderr.contains("is not the key of the certificate"),
        "{checked:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_broker_is_not_the_one_starts_says_so_and_asks_nobody() -> Result<()> {
    let broker = Mosquitto::start_secured()?;
    let way = way(&broker, "localhost", "other-ca", Some("hub"))?;
    let mut fixture = TestHub::start_at_by(&broker, CONFIG, &way).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&serde_json::json!({"to": "local:team", "message": "Shall I?"}))?;
    ensure!(held["state"] == "held", "{held}");
    let listed = eventually("the list says why nobody is here", || {
        let listed = fixture.cli(&["companion", "list"])?;
        Ok(Some(listed).filter(|listed| listed.stderr.contains("set [broker] ca")))
    })?;
    ensure!(
        listed.stderr.contains("the MQTT broker is away") && listed.stdout.contains("offline"),
        "{listed:?}"
    );
    Ok(())
}
