//! The blocks that are really run: those of a document, one after the other, in one shell and in one folder.
//!
//! - ```` ```toml run ```` is put behind what is in `gatepost.toml`;
//! - ```` ```sh run ```` is run; it must do well;
//! - ```` ```sh hub ```` starts a hub, which must become ready;
//! - a ```` ```text ```` block behind one of these is what it prints. `…` stands for anything on a line, and a line of `…` for
//!   any lines; runs of spaces count as one.
//!
//! Addresses alone are other ones than a reader has: the usual ports may be taken.

use std::{fs, fs::File, os::unix::fs::symlink, process::Command};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{hub::program, peers::free_port};

use crate::documents::{Block, Document};

/// Gives a new configuration addresses of its own, and stops the hub at the end.
const PRELUDE: &str = r#"
addresses() {
    [ -e gatepost.toml ] || return 0
    if ! grep -q "^listen = \"127.0.0.1:$HTTP_PORT\"$" gatepost.toml; then
        sed -i '/^listen = /d' gatepost.toml
        grep -q '^\[hub\]$' gatepost.toml || printf '\n[hub]\n' >> gatepost.toml
        grep -q '^\[broker\]$' gatepost.toml || printf '\n[broker]\n' >> gatepost.toml
        sed -i "s/^\[hub\]$/&\nlisten = \"127.0.0.1:$HTTP_PORT\"/; s/^\[broker\]$/&\nlisten = \"127.0.0.1:$BROKER_PORT\"/" gatepost.toml
    fi
}
ready() {
    for _ in $(seq 1200); do
        grep -q 'ready at' "$1" && return 0
        kill -0 $! || { cat "$1" >&2; return 1; }
        sleep 0.05
    done
    return 1
}
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
"#;

/// Runs what is to be run in a document.
pub(crate) fn run(document: &Document) -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("bin"))?;
    symlink(program()?, folder.path().join("bin/gatepost"))?;
    fs::create_dir(folder.path().join("here"))?;
    let path = std::env::var("PATH").context("there is a PATH")?;
    let script: String = (0..).zip(&document.blocks).map(|(number, block)| step(number, block)).collect();
    let log = folder.path().join("log");
    let status = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &format!("{PRELUDE}{script}")])
        .current_dir(folder.path().join("here"))
        .env("PATH", format!("{}:{path}", folder.path().join("bin").display()))
        .env("HOME", folder.path())
        .env("HTTP_PORT", free_port()?.to_string())
        .env("BROKER_PORT", free_port()?.to_string())
        .env_remove("GATEPOST_CONFIG")
        .env_remove("GATEPOST_HUB")
        .env_remove("GATEPOST_TOKEN")
        .env_remove("GATEPOST_LOG")
        .stderr(File::create(&log)?)
        .stdout(File::options().append(true).open(&log)?)
        .status()?;
    let printed = |number: usize| fs::read_to_string(folder.path().join(format!("{number}.out")));
    if !status.success() {
        let last = (0..document.blocks.len()).rev().find_map(|number| printed(number).ok());
        anyhow::bail!(
            "{}: {status}\n{}\n{}",
            document.path.display(),
            last.unwrap_or_default(),
            fs::read_to_string(log)?
        );
    }
    for (number, pair) in document.blocks.windows(2).enumerate() {
        let [block, output] = pair else { continue };
        if is_run(block) && output.language == "text" {
            let printed = printed(number)?;
            let at = document.at(output);
            let (expected, found): (Vec<_>, Vec<_>) =
                (output.text.lines().collect(), printed.lines().collect());
            ensure!(fits(&expected, &found), "{at}: this is printed instead:\n{printed}");
        }
    }
    Ok(())
}

/// Whether a block is to be run.
pub(crate) fn is_run(block: &Block) -> bool {
    matches!((&*block.language, &*block.marker), ("sh", "run" | "hub"))
}

fn step(number: usize, Block { language, marker, text, .. }: &Block) -> String {
    match (&**language, &**marker) {
        ("sh", "run") => format!("{{\n{text}}} > ../{number}.out 2>&1\naddresses\n"),
        ("sh", "hub") => {
            let command = text.trim_end();
            format!("{command} > ../{number}.out 2>&1 &\nready ../{number}.out\n")
        }
        ("toml", "run") => {
            format!("cat >> gatepost.toml <<'END_OF_BLOCK'\n\n{text}END_OF_BLOCK\naddresses\n")
        }
        _ => String::new(),
    }
}

/// Whether lines are as they are expected.
fn fits(expected: &[&str], found: &[&str]) -> bool {
    match (expected.split_first(), found.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => {
            (0..=found.len()).any(|skipped| found.get(skipped..).is_some_and(|found| fits(rest, found)))
        }
        (Some((line, rest)), Some((other, others))) => line_fits(line, other) && fits(rest, others),
        _ => false,
    }
}

fn line_fits(expected: &str, found: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (expected, found) = (plain(expected), plain(found));
    let mut pieces = expected.split('…').map(str::trim);
    let Some(mut rest) = pieces.next().and_then(|first| found.strip_prefix(first)) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.split_once(piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    true
}

#[test]
fn what_is_printed_fits_what_is_expected() {
    assert!(fits(&["a … b", "…", "z"], &["a 1  2 b", "x", "y", "z"]));
    assert!(fits(&["…", "z"], &["z"]) && fits(&["a  b"], &["a b "]) && fits(&["m… x …"], &["m12 x yz"]));
    assert!(!fits(&["a … b"], &["a 1 c"]) && !fits(&["a"], &["a", "b"]) && !fits(&["a", "…"], &["b"]));
    assert!(!fits(&["a"], &["ab"]));
}
