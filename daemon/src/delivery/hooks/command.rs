//! A hook that is a program: JSON on its standard input, its answer on the standard output, exit status 0.
//!
//! It gets nothing of the hub's environment, where secrets may be, but `PATH`. When its time is over, it ends with every
//! process that it started.

use std::{path::PathBuf, process::Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Child,
};

use super::{HookError, MAX_ANSWER};

/// What is kept of what a program says on its standard error, in bytes.
const SAID: usize = 600;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// A process that is killed, with all that it started, unless it has ended by itself.
struct Running {
    child: Child,
    group: Option<Pid>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // It may be gone already, and that is as good.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Command {
    /// Runs it on `facts`; what it wrote.
    pub(super) async fn run(&self, name: &str, id: &str, facts: Vec<u8>) -> Result<Vec<u8>, HookError> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.arguments).env_clear().env("GATEPOST_MESSAGE_ID", id);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let mut running = Running { child, group };
        let (stdin, stdout, stderr) =
            (running.child.stdin.take(), running.child.stdout.take(), running.child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program may know enough before it has read all of it; its answer says whether it did well.
                let _ = stdin.write_all(&facts).await;
            }
        };
        let ((), written, said) = tokio::join!(write, at_most(stdout, MAX_ANSWER + 1), at_most(stderr, SAID));
        let (written, said) = (written?, said?);
        if written.len() > MAX_ANSWER {
            return Err(HookError::Long);
        }
        let status = running.child.wait().await?;
        running.group = None;
        if !status.success() {
            let said = String::from_utf8_lossy(&said);
            tracing::warn!(hook = name, %status, said = said.trim(), "a hook did not do well");
            return Err(HookError::Failed(status.to_string()));
        }
        Ok(written)
    }
}

/// The first `most` bytes. The rest of what a program says beside its answer is read and dropped, or it would wait for ever.
async fn at_most(pipe: Option<impl AsyncRead + Unpin>, most: usize) -> std::io::Result<Vec<u8>> {
    let Some(mut pipe) = pipe else { return Ok(Vec::new()) };
    let mut read = Vec::new();
    (&mut pipe).take(most as u64).read_to_end(&mut read).await?;
    if read.len() < MAX_ANSWER {
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str) -> Command {
        Command { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }
    }

    async fn run(script: &str) -> Result<String, HookError> {
        let written = shell(script).run("test", "m1", b"{\"a\": 1}".to_vec()).await?;
        Ok(String::from_utf8(written).unwrap())
    }

    #[tokio::test]
    async fn a_program_reads_the_facts_and_writes_its_answer() {
        assert_eq!(run("cat").await.unwrap(), "{\"a\": 1}");
        assert_eq!(run("printf %s \"$GATEPOST_MESSAGE_ID\"").await.unwrap(), "m1", "and it need not read");
        assert_eq!(
            run("i=0; while [ $i -lt 20000 ]; do echo 0123456789 >&2; i=$((i+1)); done; echo x")
                .await
                .unwrap(),
            "x\n"
        );
    }

    #[tokio::test]
    async fn it_gets_nothing_of_the_hubs_environment() {
        let names = run("env").await.unwrap();
        let names: Vec<&str> = names.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert!(names.contains(&"GATEPOST_MESSAGE_ID"), "{names:?}");
        let own = ["GATEPOST_MESSAGE_ID", "PATH", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(names.iter().all(|name| own.contains(name)), "{names:?}");
    }

    #[tokio::test]
    async fn a_program_that_fails_or_says_too_much_has_no_answer() {
        assert!(matches!(run("echo ok; exit 3").await, Err(HookError::Failed(_))));
        assert!(matches!(run("kill -9 $$").await, Err(HookError::Failed(_))));
        assert!(matches!(run("exec yes").await, Err(HookError::Long)));
        let nowhere = Command { program: "/nonexistent/hook".into(), arguments: vec![] };
        assert!(matches!(nowhere.run("test", "m1", vec![]).await, Err(HookError::Run(_))));
    }

    #[tokio::test]
    async fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let (begun, mark) = (directory.path().join("begun"), directory.path().join("mark"));
        // A child of its own holds the pipe, and goes on when its parent is gone.
        let script = format!("touch {}; (sleep 2; touch {}) & wait", begun.display(), mark.display());
        let (command, start) = (shell(&script), Instant::now());
        let run = tokio::time::timeout(Duration::from_secs(1), command.run("test", "m1", vec![]));
        assert!(run.await.is_err());
        assert!(start.elapsed() < Duration::from_millis(1_900) && begun.exists());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!mark.exists());
    }
}
