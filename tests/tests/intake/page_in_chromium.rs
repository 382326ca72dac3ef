//! The page in a browser, as the hub itself serves it: what `tests/web/real` has.
//!
//! Installed by `tests/run --setup-only`: Node, Chromium, and in tests/web/node_modules what drives and judges it.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::program::program;

#[test]
fn a_person_signs_in_with_a_browser_and_sees_what_the_page_was_tried_with() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // It ends by itself: each flow has 90 s.
    let ran = Command::new("node")
        .args(["tests/web/run.mjs", "--real"])
        .arg(program()?)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .context("node is missing: run `tests/run --setup-only`")?;
    let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "{said}");
    Ok(())
}
