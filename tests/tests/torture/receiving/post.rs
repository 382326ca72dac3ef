//! People who write mail, through Postfix into a mailbox at Dovecot.
//!
//! Installed by `tests/run --setup-only`: Postfix, Dovecot.

use anyhow::{Context as _, Result};
use gatepost_tests::peers::{Mail, Postbag};
use tempfile::TempDir;

use super::killed::{House, Passed, in_the_midst_of_what_people_write};

struct MailHouse {
    mail: Mail,
    postbag: Postbag,
    account: String,
    _secrets: TempDir,
}

impl MailHouse {
    fn build() -> Result<Self> {
        let (mail, secrets) = (Mail::start()?, tempfile::tempdir()?);
        let account = mail.receiving_account(secrets.path(), "hub")?;
        Ok(Self { postbag: Postbag::at(&mail)?, mail, account, _secrets: secrets })
    }
}

impl House for MailHouse {
    const CHANNEL: &'static str = "email";
    /// SMTP has no key by which a server knows a mail again.
    const HAS_NO_KEYS: bool = true;

    fn account(&self) -> String {
        self.account.clone()
    }

    fn id(&self, person: usize) -> String {
        format!("email:{}", self.address(person))
    }

    fn address(&self, person: usize) -> String {
        format!("p{person}@hub.test")
    }

    fn write(&self, person: usize, first: &str, words: &str) -> Result<()> {
        let from = self.address(person);
        let mail = format!(
            "Authentication-Results: mx.hub.test; dmarc=pass header.from=hub.test\r\nFrom: {from}\r\nTo: hub@hub.test\r\n\
             Message-ID: <{words}@hub.test>\r\nReferences: <{first}@hub.test>\r\nSubject: News\r\n\r\n{words}\r\n"
        );
        self.postbag.submit(&from, "hub@hub.test", &mail)
    }

    fn reached(&self, person: usize) -> Result<Vec<String>> {
        self.mail.inbox(&self.address(person))
    }

    /// A mailbox that nobody deletes from counts its mails, from 1.
    fn passed(&self, position: &str, _: &[String]) -> Result<Passed> {
        let (_, uid) = position.split_once(':').context("UIDVALIDITY and UID")?;
        Ok(Passed::Number(uid.parse()?))
    }
}

#[test]
fn kills_before_dovecot_leave_every_mail_in_one_turn_and_no_reply_there_twice() -> Result<()> {
    in_the_midst_of_what_people_write(&MailHouse::build()?)
}
