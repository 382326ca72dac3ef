//! `gatepost companion install`: from a board that was never used to one that decides, in one command. The stand-in for the chip's ROM
//! takes the firmware; what "runs" then is QEMU's board, which is told its network by Improv and its hub by a line.
//!
//! Installed by `tests/run --setup-only`: QEMU.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::Arc,
    thread,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_build::development;
use gatepost_link::update::Version;
use gatepost_sign::image::Board as Signed;
use gatepost_tests::{
    hub::{
        SpawnedHub, TestHub,
        client::text,
        engineer, eventually,
        program::{Ended, flasher},
    },
    peers::esp_rom::{EspRom, Fault, pseudo_terminal},
    release::Release,
};
use serde_json::{Value, json};

const C3: u32 = 5;
const VERSION: Version = Version { major: 1, minor: 4, patch: 0 };

/// A hub that takes what the development root's key signed.
async fn hub() -> Result<TestHub> {
    flasher()?;
    let root = development::path();
    let root = root.to_str().context("a path")?;
    let config = format!("{}\n[updates]\nroot = {root:?}\n", engineer("ttl = \"10m\"", ""));
    let mut hub = TestHub::start_in(Arc::new(tempfile::tempdir()?), &config).await?;
    hub.switch_off();
    Ok(hub)
}

/// A file with the network's password.
fn password(hub: &TestHub, text: &str) -> Result<String> {
    let file: PathBuf = hub.folder().path().join("wifi");
    fs::write(&file, text)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    Ok(format!("file:{}", file.display()))
}

