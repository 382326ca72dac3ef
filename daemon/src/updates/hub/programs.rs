//! The programs that the helper runs: by their whole paths, with an environment of its own, within a time, each line looked at as it
//! comes and only the last ones kept.

use std::{process::Stdio, time::Duration};

use tokio::{
    io::{AsyncRead, BufReader},
    process::Command,
    time::{sleep, timeout},
};

use crate::{
    lines::{self, Line},
    program::Running,
};

/// What every program gets, and no more. Nobody is there to answer a question.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/root"),
    ("LC_ALL", "C.UTF-8"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("APT_LISTCHANGES_FRONTEND", "none"),
    ("NEEDRESTART_SUSPEND", "1"),
];
/// The longest line that is looked at, in bytes.
const MAX_LINE: u64 = 4_096;
/// What is kept of what a program writes to stdout: the last so many bytes.
const MAX_KEPT: usize = 64 * 1024;
/// What is kept of what it writes to stderr.
const MAX_SAID: usize = 2_048;
/// How long a program's output is read after its end: a service that it started may hold its pipes open for good.
const GRACE: Duration = Duration::from_secs(1);

/// A program that is about to be run.
#[derive(Debug)]
pub(super) struct Run<'a> {
    /// Its whole path.
    pub(super) program: &'a str,
    /// Its arguments.
    pub(super) arguments: &'a [&'a str],
    /// What its environment has beside [`ENVIRONMENT`].
    pub(super) more: &'a [(&'a str, &'a str)],
    /// How long it may take.
    pub(super) within: Duration,
}

/// Why what a program was run for is not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotDone {
    /// It cannot be run.
    #[error("{0} cannot be run: {1}")]
    Start(String, std::io::Error),
    /// It took too long, and was ended.
    #[error("{0} had not ended after {1} seconds")]
    Late(String, u64),
    /// It says so.
    #[error("{0}: {1}")]
    Failed(String, String),
}

impl<'a> Run<'a> {
    /// With nothing more in its environment.
    pub(super) const fn new(program: &'a str, arguments: &'a [&'a str], within: Duration) -> Self {
        Self { program, arguments, more: &[], within }
    }

    /// Runs it; what it wrote to stdout.
    pub(super) async fn done(self) -> Result<String, NotDone> {
        self.watched(|_| {}).await
    }

    /// Runs it, and shows each line of stdout to `look`.
    pub(super) async fn watched(self, mut look: impl FnMut(&str)) -> Result<String, NotDone> {
        let name = self.program.rsplit('/').next().unwrap_or(self.program).to_owned();
        let mut command = Command::new(self.program);
        command.args(self.arguments).env_clear().envs(ENVIRONMENT).envs(self.more.iter().copied());
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        tracing::info!(arguments = self.arguments.join(" "), "runs {}", self.program);
        let mut running =
            Running::start(&mut command).map_err(|error| NotDone::Start(name.clone(), error))?;
        let (_, stdout, stderr) = running.pipes();
        let (mut kept, mut said) = (String::new(), String::new());
        let work = async {
            let read = async {
                let out = tail(stdout, MAX_KEPT, &mut kept, &mut look);
                tokio::join!(out, tail(stderr, MAX_SAID, &mut said, |_| {}))
            };
            tokio::pin!(read);
            let (mut over, mut status) = (false, None);
            loop {
                tokio::select! {
                    _ = &mut read, if !over => over = true,
                    ended = running.ended(), if status.is_none() => status = Some(ended),
                    () = sleep(GRACE), if status.is_some() => over = true,
                }
                match status.take() {
                    Some(status) if over => break status,
                    left => status = left,
                }
            }
        };
        let ended = timeout(self.within, work).await;
        let status = match ended {
            Err(_) => return Err(NotDone::Late(name, self.within.as_secs())),
            Ok(Err(error)) => return Err(NotDone::Start(name, error)),
            Ok(Ok(status)) => status,
        };
        if status.success() {
            return Ok(kept);
        }
        let words = if said.trim().is_empty() { kept.trim() } else { said.trim() };
        Err(NotDone::Failed(name, if words.is_empty() { status.to_string() } else { words.to_owned() }))
    }
}

/// Reads to the end, and keeps the last `most` bytes.
async fn tail(
    pipe: Option<impl AsyncRead + Unpin>,
    most: usize,
    kept: &mut String,
    mut look: impl FnMut(&str),
) {
    let Some(pipe) = pipe else { return };
    let (mut input, mut line) = (BufReader::new(pipe), vec![]);
    // A pipe that breaks is as good as one that ends: the program's status says how it went.
    while let Ok(read @ (Line::Whole | Line::TooLong)) = lines::read(&mut input, MAX_LINE, &mut line).await {
        if read == Line::TooLong {
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        look(text.trim_end());
        kept.push_str(&text);
        while kept.len() > most {
            let first = kept.find('\n').map_or(kept.len(), |at| at + 1);
            kept.drain(..first);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    async fn shell(script: &str, within: Duration) -> Result<String, NotDone> {
        Run::new("/bin/sh", &["-c", script], within).done().await
    }

    #[tokio::test]
    async fn a_program_gets_nothing_of_this_ones_environment_and_its_lines_are_seen_as_they_come() {
        let mut seen = vec![];
        let run = Run { more: &[("MORE", "1")], ..Run::new("/usr/bin/env", &[], Duration::from_secs(9)) };
        let all = run.watched(|line| seen.push(line.to_owned())).await.unwrap();
        assert_eq!(seen.join("\n"), all.trim_end());
        seen.sort();
        assert_eq!(seen.len(), ENVIRONMENT.len() + 1, "{seen:?}");
        assert!(
            seen.contains(&"PATH=/usr/sbin:/usr/bin:/sbin:/bin".to_owned())
                && seen.contains(&"MORE=1".into())
        );
    }

    #[tokio::test]
    async fn it_has_a_time_and_an_output_that_ends_and_who_it_leaves_running_is_not_waited_for() {
        let second = Duration::from_secs(1);
        assert!(matches!(shell("sleep 30", second).await, Err(NotDone::Late(..))));
        let failed = shell("echo out; echo why >&2; exit 3", 9 * second).await.unwrap_err().to_string();
        assert_eq!(failed, "sh: why");
        let begun = Instant::now();
        assert_eq!(shell("sleep 30 & echo done", 9 * second).await.unwrap(), "done\n");
        assert!(begun.elapsed() < 8 * second);
        let long =
            shell("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done", 60 * second).await.unwrap();
        assert!(long.len() <= MAX_KEPT && long.ends_with("19999\n"), "{}", long.len());
        let start = Run::new("/nonexistent", &[], second).done().await;
        assert!(matches!(start, Err(NotDone::Start(..))));
    }
}
