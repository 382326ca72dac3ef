//! People who write mail, through Postfix into a mailbox at Dovecot.
//!
//! Installed by `tests/run --setup-only`: Postfix, Dovecot.

use anyhow::{Context as _, Result};
use gatepost_tests::{
    hub::{SpawnedHub, eventually},
    peers::{Mail, Postbag},
};
use tempfile::TempDir;

use super::{
    book,
    hostile::{Becomes, LEFT_OUT, became, good},
    killed::{House, Passed, in_the_midst_of_what_people_write},
};

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

/// What the mail server says of people of its own.
const PROVED: &str = "Authentication-Results: mx.hub.test; dmarc=pass header.from=hub.test";

/// What a mail can be, as its headers and its body, and what becomes of it.
fn hostile() -> Vec<(String, String, Becomes)> {
    use Becomes::{Drop, Message};
    let said = |headers: &str, body: &str, becomes| {
        (format!("{PROVED}\r\nFrom: p0@hub.test\r\n{headers}"), body.to_owned(), becomes)
    };
    let whole = |headers: &str, body: &str, becomes| (headers.to_owned(), body.to_owned(), becomes);
    let parts = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b";
    vec![
        said("Subject: Long", &"m\r\n".repeat(300_000), Message(LEFT_OUT)),
        said("Date: Thu, 01 Jan 1970 00:00:00 +0000", "ancient", Message("ancient")),
        said("Date: Fri, 31 Dec 9999 23:59:59 +0000", "later", Message("later")),
        said("Date: the day before yesterday", "undated", Message("undated")),
        said("Message-ID: <once@hub.test>", "first once", Message("once")),
        said("Message-ID: <once@hub.test>", "first once", Drop("repeated", "message")),
        said("Message-ID: <once@hub.test>", "reused", Message("reused")),
        said("Message-ID: no id at all <", "nameless", Message("nameless")),
        said(&format!("References: {}", "<a@b.test>\r\n ".repeat(2_000)), "referring", Message("referring")),
        said(
            &format!("{parts}\r\nSubject: cut"),
            "--b\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!",
            Message("cut"),
        ),
        said(
            "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=no-such-thing",
            "encoded",
            Message("encoded"),
        ),
        said("Auto-Submitted: auto-replied", "away", Drop("program", "message")),
        said("List-Id: <l.hub.test>", "listed", Drop("program", "message")),
        whole("From: hub@hub.test", "own", Drop("own_words", "message")),
        whole("From: undisclosed:;", "nobody", Drop("unreadable", "mail without a sender")),
        whole("From: p9@hub.test", "forged", Drop("unknown_sender", "message")),
    ]
}

#[test]
fn whatever_mail_comes_is_told_or_counted_and_the_next_one_comes() -> Result<()> {
    let house = MailHouse::build()?;
    let rules = "[agents.engineer]\nallow = []\n[people.p0]\nids = [\"email:p0@hub.test\"]\nscope = \"owner\"\n\
                 [routes.engineer]\nfrom = [\"email:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n";
    let hub = SpawnedHub::start(&format!("{rules}{}", house.account()))?;
    eventually("the account has begun to read", || book::position(&hub.data_dir(), "email"))?;
    let mut cases = Vec::new();
    for (number, (headers, body, becomes)) in hostile().into_iter().enumerate() {
        let submit = |mail: &str| house.postbag.submit("p0@hub.test", "hub@hub.test", mail);
        submit(&format!("{headers}\r\n\r\n{body}\r\n"))?;
        // In the thread of the one before, so that all of them are few turns.
        submit(&format!(
            "{PROVED}\r\nFrom: p0@hub.test\r\nReferences: <all@hub.test>\r\n\r\n{}\r\n",
            good(number)
        ))?;
        cases.push(becomes);
    }
    became(&hub, "email", &cases)
}
