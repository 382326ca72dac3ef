//! `gatepost demo`, unattended and with a person at a terminal, with the companion in the terminal and as a board.
//!
//! Installed by `tests/run --setup-only`: a terminal, QEMU.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{gatepost, gatepost_at_a_terminal},
    peers::qemu::picture::Picture,
};

#[test]
fn the_demo_approves_one_message_and_denies_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let dir = folder.path().to_str().unwrap_or("");
    // Twice in the same directory: the second time finds what the first one left.
    for _ in 0..2 {
        let told = gatepost(&["demo", "--decide", "approve", "--dir", dir], b"", &[])?.well()?;
        for words in [
            "Held as m",
            "agent: engineer",
            "to: team",
            "Approved, signed, verified, and sent",
            "receipt for part 2: confirmed as local:",
            "sync # 60",
            "That is all. Good morning!",
            "Denied. The agent is told",
            "because Ann (local:ann) wrote",
            "A stranger writes to the agent",
            "Come in, the door is open.",
            "chain of hashes is whole",
        ] {
            ensure!(told.contains(words), "{words:?} is missing in:\n{told}");
        }
        // The second message is shown to the person, and to nobody else.
        let (_, after) = told.split_once("Denied. The agent is told").unwrap_or_default();
        ensure!(!after.contains("4711"), "{after}");
        let inbox = told.lines().filter(|line| line.starts_with("--- local:team, part")).count();
        ensure!(inbox > 1, "{told}");
        // Code arrives whole, in its order.
        let steps: Vec<&str> = told.lines().filter(|line| line.starts_with("sync # ")).collect();
        ensure!(
            steps
                .iter()
                .rev()
                .take(15)
                .rev()
                .eq((1..=15).map(|n| format!("sync # {}", 4 * n)).collect::<Vec<_>>().iter()),
            "{steps:?}"
        );
    }
    Ok(())
}

#[test]
fn the_demo_denies_both_messages_and_sends_neither() -> Result<()> {
    let told = gatepost(&["demo", "--decide", "deny"], b"", &[])?.well()?;
    let denied = told.matches("Denied. The agent is told").count();
    ensure!(denied == 2, "{told}");
    ensure!(told.contains("nobody is asked about them again") && !told.contains("Come in"), "{told}");
    ensure!(!told.contains("--- local:team") && !told.contains("Approved"), "{told}");
    Ok(())
}

#[test]
fn the_demo_without_a_terminal_wants_to_be_told_who_decides() -> Result<()> {
    let refused = gatepost(&["demo"], b"", &[])?;
    ensure!(refused.status == 2, "{refused:?}");
    ensure!(
        refused.stderr.contains("no terminal") && refused.stderr.contains("--decide approve"),
        "{refused:?}"
    );
    ensure!(refused.stdout.is_empty(), "{refused:?}");
    Ok(())
}

/// Reads every page, holds too shortly, then long enough; denies the second. Both kinds of terminals there are: those that
/// tell when a key comes up, and those that only repeat it.
#[test]
fn a_person_at_a_terminal_of_either_kind_decides() -> Result<()> {
    for kind in ["plain", "kitty"] {
        let ended = gatepost_at_a_terminal(kind, &["demo"])?;
        ensure!(ended.status == 0, "{kind}: {ended:?}");
        ensure!(ended.stdout.contains("chain of hashes is whole"), "{kind}: {ended:?}");
        ensure!(ended.stdout.contains("\u{1b}[?25h"), "{kind}: the cursor is not given back");
    }
    Ok(())
}

/// The first of the pictures in a folder whose names end with this: their names begin with their number. The end of a card is seen
/// once for each of the two that end so.
fn kept(folder: &Path, end: &str) -> Result<Picture> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?.path();
        if file.to_string_lossy().ends_with(end) {
            found.push(file);
        }
    }
    found.sort();
    ensure!(found.len() <= 2, "{end} is there more than twice: {found:?}");
    Picture::read(found.first().with_context(|| format!("no picture {end}"))?)
}

#[test]
fn the_demo_pairs_a_board_which_approves_one_message_and_denies_one_and_its_screens_are_kept() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (dir, pictures) = (folder.path().join("hub"), folder.path().join("pictures"));
    let arguments: [&str; 8] = [
        "demo",
        "--companion",
        "qemu",
        "--decide",
        "approve",
        "--dir",
        dir.to_str().context("UTF-8")?,
        "--screenshots",
    ];
    let told =
        gatepost(&[&arguments[..], &[pictures.to_str().context("UTF-8")?]].concat(), b"", &[])?.well()?;
    for words in [
        "A board has started in QEMU",
        "Both show a number",
        "They are paired",
        "Held as m",
        "Approved, signed, verified, and sent",
        "receipt for part 2: confirmed as local:",
        "That is all. Good morning!",
        "Denied. The agent is told",
        "chain of hashes is whole",
    ] {
        ensure!(told.contains(words), "{words:?} is missing in:\n{told}");
    }
    for (end, golden) in [
        ("-unpaired.png", "pairing-0-unpaired"),
        ("-approved.png", "approved-2"),
        ("-denied.png", "denied-2"),
    ] {
        ensure!(kept(&pictures, end)? == Picture::golden(golden)?, "{end} is not {golden}");
    }
    // The report has more pages than one, and each was on the screen.
    let pages = |name: &str| kept(&pictures, name);
    ensure!(pages("-page-5.png")? != pages("-page-6.png")?);

    // In the same directory another board takes the place of the first.
    let told = gatepost(&[&arguments[..4], &["deny"], &arguments[5..7]].concat(), b"", &[])?.well()?;
    ensure!(told.matches("Denied. The agent is told").count() == 2, "{told}");
    Ok(())
}

#[test]
fn the_demo_says_what_a_board_lacks() -> Result<()> {
    let refused = gatepost(&["demo", "--decide", "approve", "--screenshots", "pictures"], b"", &[])?;
    ensure!(refused.status == 2 && refused.stderr.contains("add --companion qemu"), "{refused:?}");
    let qemu = ["demo", "--companion", "qemu", "--decide"];
    let without = gatepost(&[&qemu[..], &["approve"]].concat(), b"", &[("PATH", "/nowhere")])?;
    ensure!(
        without.status == 1 && without.stderr.contains("apt-get install qemu-system-misc"),
        "{without:?}"
    );
    let blind = [("DISPLAY", ""), ("WAYLAND_DISPLAY", "")];
    let blind = gatepost(&[&qemu[..], &["ask"]].concat(), b"", &blind)?;
    ensure!(blind.status == 1 && blind.stderr.contains("use --decide approve"), "{blind:?}");
    Ok(())
}
