//! The hub in the real Home Assistant, at mosquitto: what it sees there, what it may ask for, and what it is never told.
//!
//! Installed by `tests/run --setup-only`: Home Assistant, mosquitto.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{
        SpawnedHub, TestHub,
        client::text,
        eventually,
        firmware::{BOARD, RELEASE_SEED, Scripted, release, write_root},
        secret,
    },
    main_job::CONFIG,
    peers::{HomeAssistant, House, Mosquitto, Overheard},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The entities of a hub and of its companion `test`.
const ENTITIES: [&str; 13] = [
    "binary_sensor.gatepost_asks_you",
    "binary_sensor.gatepost_channels",
    "binary_sensor.gatepost_test_connected",
    "event.gatepost_message",
    "event.gatepost_test_decision",
    "notify.gatepost_send_through_the_gate",
    "sensor.gatepost_next_deadline",
    "sensor.gatepost_queued",
    "sensor.gatepost_sent",
    "sensor.gatepost_test_last_decision",
    "sensor.gatepost_waiting_for_approval",
    "update.gatepost_test_firmware",
    "update.gatepost_update",
];
/// What nobody in the house is told.
const TEXT: &str = "The door code is 4711.";
const ADDRESS: &str = "third-floor";
/// What an owner lets Home Assistant write.
const AGENT: &str = "[agents.homeassistant]\nhold = [\"local:kitchen\"]\n";
const NOTIFY_TO: &str = "notify_to = [\"local:kitchen\"]";

/// The section for this broker, with these lines.
fn section(broker: &Mosquitto, folder: &TempDir, lines: &str) -> Result<String> {
    let login = broker.house_credentials();
    let password = secret(folder.path(), "homeassistant.password", login.password)?;
    Ok(format!(
        "[homeassistant]\nbroker = \"mqtt://127.0.0.1:{}\"\nuser = \"{}\"\npassword = {password}\n{lines}\n",
        broker.port(),
        login.username
    ))
}

/// The guide's block of YAML that has this in it.
fn block(guide: &str, has: &str) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/docs").join(guide);
    let guide = fs::read_to_string(path)?;
    let mut blocks = guide.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    Ok(blocks.find(|block| block.contains(has)).context("the guide has it")?.to_owned())
}

/// A house with the guide's blueprints: a lamp that flashes, and what is told of messages that were not sent.
fn house() -> Result<House> {
    let automations = r#"
- alias: Lamp
  use_blueprint:
    path: gatepost/flash.yaml
    input:
      asks: binary_sensor.gatepost_asks_you
      lamp: input_boolean.lamp
- alias: Tell
  use_blueprint:
    path: gatepost/tell.yaml
    input:
      message: event.gatepost_message
      events: [denied, failed]
      tell:
        - action: input_text.set_value
          target:
            entity_id: input_text.told
          data:
            value: "{{ agent }} on {{ channel }}: {{ event }}"
"#;
    Ok(House {
        automations: automations.into(),
        blueprints: vec![
            ("flash.yaml", block("homeassistant.md", "Gatepost asks you")?),
            ("tell.yaml", block("homeassistant.md", "Gatepost could not send")?),
        ],
        ..House::default()
    })
}

/// The hub's entities in Home Assistant.
fn entities(home: &HomeAssistant) -> Result<BTreeSet<String>> {
    Ok(home.entities()?.into_keys().filter(|id| id.contains("gatepost")).collect())
}

fn are(home: &HomeAssistant, wanted: &[&str]) -> Result<()> {
    let wanted: BTreeSet<String> = wanted.iter().map(|id| (*id).to_owned()).collect();
    let seen = eventually("its entities", || Ok(Some(entities(home)?).filter(|seen| *seen == wanted)));
    seen.with_context(|| format!("{:?} {:#?}", entities(home), home.complaints()))?;
    Ok(())
}

