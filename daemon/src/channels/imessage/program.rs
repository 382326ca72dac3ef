//! Running `imsg`, on this machine or on a Mac by ssh.
//!
//! No shell reads anything here. ssh has one at its other end, which gets every argument in quotation marks. What a program
//! writes is bounded, and so is its time; when that is over it ends with all that it started. Of the hub's environment it
//! gets only what it needs to find itself and its keys.

use std::{io, process::Stdio, time::Duration};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::program::Running;

/// The longest that it may write, in bytes. A history of fifty messages has a tenth of it.
pub(super) const MAX_WRITTEN: u64 = 1024 * 1024;
/// What is kept of its standard error, in bytes.
pub(super) const MAX_SAID: u64 = 2 * 1024;
/// What it gets of the environment.
const ENVIRONMENT: [&str; 5] = ["PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"];

/// A program with the arguments that come first.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// On the machine where it runs.
    pub(super) command: Vec<String>,
    /// What brings it there.
    pub(super) ssh: Vec<String>,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum Run {
    /// It did well, and wrote this.
    Well(String),
    /// It could not be started.
    NotStarted(String),
    /// It failed, and said this.
    Ill(String),
    /// Its time was over, or it wrote too much.
    Lost(String),
}

impl Program {
    /// What is run for these arguments: the program, and its own arguments.
    fn line(&self, arguments: &[String]) -> (String, Vec<String>) {
        let mut whole: Vec<String> = self.command.iter().chain(arguments).cloned().collect();
        if !self.ssh.is_empty() {
            let remote = whole.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ");
            whole = self.ssh.iter().cloned().chain([remote]).collect();
        }
        let program = whole.remove(0);
        (program, whole)
    }

    /// Starts it with these arguments behind its own, with pipes to all three of its ends.
    pub(super) fn start(&self, arguments: &[String]) -> Result<Running, String> {
        let (program, mut command) = self.command(arguments);
        Running::start(command.stdin(Stdio::piped()))
            .map_err(|error| format!("cannot run {program}: {error}"))
    }

    /// Its name, and how it is run.
    fn command(&self, arguments: &[String]) -> (String, tokio::process::Command) {
        let (program, rest) = self.line(arguments);
        let mut command = tokio::process::Command::new(&program);
        command.args(rest).env_clear();
        for name in ENVIRONMENT {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        (program, command)
    }

    /// Runs it with these arguments behind its own.
    pub(super) async fn run(&self, arguments: &[String], longest: Duration) -> Run {
        if arguments.iter().any(|argument| argument.contains('\0')) {
            return Run::Ill("an argument has a zero byte in it".into());
        }
        let (program, mut command) = self.command(arguments);
        let mut running = match Running::start(command.stdin(Stdio::null())) {
            Ok(running) => running,
            Err(error) => return Run::NotStarted(format!("cannot run {program}: {error}")),
        };
        let (_, stdout, stderr) = running.pipes();
        let whole = async {
            let (written, said) = tokio::try_join!(read(stdout, MAX_WRITTEN), read(stderr, MAX_SAID))?;
            Ok::<_, io::Error>((written, said, running.ended().await?))
        };
        match tokio::time::timeout(longest, whole).await {
            Err(_) => Run::Lost(format!("{program} did not end within {} s", longest.as_secs())),
            Ok(Err(error)) => Run::Lost(format!("{program}: {error}")),
            Ok(Ok((written, said, status))) => {
                if status.success() {
                    Run::Well(written)
                } else {
                    // imsg says on its standard output what went wrong (`CommandRouter.run`).
                    let said = if said.trim().is_empty() { written } else { said };
                    Run::Ill(said.trim().to_owned())
                }
            }
        }
    }
}

/// One argument for a POSIX shell: everything stands for itself between single quotation marks.
fn quoted(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// The first `most` bytes; the rest is read and dropped, or it would wait for ever.
pub(super) async fn read(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<String> {
    let Some(mut pipe) = pipe else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    (&mut pipe).take(most).read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[tokio::test]
    async fn a_shell_at_the_other_end_sees_every_argument_as_it_is() {
        let hostile = ["it's; touch /tmp/x", "$(id)", "`id`", "a\nb", "*", "", "\\", "--text"];
        // What stands for ssh gives its last argument to a shell, as sshd does.
        let program = Program { command: words(&["printf", "%s|"]), ssh: words(&["/bin/sh", "-c"]) };
        let Run::Well(written) = program.run(&words(&hostile), Duration::from_secs(10)).await else {
            panic!()
        };
        assert_eq!(written.split('|').collect::<Vec<_>>()[..hostile.len()], hostile);
        let here = Program { command: words(&["/usr/bin/printf", "%s|"]), ssh: vec![] };
        let Run::Well(written) = here.run(&words(&hostile), Duration::from_secs(10)).await else { panic!() };
        assert_eq!(written.split('|').collect::<Vec<_>>()[..hostile.len()], hostile);
    }

    #[tokio::test]
    async fn output_and_time_are_bounded_and_what_it_started_ends_with_it() {
        let shell = |script: &str| Program { command: words(&["/bin/sh", "-c", script]), ssh: vec![] };
        let long = "i=0; while [ $i -lt 30000 ]; do echo 0123456789012345678901234567890123456789012345; i=$((i+1)); done";
        let Run::Well(written) = shell(long).run(&[], Duration::from_secs(60)).await else { panic!() };
        assert_eq!(written.len() as u64, MAX_WRITTEN);
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let script = format!("(sleep 2; touch {}) & wait", mark.display());
        assert!(matches!(shell(&script).run(&[], Duration::from_millis(300)).await, Run::Lost(_)));
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        assert!(!mark.exists());
        assert!(matches!(shell("echo no >&2; exit 3").run(&[], LONG).await, Run::Ill(said) if said == "no"));
        let nowhere = Program { command: words(&["/nonexistent/imsg"]), ssh: vec![] };
        assert!(matches!(nowhere.run(&[], LONG).await, Run::NotStarted(_)));
        let Run::Well(names) = shell("env").run(&[], LONG).await else { panic!() };
        let own = ["PWD", "OLDPWD", "SHLVL", "_"];
        let names = names.lines().filter_map(|line| Some(line.split_once('=')?.0));
        assert!(names.into_iter().all(|name| ENVIRONMENT.contains(&name) || own.contains(&name)));
    }

    const LONG: Duration = Duration::from_secs(10);
}
