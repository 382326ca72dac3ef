//! People who write and read mail: mail programs that stay connected to the mail house.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::Mail;

/// A mail program that is logged in: a line in, a line out. It ends when this is dropped.
#[derive(Debug)]
struct Program {
    child: Child,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Program {
    /// This script, at this port of the mail house, with this name.
    fn start(mail: &Mail, script: &str, port: u16, user: &str) -> Result<Self> {
        let mut child = Command::new(super::python()?)
            .arg(super::file(script))
            .arg(port.to_string())
            .arg(mail.ca_file())
            .args([user, mail.password()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("its standard input is a pipe")?;
        let stdout = child.stdout.take().context("its standard output is a pipe")?;
        Ok(Self { child, talk: Mutex::new((stdin, BufReader::new(stdout))) })
    }

    fn ask(&self, line: &str) -> Result<String> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let (stdin, stdout) = &mut *talk;
        writeln!(stdin, "{line}")?;
        stdin.flush()?;
        let mut said = String::new();
        stdout.read_line(&mut said)?;
        Ok(said.trim_end().to_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Nothing to do about an error here: it may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One that submits mails one after the other.
#[derive(Debug)]
pub struct Postbag(Program);

impl Postbag {
    /// One at this mail house.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn at(mail: &Mail) -> Result<Self> {
        Program::start(mail, "mail/submit-many.py", mail.smtp_port(), mail.user()).map(Self)
    }

    /// Submits a mail, headers and body. When this returns the server has said that it has it.
    ///
    /// # Errors
    /// It has not.
    pub fn submit(&self, sender: &str, recipient: &str, mail: &str) -> Result<()> {
        let said = self.0.ask(&json!([sender, recipient, mail]).to_string())?;
        ensure!(said == "ok", "the mail for {recipient} was not taken: {said:?}");
        Ok(())
    }
}

/// One that reads a mailbox.
#[derive(Debug)]
pub struct Mailbox(Program);

impl Mailbox {
    /// The INBOX of this name at `hub.test`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn at(mail: &Mail, name: &str) -> Result<Self> {
        Program::start(mail, "mail/read-many.py", mail.imaps_port(), name).map(Self)
    }

    /// All mails that are in it, in the order in which Postfix took them: the Message-ID and the plain text of each.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn mails(&self) -> Result<Vec<(String, String)>> {
        let said = self.0.ask("")?;
        serde_json::from_str(&said).with_context(|| format!("no list of mails: {said:?}"))
    }
}
