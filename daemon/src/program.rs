//! Programs that the hub runs: bytes on the standard input of the first, bytes from the standard output of the last.
//!
//! No shell reads anything. A program gets nothing of the hub's environment, where secrets may be, but `PATH`; what it
//! writes is bounded; and whoever drops a run, because its time is over or nobody waits for it, ends it with every process
//! that it started. A program has written its answer when it has ended, whatever it leaves running with its pipes open: that
//! is read for a moment longer, and ended.

use std::{
    io,
    path::PathBuf,
    pin::pin,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use futures_util::future::try_join_all;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// What is kept of what a program says on its standard error, in bytes.
const MAX_STDERR_BYTES: usize = 600;
/// How long what programs wrote is read after they have ended: it is in the pipes by then, and only somebody whom they
/// started keeps those open.
const GRACE: Duration = Duration::from_secs(1);

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program, an absolute path.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Why there is no output that counts.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It could not be run, or its pipes broke.
    #[error("it cannot be run: {0}")]
    Run(#[from] io::Error),
    /// It wrote more than it may.
    #[error("it wrote more than {0} bytes")]
    Long(usize),
    /// It says itself that it failed.
    #[error("{program} ended with {status}")]
    Failed {
        /// Its name.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said on its standard error: for the log, for it may repeat what it was given.
        stderr: String,
    },
}

/// A process, leader of a group of its own, that is killed with all that it started unless it has ended by itself.
pub(crate) struct Running {
    child: Child,
    group: Option<Pid>,
}

impl Running {
    /// Starts it, with its pipes as `command` has them.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        Ok(Self { child, group })
    }

    /// Its end of the pipes; each can be taken once.
    pub(crate) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// Waits until it has ended by itself. What it leaves running is left alone.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group = None;
        Ok(status)
    }

    /// Waits until it has ended by itself; what it leaves running is ended with this, unless it is [released](Self::release)
    /// soon: its number is not another one's for so long.
    async fn ended_alone(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends it, and every process that it started.
    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // It may be gone already, and that is as good.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Leaves what it left running alone.
    fn release(&mut self) {
        self.group = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Programs that run at once, each reading what the one before it writes.
struct Chain {
    running: Vec<Running>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Vec<Option<ChildStderr>>,
}

impl Chain {
    fn start(programs: &[Program], environment: &[(&str, &str)]) -> io::Result<Self> {
        let mut chain = Self { running: Vec::new(), stdin: None, stdout: None, stderr: Vec::new() };
        for program in programs {
            let mut command = Command::new(&program.path);
            command.args(&program.arguments).env_clear().envs(environment.iter().copied());
            if let Some(path) = std::env::var_os("PATH") {
                command.env("PATH", path);
            }
            let from = match chain.stdout.take() {
                Some(before) => Stdio::from(before.into_owned_fd()?),
                None => Stdio::piped(),
            };
            command.stdin(from).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut running = Running::start(&mut command)?;
            let (stdin, stdout, stderr) = running.pipes();
            chain.stdin = chain.stdin.or(stdin);
            chain.stdout = stdout;
            chain.stderr.push(stderr);
            chain.running.push(running);
        }
        Ok(chain)
    }
}

/// Runs them on `input`, one reading what another writes; what the last one wrote, at most `most` bytes.
///
/// # Errors
/// One of them cannot be run or fails, or the last writes too much. That it takes too long is for the caller to say.
pub async fn run(
    programs: &[Program],
    environment: &[(&str, &str)],
    input: &[u8],
    most: usize,
) -> Result<Vec<u8>, ProgramError> {
    let mut chain = Chain::start(programs, environment)?;
    let (stdin, stdout) = (chain.stdin.take(), chain.stdout.take());
    let (mut written, mut said) = (Vec::new(), vec![Vec::new(); programs.len()]);
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program may know enough before it has read all of it; its answer says whether it did well.
            let _ = stdin.write_all(input).await;
        }
        Ok(())
    };
    let read = at_most(stdout, most.saturating_add(1), &mut written);
    let stderr = try_join_all(chain.stderr.drain(..).zip(&mut said).map(|(pipe, kept)| end(pipe, kept)));
    let talk = async { tokio::try_join!(write, read, stderr).map(drop) };
    let statuses = hear_out(&mut chain.running, talk).await?;
    if written.len() > most {
        return Err(ProgramError::Long(most));
    }
    let statuses = match statuses {
        Some(statuses) => statuses,
        None => ended(&mut chain.running).await?,
    };
    chain.running.iter_mut().for_each(Running::release);
    let mut failed: Option<ProgramError> = None;
    for ((status, program), stderr) in statuses.into_iter().zip(programs).zip(said) {
        // One that lost whom it wrote to is not the one that failed.
        let first = match &failed {
            Some(ProgramError::Failed { status, .. }) => status.code().is_none(),
            _ => true,
        };
        if !status.success() && first {
            let program = program.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
            failed = Some(ProgramError::Failed { program, status, stderr });
        }
    }
    match failed {
        Some(failed) => Err(failed),
        None => Ok(written),
    }
}

/// Waits for the end of what is written and read, and no longer than a moment after all programs have ended; how they have,
/// if they have. What they left running with a pipe open is ended.
async fn hear_out(
    running: &mut [Running],
    talk: impl Future<Output = io::Result<()>>,
) -> io::Result<Option<Vec<ExitStatus>>> {
    let mut talk = pin!(talk);
    let statuses = tokio::select! {
        biased;
        talked = &mut talk => return talked.map(|()| None),
        statuses = ended(running) => statuses?,
    };
    match timeout(GRACE, talk).await {
        Ok(talked) => talked?,
        Err(_) => running.iter_mut().for_each(Running::kill),
    }
    Ok(Some(statuses))
}

