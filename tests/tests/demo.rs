//! `gatepost demo`, unattended and with a person at a terminal.

use anyhow::{Result, ensure};
use gatepost_tests::hub::{gatepost, gatepost_at_a_terminal};

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