/// Waits for the hub's event about this message.
fn happens(home: &HomeAssistant, event: &str, id: &str) -> Result<Value> {
    home.entity_when("event.gatepost_message", |one| {
        one["attributes"]["event_type"] == event && one["attributes"]["id"] == id
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn home_assistant_sees_the_hub_and_what_happens_and_no_text_and_no_address() -> Result<()> {
    let (broker, folder) = (Mosquitto::start()?, Arc::new(tempfile::tempdir()?));
    let heard = Overheard::at(&broker)?;
    let section = section(&broker, &folder, NOTIFY_TO)?;
    let home = HomeAssistant::start(&broker, &house()?)?;
    let mut fixture = TestHub::start_in(folder, &format!("{CONFIG}{AGENT}{section}")).await?;
    are(&home, &ENTITIES)?;
    for (id, state) in [
        ("sensor.gatepost_waiting_for_approval", "0"),
        ("binary_sensor.gatepost_asks_you", "off"),
        ("binary_sensor.gatepost_channels", "off"),
        ("sensor.gatepost_next_deadline", "unknown"),
        ("binary_sensor.gatepost_test_connected", "on"),
        ("update.gatepost_update", "off"),
    ] {
        home.is(id, state)?;
    }
    let brought = "{{ device_attr(device_id('sensor.gatepost_test_last_decision'), 'via_device_id') == device_id('sensor.gatepost_sent') }}";
    ensure!(home.template(brought)? == "True", "the hub brings its companion along");
    let version = "{{ device_attr('sensor.gatepost_sent', 'sw_version') }} {{ device_attr('sensor.gatepost_sent', 'manufacturer') }}";
    ensure!(home.template(version)? == concat!(env!("CARGO_PKG_VERSION"), " Gatepost"));

    // Held, approved, sent; denied.
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": format!("local:{ADDRESS}"), "message": TEXT}))?;
    let id = text(&held, "id");
    let event = happens(&home, "held", id)?;
    ensure!(
        event["attributes"]["agent"] == "engineer" && event["attributes"]["channel"] == "local",
        "{event}"
    );
    home.is("binary_sensor.gatepost_asks_you", "on")?;
    home.is("sensor.gatepost_waiting_for_approval", "1")?;
    home.is("input_boolean.lamp", "on")?;
    home.entity_when("sensor.gatepost_next_deadline", |one| text(one, "state").starts_with("20"))?;
    fixture.decide(Verdict::Approve).await?;
    happens(&home, "sent", id)?;
    home.is("sensor.gatepost_sent", "1")?;
    home.is("binary_sensor.gatepost_asks_you", "off")?;
    home.is("input_boolean.lamp", "off")?;
    home.entity_when("event.gatepost_test_decision", |one| one["attributes"]["event_type"] == "approved")?;
    home.entity_when("sensor.gatepost_test_last_decision", |one| text(one, "state").starts_with("20"))?;
    let events = || heard.all().into_iter().filter(|one| one.topic.ends_with("/event"));
    let order: Vec<String> = events().filter(|one| one.payload.contains(id)).map(|one| one.payload).collect();
    let words = ["held", "approved", "sent"];
    ensure!(
        order.len() == words.len() && order.iter().zip(words).all(|(said, word)| said.contains(word)),
        "{order:?}"
    );
    let again = format!("{TEXT} Once more.");
    let held = agent.send(&json!({"to": format!("local:{ADDRESS}"), "message": again}))?;
    fixture.decide(Verdict::Deny).await?;
    happens(&home, "denied", text(&held, "id"))?;
    home.is("input_text.told", "engineer on local: denied")?;

    // Home Assistant is started again; the hub is stopped, and started again.
    home.restart()?;
    are(&home, &ENTITIES)?;
    home.is("sensor.gatepost_sent", "1")?;
    fixture.stop().await;
    for id in ENTITIES {
        home.is(id, "unavailable")?;
    }
    fixture.restart().await?;
    home.is("sensor.gatepost_sent", "1")?;
    home.is("binary_sensor.gatepost_test_connected", "on")?;

    // A companion that may not decide any more is none there either.
    fixture.cli(&["companion", "revoke", "test"])?.well()?;
    let rest: Vec<&str> = ENTITIES.into_iter().filter(|id| !id.contains("_test_")).collect();
    are(&home, &rest)?;

    let all = heard.all();
    ensure!(all.iter().any(|one| one.payload.contains("engineer")), "somebody listens");
    for one in all {
        for never in ["4711", "door", ADDRESS, "kitchen"] {
            ensure!(!one.payload.contains(never) && !one.topic.contains(never), "{one:?}");
        }
    }
    ensure!(home.complaints()?.is_empty(), "{:#?}", home.complaints()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn home_assistant_writes_through_the_gate_and_updates_only_where_it_may() -> Result<()> {
    let (broker, folder) = (Mosquitto::start()?, Arc::new(tempfile::tempdir()?));
    let heard = Overheard::at(&broker)?;
    let root = write_root(&folder)?;
    let base = format!("{CONFIG}{AGENT}[updates]\nroot = {:?}\n", root.to_str().context("a path")?);
    let may_not = format!("{base}{}", section(&broker, &folder, NOTIFY_TO)?);
    let may = format!("{base}{}", section(&broker, &folder, &format!("{NOTIFY_TO}\ninstall = true"))?);
    let home = HomeAssistant::start(&broker, &House::default())?;
    let mut fixture = TestHub::start_in(folder, &may_not).await?;
    are(&home, &ENTITIES)?;
    home.is("notify.gatepost_send_through_the_gate", "unknown")?;

    // A notification is a message like any other: held, approved, and exactly what was written.
    let said = "b'Dinner' \"is\" ready 🍲\n  {{ 1 + 1 }}";
    let send = |message: &str| {
        home.calls(
            "notify.send_message",
            &json!({"entity_id": "notify.gatepost_send_through_the_gate", "message": message}),
        )
    };
    send(said)?;
    let operator = fixture.operator()?;
    let held =
        eventually("it waits", || Ok(operator.queue()?.into_iter().find(|one| one["state"] == "held")))?;
    ensure!(held["agent"] == "homeassistant", "{held}");
    ensure!(fixture.arrived("kitchen")?.is_empty(), "it arrived before anybody was asked");
    home.is("sensor.gatepost_waiting_for_approval", "1")?;
    fixture.decide(Verdict::Approve).await?;
    operator.ended(text(&held, "id"), "sent")?;
    let arrived = fixture.arrived("kitchen")?;
    ensure!(
        arrived.len() == 1
            && arrived[0].contains("b'Dinner' \"is\" ready 🍲")
            && arrived[0].contains("{{ 1 + 1 }}"),
        "{arrived:?}"
    );
    let stored = operator.message(text(&held, "id"))?;
    ensure!(stored.to_string().contains("Dinner"), "{stored}");

    // What is no notification is none: empty, or no UTF-8; nor is anything that is said elsewhere.
    let notify = heard.last("/online", |said| said == "online")?.topic.replace("/online", "/notify");
    heard.say(&notify, b"", false)?;
    heard.say(&notify, &[0xff, 0xfe], false)?;
    let forged =
        json!({"waiting": 99, "asked": 0, "queued": 0, "sent": 0, "deadline": null, "not_ready": []})
            .to_string();
    heard.say(&notify.replace("/notify", "/state"), forged.as_bytes(), false)?;
    // Nobody may ask for an update: there is no topic for it in what Home Assistant is told, and what is said there is not heard.
    let hall = Scripted::join(&fixture, "hall", BOARD).await?;
    let release = release(BOARD, "1.1.0")?;
    let file = release.write(fixture.folder(), RELEASE_SEED)?;
    fixture.cli(&["ota", "add", file.to_str().context("a path")?])?.well()?;
    let described =
        |all: Vec<gatepost_tests::peers::Said>| all.into_iter().filter(|one| one.topic.ends_with("/config"));
    ensure!(described(heard.all()).all(|one| !one.payload.contains("install")), "no command");
    let features = home.entity_when("update.gatepost_hall_firmware", |one| one["state"] == "on")?;
    let attributes = &features["attributes"];
    ensure!(
        attributes["installed_version"] == "1.0.0" && attributes["latest_version"] == "1.1.0",
        "{features}"
    );
    ensure!(home.call("update.install", &json!({"entity_id": "update.gatepost_hall_firmware"}))?.0 >= 400);
    let id = home.template("{{ device_attr('update.gatepost_hall_firmware', 'identifiers') | list }}")?;
    let short =
        id.split("gatepost_").nth(1).and_then(|rest| rest.split('\'').next()).context("its id")?.to_owned();
    let install = notify.replace("/notify", &format!("/companion/{short}/update/install"));
    for topic in [install.clone(), notify.replace("/notify", "/update/install")] {
        heard.say(&topic, b"install", false)?;
        heard.say(&topic, b"install", true)?;
    }
    // What comes after it was done, and it was not.
    send("And now?")?;
    eventually("the next one waits", || {
        Ok(operator.queue()?.into_iter().find(|one| one["state"] == "held"))
    })?;
    fixture.decide(Verdict::Deny).await?;
    ensure!(fixture.audit("ota.rolled_out")?.is_empty() && hall.manifests() == 0, "it was not asked for");
    ensure!(fixture.audit("message.accepted")?.len() == 2, "only what was a notification is a message");
    drop(hall);

    // Where it may, it is a roll-out like that of the shell, for what is signed and newer. What was said before the hub came, and kept,
    // is no command and no notification.
    fixture.stop().await;
    heard.say(&notify, b"kept", true)?;
    heard.last("/notify", |said| said == "kept")?;
    fixture.restart_with(&may).await?;
    let again = Scripted::join(&fixture, "attic", BOARD).await?;
    home.entity_when("update.gatepost_attic_firmware", |one| one["state"] == "on")?;
    ensure!(fixture.audit("ota.rolled_out")?.is_empty(), "what was kept is no command");
    home.calls("update.install", &json!({"entity_id": "update.gatepost_attic_firmware"}))?;
    again.is_offered(&release, 1)?;
    let rolled_out = fixture.audit("ota.rolled_out")?;
    ensure!(rolled_out.len() == 1 && rolled_out[0].actor == "homeassistant", "{rolled_out:?}");
    home.entity_when("update.gatepost_attic_firmware", |one| one["attributes"]["in_progress"] == true)?;
    ensure!(fixture.audit("message.accepted")?.len() == 2, "what was kept is no notification");
    ensure!(home.complaints()?.is_empty(), "{:#?}", home.complaints()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_killed_is_away_and_a_reload_brings_and_takes_the_section() -> Result<()> {
    let (broker, folder) = (Mosquitto::start()?, tempfile::tempdir()?);
    let heard = Overheard::at(&broker)?;
    let with = format!("{CONFIG}{}", section(&broker, &folder, "")?);
    let mut hub = SpawnedHub::start(&with)?;
    heard.last("/online", |said| said == "online")?;
    let quiet = heard.all().len();
    hub.kill()?;
    heard.last("/online", |said| said == "offline")?;
    hub.run()?;
    heard.last("/online", |said| said == "online")?;
    ensure!(heard.all().len() <= 2 * quiet + 1, "nothing is said twice: {:#?}", heard.all());

    // Somebody who comes now is told all of it, but for what has happened.
    let home = HomeAssistant::start(&broker, &House::default())?;
    let hubs: Vec<&str> =
        ENTITIES.into_iter().filter(|id| !id.contains("_test_") && !id.starts_with("notify.")).collect();
    are(&home, &hubs)?;
    hub.kill()?;
    for id in &hubs {
        home.is(id, "unavailable")?;
    }
    hub.run()?;
    home.is("binary_sensor.gatepost_asks_you", "off")?;

    hub.configure(CONFIG)?;
    hub.hang_up()?;
    home.is("binary_sensor.gatepost_asks_you", "unavailable")?;
    hub.configure(&format!("{CONFIG}{AGENT}{}", section(&broker, &folder, NOTIFY_TO)?))?;
    hub.hang_up()?;
    home.is("notify.gatepost_send_through_the_gate", "unknown")?;
    hub.configure(&with)?;
    hub.hang_up()?;
    are(&home, &hubs)?;
    ensure!(home.complaints()?.is_empty(), "{:#?}", home.complaints()?);
    Ok(())
}

/// The lines of a block, each behind this.
fn behind(block: &str, first: &str, rest: &str) -> String {
    let lines = block.lines().enumerate();
    lines.map(|(n, line)| format!("{}{line}\n", if n == 0 { first } else { rest })).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_automation_of_the_guide_goes_on_with_a_yes_and_not_with_a_no() -> Result<()> {
    let broker = Mosquitto::start()?;
    let mut fixture = TestHub::start(CONFIG).await?;
    let house = fixture.agent("house").await?;
    let command = block("ask.md", "rest_command:")?;
    let command = command
        .replace("https://gatepost.home", house.base())
        .replace("!secret gatepost_token", &format!("Bearer {}", house.token()));
    let commands = command.strip_prefix("rest_command:\n").context("its section")?;
    let home = HomeAssistant::start(
        &broker,
        &House {
            automations: behind(&block("ask.md", "alias: Open the gate")?, "- ", "  "),
            rest_commands: commands
                .lines()
                .map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line)))
                .collect(),
            blueprints: vec![],
        },
    )?;
    // What the automation starts with is no entity of its own: any will do.
    let parcel = |state: &str| home.set("input_boolean.parcel", state);
    parcel("off")?;
    for (verdict, gate) in [(Verdict::Deny, "off"), (Verdict::Approve, "on")] {
        parcel("on")?;
        let seen = fixture.decide(verdict).await?;
        ensure!(format!("{seen:?}").contains("parcel"), "{seen:?}");
        home.entity_when("automation.open_the_gate_for_a_parcel", |one| one["attributes"]["current"] == 0)?;
        home.is("input_boolean.gate", gate)?;
        parcel("off")?;
    }
    ensure!(home.complaints()?.is_empty(), "{:#?}", home.complaints()?);
    Ok(())
}
