//! The program `gatepost-flash`, which uses the port: found beside this one, told secrets on its standard input, heard a line of JSON
//! at a time. It ends with whoever waits for it.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use crate::{
    cli::{Failed, output::text},
    printing::visible_line,
};

/// Its name.
const PROGRAM: &str = "gatepost-flash";
/// Where a package has it, from the folder of this program.
const PACKAGED: &str = "../libexec";
/// Bytes of all that it may say.
const MAX_SAID: u64 = 1024 * 1024;

/// The program and the port that it is to use.
#[derive(Debug)]
pub(super) struct Flasher {
    program: PathBuf,
    port: PathBuf,
}

impl Flasher {
    /// The program of this one's version.
    pub(super) fn find(port: &Path) -> Result<Self, Failed> {
        let here = std::env::current_exe().map_err(Failed::refused)?;
        let folder = here.parent().unwrap_or(Path::new("/"));
        let places = [folder.join(PROGRAM), folder.join(PACKAGED).join(PROGRAM)];
        let program = places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
            Failed::Refused(format!(
                "{PROGRAM} is missing beside {}: the Debian package has it, and `cargo build --release --package {PROGRAM}` makes it",
                here.display()
            ))
        })?;
        Ok(Self { program, port: port.into() })
    }

    pub(super) fn port(&self) -> &Path {
        &self.port
    }

    /// Has it do something with this input; what happens meanwhile is heard.
    pub(super) async fn run(
        &self,
        arguments: &[&str],
        input: &[u8],
        mut heard: impl FnMut(&Value),
    ) -> Result<(), Failed> {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--port").arg(&self.port);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        // A Ctrl-C at the terminal is this program's to answer.
        command.process_group(0);
        let cannot = |error: std::io::Error| {
            Failed::Refused(format!("cannot run {}: {error}", self.program.display()))
        };
        let mut child = command.spawn().map_err(cannot)?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that has ended already says why.
            let _ = stdin.write_all(input).await;
        }
        let mut why = None;
        if let Some(output) = child.stdout.take() {
            let mut lines = BufReader::new(output.take(MAX_SAID)).lines();
            while let Some(line) = lines.next_line().await.map_err(cannot)? {
                let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
                match text(&event, "event") {
                    "error" => why = Some(visible_line(text(&event, "text")).into_owned()),
                    _ => heard(&event),
                }
            }
        }
        let status = child.wait().await.map_err(cannot)?;
        match why {
            None if status.success() => Ok(()),
            why => Err(Failed::Refused(why.unwrap_or_else(|| format!("{PROGRAM}: {status}")))),
        }
    }
}
