//! Mail, at Postfix and Dovecot: Ann writes in one thread.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use gatepost_tests::peers::{Mail, Mailbox, Postbag};
use serde_json::Value;
use tempfile::TempDir;

use super::{Arrived, House, Told};

const ANN: &str = "ann@hub.test";
const HUB: &str = "hub@hub.test";
/// Within this Postfix hands a mail to Dovecot.
const DELIVERY: Duration = Duration::from_secs(20);
/// What the mail server says of people of its own.
const PROVED: &str = "Authentication-Results: mx.hub.test; dmarc=pass header.from=hub.test";

pub(crate) struct Email {
    mail: Mail,
    postbag: Postbag,
    /// Hers, and the hub's.
    hers: Mailbox,
    hubs: Mailbox,
    secrets: TempDir,
}

impl Email {
    pub(crate) fn open() -> Result<Self> {
        let mail = Mail::start()?;
        let (postbag, hers, hubs) =
            (Postbag::at(&mail)?, Mailbox::at(&mail, "ann")?, Mailbox::at(&mail, "hub")?);
        Ok(Self { mail, postbag, hers, hubs, secrets: tempfile::tempdir()? })
    }

    /// She submits a mail with these headers. Postfix says yes before Dovecot has it, and the next may overtake it: so it is waited
    /// for.
    fn submit(&self, headers: &str, text: &str) -> Result<()> {
        let before = self.hubs.mails()?.len();
        let mail = format!("{PROVED}\r\nFrom: {ANN}\r\nTo: {HUB}\r\n{headers}\r\n\r\n{text}\r\n");
        self.postbag.submit(ANN, HUB, &mail)?;
        let start = Instant::now();
        while self.hubs.mails()?.len() == before {
            ensure!(start.elapsed() < DELIVERY, "it is not delivered");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl House for Email {
    fn name(&self) -> &'static str {
        "email"
    }

    fn account(&self) -> String {
        self.mail.receiving_account(self.secrets.path(), "hub").unwrap_or_default()
    }

    fn ports(&self) -> Vec<u16> {
        vec![self.mail.smtp_port(), self.mail.imaps_port()]
    }

    /// What is in a mailbox before its first position engages nobody. Whether there is one, a mail tells that a program wrote: it is
    /// counted, and goes no further.
    fn listens(&self, account: &Value) -> bool {
        let mut dropped = account["dropped"].as_array().into_iter().flatten();
        let reads = dropped.any(|one| one["reason"] == "program");
        if !reads {
            // Another one follows if it does not arrive.
            let _ = self.submit("Auto-Submitted: auto-generated", "I am away.");
        }
        reads
    }

    fn id(&self) -> String {
        format!("email:{ANN}")
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        let Told::Line(line, text) = told else { return Ok(false) };
        let headers = format!("Message-ID: <line{line:05}@hub.test>\r\nReferences: <first@hub.test>");
        self.submit(&headers, text)?;
        Ok(true)
    }

    /// SMTP has no key by which a server knows a mail again.
    fn arrived(&self) -> Result<Vec<Arrived>> {
        Ok(self.hers.mails()?.into_iter().map(|(id, text)| Arrived { id, text }).collect())
    }

    fn refuses_token(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    fn tells_edits(&self) -> bool {
        false
    }
}