fn install(hub: &TestHub, rom: &EspRom, more: &[&str], typed: &[u8]) -> Result<Ended> {
    let port = rom.port();
    let port = port.to_str().context("a path")?;
    hub.cli_told(&[&["companion", "install", "--port", port], more].concat(), typed)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_command_makes_a_new_board_a_companion_that_decides() -> Result<()> {
    let mut hub = hub().await?;
    let image = Signed::Esp32c3.image_with(VERSION, &[7; 100_000]);
    let release = Release::new("esp32c3", VERSION, image.clone())?;
    let file = release.write(hub.folder(), development::RELEASE_SEED)?;
    hub.cli(&["ota", "add", file.to_str().context("a path")?])?.well()?;

    let mut board = hub.blank_board()?;
    let rom = EspRom::before(C3, board.qemu()?.line())?;
    let (address, password) = (board.hub_address(), password(&hub, "correct horse")?);
    let more = ["--wifi", "QEMU", "--wifi-password", &password, "--broker", &address, "--name", "shelf"];
    let (installed, shown) = thread::scope(|scope| {
        let shell = scope.spawn(|| install(&hub, &rom, &more, b"yes\n"));
        let shown = board.view_after_long("the number", |view| view.starts_with("Pairing"));
        if shown.is_ok() {
            board.qemu()?.hold()?;
        }
        let installed = shell.join().expect("it does not panic")?;
        let shown = shown.with_context(|| format!("{installed:?}"))?;
        anyhow::Ok((installed, shown))
    })?;
    for said in [
        "it is an esp32c3",
        "writing firmware 1.4.0",
        "verified by the chip",
        "it is in the network",
        "it looks for the hub at 10.0.2.2:",
        "paired: shelf",
    ] {
        ensure!(installed.status == 0 && installed.stderr.contains(said), "{said}: {installed:?}");
    }
    ensure!(!installed.stderr.contains("horse"), "{installed:?}");
    ensure!(rom.flash()[0x1_0000..][..image.len()] == image, "the firmware of the hub's release");
    let said: u32 = installed.stdout.replace([' ', '\n'], "").parse()?;
    ensure!(shown.contains(&format!("code: {said},")), "{said} at the hub, {shown} at the device");
    board.view("the board is in a session", |view| view == "Idle")?;

    let agent = hub.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    board.approve()?;
    agent.ended(text(&held, "id"), "sent")?;
    board.cut_power()?;
    let network = board.kept()?.network.context("it keeps its network")?;
    ensure!((network.ssid.as_str(), network.password.as_str()) == ("QEMU", "correct horse"), "{network:?}");
    ensure!(address == format!("{}:{}", network.host, network.port), "{network:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_is_not_joined_is_said_and_not_kept() -> Result<()> {
    let hub = hub().await?;
    let mut board = hub.blank_board()?;
    let line = EspRom::running(board.qemu()?.line())?;
    let (address, password) = (board.hub_address(), password(&hub, "correct horse")?);
    let more = ["--keep-firmware", "--wifi", "Elsewhere", "--wifi-password", &password, "--broker", &address];
    let refused = install(&hub, &line, &more, b"")?;
    for said in ["could not join the network", "keeps what it knew before"] {
        ensure!(refused.status == 1 && refused.stderr.contains(said), "{said}: {refused:?}");
    }
    ensure!(!refused.stderr.contains("the board has its firmware"), "nothing was written: {refused:?}");
    drop(line);
    board.cut_power()?;
    ensure!(board.kept()?.network.is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_go_well_is_refused_before_the_board_is_touched() -> Result<()> {
    let hub = hub().await?;
    let rom = EspRom::start(C3, Fault::None)?;
    let password = password(&hub, "correct horse")?;
    let missing = rom.port().with_file_name("ttyACM7");
    let missing = missing.to_str().context("a path")?;
    for (more, said) in [
        (&["--wifi", "home", "--broker", "hub"][..], "--wifi-password file:PATH"),
        (
            &["--wifi", "home", "--wifi-password", "correct horse", "--broker", "hub"],
            "never the password itself",
        ),
        (
            &["--wifi", "home", "--wifi-password", &password, "--broker", "hub"],
            "no release of firmware for this board",
        ),
        (&["--port", missing, "--broker", "hub"], "cannot be used multiple times"),
        (&["--broker", "hub", "--image", "/dev/null"], "no companion's firmware"),
    ] {
        let refused = install(&hub, &rom, more, b"")?;
        ensure!(refused.status != 0 && refused.stderr.contains(said), "{said}: {refused:?}");
        ensure!(!refused.stderr.contains("not whole"), "{refused:?}");
    }
    let refused = hub.cli(&["companion", "install", "--port", missing, "--broker", "hub"])?;
    ensure!(refused.stderr.contains("plug the board in with a cable that carries data"), "{refused:?}");
    ensure!(rom.flash().iter().all(|byte| *byte == 0xff) && rom.frames() == 0);
    Ok(())
}

/// The last thing of a call that is told as events, and all of it.
fn told(hub: &SpawnedHub, order: &Value) -> Result<(u16, String)> {
    let answer = hub.operator()?.post("/v1/boards", order)?;
    Ok((answer.status, answer.body.as_str().map_or_else(|| answer.body.to_string(), str::to_owned)))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_has_a_board_written_and_told_its_network_by_the_hub() -> Result<()> {
    let at_home = hub().await?;
    let root = development::path();
    let mut hub = SpawnedHub::start(&format!(
        "{}\n[updates]\nroot = {:?}\n",
        engineer("ttl = \"10m\"", ""),
        root.to_str().context("a path")?
    ))?;
    let image = Signed::Esp32c3.image_with(VERSION, &[7; 100_000]);
    let release = Release::new("esp32c3", VERSION, image.clone())?;
    let mut board = at_home.blank_board()?;
    let rom = EspRom::before(C3, board.qemu()?.line())?;
    let address = board.hub_address();
    let order =
        json!({"port": rom.port(), "network": "QEMU", "password": "correct horse", "broker": address});

    let (status, said) = told(&hub, &order)?;
    ensure!(status == 200 && said.contains("event: failed") && said.contains("gatepost ota add"), "{said}");
    ensure!(rom.flash().iter().all(|byte| *byte == 0xff), "nothing was written");
    let file = release.write(hub.folder(), development::RELEASE_SEED)?;
    hub.cli(&["ota", "add", file.to_str().context("a path")?])?.well()?;
    let (status, said) = told(&hub, &order)?;
    for step in [
        r#"{"board":"esp32c3","step":"board"}"#,
        r#"{"step":"begins","version":"1.4.0"}"#,
        r#"{"percent":100,"step":"written"}"#,
        r#"{"step":"verified"}"#,
        r#"{"step":"joined"}"#,
        r#"{"step":"hub_kept"}"#,
        "event: done",
    ] {
        ensure!(status == 200 && said.contains(step), "{step}: {said}");
    }
    ensure!(rom.flash()[0x1_0000..][..image.len()] == image, "the firmware of the hub's release");
    ensure!(!said.contains("horse") && !hub.log()?.contains("horse"), "the password is told");
    board.cut_power()?;
    let network = board.kept()?.network.context("it keeps its network")?;
    ensure!((network.ssid.as_str(), network.password.as_str()) == ("QEMU", "correct horse"), "{network:?}");
    ensure!(address == format!("{}:{}", network.host, network.port), "{network:?}");
    hub.terminate()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_writes_nothing_that_is_no_board_nothing_for_an_agent_and_one_at_a_time() -> Result<()> {
    let mut hub = SpawnedHub::start(&engineer("ttl = \"10m\"", ""))?;
    flasher()?;
    let listed = hub.operator()?.get("/v1/boards")?.taken()?;
    ensure!(
        listed["ports"].is_array() && text(&listed, "broker_unknown_because").contains("127.0.0.1"),
        "{listed}"
    );
    let file = hub.folder().path().join("file");
    fs::write(&file, "")?;
    let (silent, port) = pseudo_terminal()?;
    let port = port.to_str().context("a path")?;
    let odd = |port: &str| json!({"port": port, "broker": "hub.home"});
    for (order, said) in [
        (odd(file.to_str().context("a path")?), "there is no such serial port"),
        (odd("/dev/shm"), "there is no such serial port"),
        (odd("/dev/../etc/passwd"), "there is no such serial port"),
        (odd("/dev/null"), "there is no such serial port"),
        (odd("/dev/tty"), "there is no such serial port"),
        (odd("/dev/ptmx"), "there is no such serial port"),
        (json!({"port": port}), "the hub's broker listens on 127.0.0.1 alone"),
        (json!({"port": port, "broker": ""}), "HOST or HOST:PORT"),
        (json!({"port": port, "broker": "h", "network": "n".repeat(33)}), "1 to 32 bytes"),
        (json!({"port": port, "broker": "h", "network": "n", "password": "short"}), "8 to 63"),
        (json!({"port": port, "broker": "h", "password": "no network"}), "a password and no network"),
        // What is no text, or has another name, may be a password all the same.
        (json!({"port": port, "network": "n", "password": 24_681_357}), "this says of no board"),
        (json!({"port": port, "network": "n", "passwort": "24681357"}), "this says of no board"),
    ] {
        let (status, body) = told(&hub, &order)?;
        ensure!(status >= 400 && body.contains(said), "{order}: {status} {body}");
        ensure!(!body.contains("24681357"), "a password is repeated: {body}");
    }
    let agent = hub.agent("engineer")?;
    ensure!(
        agent.get("/v1/boards")?.status == 403 && agent.post("/v1/boards", &odd("/dev/null"))?.status == 403
    );

    // A chip that says nothing is waited for; whoever hangs up stops that, and the port is free again.
    let order = odd(port);
    let body = order.to_string();
    let mut caller = TcpStream::connect(("127.0.0.1", hub.port()))?;
    write!(
        caller,
        "POST /v1/boards HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        hub.operator()?.token(),
        body.len(),
    )?;
    // It is answered once the port is its own.
    let mut head = [0; 15];
    caller.read_exact(&mut head)?;
    ensure!(&head == b"HTTP/1.1 200 OK", "{}", String::from_utf8_lossy(&head));
    let (status, body) = told(&hub, &order)?;
    ensure!(status == 429 && body.contains("a board is being installed"), "{status} {body}");
    drop(caller);
    let odd = json!({"port": port, "broker": "h", "network": "n".repeat(33)});
    eventually("it has stopped", || Ok((told(&hub, &odd)?.0 == 400).then_some(())))?;
    drop(silent);
    hub.terminate()?;
    let kept = fs::read(hub.data_dir().join("gatepost.db"))?;
    let has = |text: &str| kept.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    ensure!(has("this says of no board") && !has("24681357"), "the audit has a password in it");
    Ok(())
}