/// How each ended.
async fn ended(running: &mut [Running]) -> io::Result<Vec<ExitStatus>> {
    try_join_all(running.iter_mut().map(Running::ended_alone)).await
}

/// Keeps the first `most` bytes.
async fn at_most(pipe: Option<impl AsyncRead + Unpin>, most: usize, kept: &mut Vec<u8>) -> io::Result<()> {
    if let Some(pipe) = pipe {
        pipe.take(most as u64).read_to_end(kept).await?;
    }
    Ok(())
}

/// Keeps what a program says last, where it says why it fails. All of it is read, or the program would wait for ever.
async fn end(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) -> io::Result<()> {
    let mut piece = [0; 4096];
    let Some(mut pipe) = pipe else { return Ok(()) };
    loop {
        match pipe.read(&mut piece).await? {
            0 => return Ok(()),
            read => kept.extend_from_slice(&piece[..read]),
        }
        kept.drain(..kept.len().saturating_sub(MAX_STDERR_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str) -> Program {
        Program { path: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }
    }

    async fn chain(scripts: &[&str]) -> Result<String, ProgramError> {
        let programs: Vec<Program> = scripts.iter().map(|script| shell(script)).collect();
        let written = run(&programs, &[("GATEPOST_TEST", "m1")], b"{\"a\": 1}", 5_000).await?;
        Ok(String::from_utf8(written).unwrap())
    }

    #[tokio::test]
    async fn a_program_reads_its_input_and_writes_its_answer() {
        assert_eq!(chain(&["cat"]).await.unwrap(), "{\"a\": 1}");
        assert_eq!(chain(&["printf %s \"$GATEPOST_TEST\""]).await.unwrap(), "m1", "and it need not read");
        let talks = "i=0; while [ $i -lt 20000 ]; do echo 0123456789 >&2; i=$((i+1)); done; echo x";
        assert_eq!(chain(&[talks]).await.unwrap(), "x\n");
    }

    #[tokio::test]
    async fn each_reads_what_the_one_before_it_writes() {
        assert_eq!(chain(&["cat; echo b", "tr ab cd", "cat; echo e"]).await.unwrap(), "{\"c\": 1}d\ne\n");
        // More than a pipe holds.
        let long = chain(&["i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done", "wc -c"]);
        assert_eq!(long.await.unwrap().trim(), "220000");
    }

    #[tokio::test]
    async fn it_gets_nothing_of_the_hubs_environment() {
        let names = chain(&["env"]).await.unwrap();
        let names: Vec<&str> = names.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert!(names.contains(&"GATEPOST_TEST"), "{names:?}");
        let own = ["GATEPOST_TEST", "PATH", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(names.iter().all(|name| own.contains(name)), "{names:?}");
    }

    #[tokio::test]
    async fn a_program_that_fails_or_says_too_much_has_no_answer() {
        let failed = |error: ProgramError| match error {
            ProgramError::Failed { status, stderr, .. } => (status.code(), stderr),
            other => panic!("{other}"),
        };
        let three = chain(&["echo ok; echo no >&2; exit 3"]).await.unwrap_err();
        assert_eq!(failed(three), (Some(3), "no".into()));
        let last = chain(&["i=0; while [ $i -lt 2000 ]; do echo $i >&2; i=$((i+1)); done; exit 1"])
            .await
            .unwrap_err();
        let (_, last) = failed(last);
        assert!(last.ends_with("1998\n1999") && last.len() <= MAX_STDERR_BYTES, "{last}");
        assert_eq!(failed(chain(&["kill -9 $$"]).await.unwrap_err()).0, None);
        assert!(matches!(chain(&["exec yes"]).await, Err(ProgramError::Long(5_000))));
        // Whoever's fault it is in a chain, and not who came to harm by it.
        assert_eq!(failed(chain(&["exec yes", "exit 4"]).await.unwrap_err()).0, Some(4));
        assert_eq!(failed(chain(&["exit 5", "cat"]).await.unwrap_err()).0, Some(5));
        let nowhere = [shell("cat"), Program { path: "/nonexistent/hook".into(), arguments: vec![] }];
        assert!(matches!(run(&nowhere, &[], b"", 10).await, Err(ProgramError::Run(_))));
    }

    #[tokio::test]
    async fn what_a_program_leaves_running_does_not_hold_its_answer_and_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join("mark");
        // It keeps both pipes open; that it goes on writing is no part of the answer.
        let script = format!("(sleep 3; echo late; touch {}) & echo done", mark.display());
        let start = Instant::now();
        assert_eq!(chain(&[&script]).await.unwrap(), "done\n");
        assert!(start.elapsed() < Duration::from_millis(2_500));
        let failed = chain(&["sleep 30 & echo no >&2; exit 3"]).await.unwrap_err();
        assert!(matches!(failed, ProgramError::Failed { stderr, .. } if stderr == "no"));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!mark.exists());
    }

    #[tokio::test]
    async fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let (begun, mark) = (directory.path().join("begun"), directory.path().join("mark"));
        // A child of its own holds the pipe, and goes on when its parent is gone.
        let script = format!("touch {}; (sleep 2; touch {}) & wait", begun.display(), mark.display());
        let start = Instant::now();
        assert!(tokio::time::timeout(Duration::from_secs(1), chain(&[&script, "cat"])).await.is_err());
        assert!(start.elapsed() < Duration::from_millis(1_900) && begun.exists());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!mark.exists());
    }
}
