//! The program `gatepost-flash`, which uses the port: found beside this one, told secrets on its standard input, heard a line of JSON
//! at a time. It ends with whoever waits for it; when the hub is killed, it ends by itself, but for a board that is being written.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
    time::timeout,
};

use super::Step;
use crate::printing::visible_line;

/// Its name.
const PROGRAM: &str = "gatepost-flash";
/// Where a package has it, from the folder of this program.
const PACKAGED: &str = "../libexec";
/// Bytes of all that it may say.
const MAX_SAID: u64 = 1024 * 1024;

/// It is never so long silent: the longest that it waits for is a board that joins its network, some 75 s.
const SILENCE: Duration = Duration::from_secs(150);

/// Why a board could not be made a companion.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The program is not beside the hub's.
    #[error(
        "{PROGRAM} is missing beside {}: the Debian package has it, and `cargo build --release --package {PROGRAM}` makes it",
        .0.display()
    )]
    Missing(PathBuf),
    /// It could not be started, or not be heard.
    #[error("cannot run {}: {error}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// What it says itself, with what to do.
    #[error("{0}")]
    Failed(String),
}

/// The program and the port that it is to use.
#[derive(Debug)]
pub struct Flasher {
    program: PathBuf,
    port: PathBuf,
}

impl Flasher {
    /// The program of this one's version, for a board on this port.
    ///
    /// # Errors
    /// It is not where this program is, nor where a package has it.
    pub fn find(port: &Path) -> Result<Self, InstallError> {
        let here = std::env::current_exe()
            .map_err(|error| InstallError::Program { program: PROGRAM.into(), error })?;
        let folder = here.parent().unwrap_or(Path::new("/"));
        let places = [folder.join(PROGRAM), folder.join(PACKAGED).join(PROGRAM)];
        let program = places
            .into_iter()
            .find(|place| place.is_file())
            .ok_or_else(|| InstallError::Missing(here.clone()))?;
        Ok(Self { program, port: port.into() })
    }

    /// The port.
    pub fn port(&self) -> &Path {
        &self.port
    }

    /// Has it do something, with a file where that takes one, and with this input; what happens meanwhile is told.
    pub(super) async fn run(
        &self,
        what: &str,
        file: Option<&str>,
        input: &[u8],
        mut tell: impl FnMut(Step),
    ) -> Result<(), InstallError> {
        let mut command = Command::new(&self.program);
        // What is given may begin with a dash.
        let port = [OsStr::new("--port="), self.port.as_os_str()].join(OsStr::new(""));
        command.arg(what).arg(port).arg("--").args(file);
        // The hub's and the shell's environment has secrets in it, and is to be read in /proc for as long as the program runs.
        command.env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        // A Ctrl-C at the terminal is this program's to answer.
        command.process_group(0);
        let cannot = |error| InstallError::Program { program: self.program.clone(), error };
        let mut child = command.spawn().map_err(cannot)?;
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // One that has ended already says why.
                let _ = stdin.write_all(input).await;
            }
        };
        let output = child.stdout.take();
        let silent = || {
            InstallError::Failed(format!(
                "{PROGRAM} says nothing more: unplug the board, plug it in, and try again"
            ))
        };
        let mut why = None;
        let listen = async {
            let Some(output) = output else { return Ok(()) };
            let mut lines = BufReader::new(output.take(MAX_SAID)).lines();
            while let Some(line) =
                timeout(SILENCE, lines.next_line()).await.map_err(|_| silent())?.map_err(cannot)?
            {
                let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
                let text = |name| event.get(name).and_then(Value::as_str).unwrap_or_default();
                match text("event") {
                    "error" => why = Some(visible_line(text("text")).into_owned()),
                    _ => Step::of(&event).into_iter().for_each(&mut tell),
                }
            }
            Ok(())
        };
        // What it says is heard while it is told: neither waits for room in the other's pipe.
        let (heard, ()) = tokio::join!(listen, feed);
        heard?;
        let status = timeout(SILENCE, child.wait()).await.map_err(|_| silent())?.map_err(cannot)?;
        match why {
            None if status.success() => Ok(()),
            why => Err(InstallError::Failed(why.unwrap_or_else(|| format!("{PROGRAM}: {status}")))),
        }
    }
}
