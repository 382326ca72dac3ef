//! The tool that makes images for these chips, in one version for everybody: installed once, beside what was built.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Context as _, Result};

use crate::{cargo, root, run};

/// <https://github.com/esp-rs/espflash>
const VERSION: &str = "4.7.0";

/// The tool, installed if it is not.
pub(super) fn espflash() -> Result<Command> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = std::path::absolute(root().join(target).join(format!("tools/espflash-{VERSION}")))?;
    let program = folder.join("bin/espflash");
    if !program.is_file() {
        println!("compiling espflash {VERSION}, once: some minutes");
        // Unoptimised: it runs for a second. Without its feature that asks the registry for a newer one.
        let mut install = cargo();
        install.args([
            "install",
            "--quiet",
            "--locked",
            "--debug",
            "--no-default-features",
            "--features",
            "cli",
        ]);
        install.arg("--root").arg(&folder).arg(format!("espflash@{VERSION}"));
        run(&mut install).context("espflash makes the image")?;
    }
    Ok(Command::new(program))
}
