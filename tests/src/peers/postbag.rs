//! People who write mail: a mail program that stays connected to the mail house and submits one after the other.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::Mail;

/// A mail program that is logged in; it ends when this is dropped.
#[derive(Debug)]
pub struct Postbag {
    program: Child,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Postbag {
    /// One at this mail house.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn at(mail: &Mail) -> Result<Self> {
        let mut program = Command::new(super::python()?)
            .arg(super::file("mail/submit-many.py"))
            .arg(mail.smtp_port().to_string())
            .arg(mail.ca_file())
            .args([mail.user(), mail.password()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = program.stdin.take().context("its standard input is a pipe")?;
        let stdout = program.stdout.take().context("its standard output is a pipe")?;
        Ok(Self { program, talk: Mutex::new((stdin, BufReader::new(stdout))) })
    }

    /// Submits a mail, headers and body. When this returns the server has said that it has it.
    ///
    /// # Errors
    /// It has not.
    pub fn submit(&self, sender: &str, recipient: &str, mail: &str) -> Result<()> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let (stdin, stdout) = &mut *talk;
        writeln!(stdin, "{}", json!([sender, recipient, mail]))?;
        stdin.flush()?;
        let mut said = String::new();
        stdout.read_line(&mut said)?;
        ensure!(said.trim_end() == "ok", "the mail for {recipient} was not taken: {said:?}");
        Ok(())
    }
}

impl Drop for Postbag {
    fn drop(&mut self) {
        // Nothing to do about an error here: it may have ended.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
