//! A mail house: Postfix takes mail in, Dovecot keeps the mailboxes and shows them through IMAP.
//!
//! Any name at `hub.test` is a mailbox. `refused@hub.test` is refused for good (550), `later@hub.test` for now (451),
//! every other domain too (554), and a message over 1 MiB (552). `mx.hub.test` is the server's own name, so it follows routes in
//! what stands before that (`anna%hub.test@mx.hub.test`), as a Postfix does by default. Nothing is taken without TLS and a password.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{leash::Leash, ports};

const START: Duration = Duration::from_secs(30);
/// Postfix hands a message to Dovecot after it has said yes to the sender, well within this.
const DELIVERY: Duration = Duration::from_secs(20);
const PASSWORD: &str = "correct-horse-battery";

/// A running mail house.
#[derive(Debug)]
pub struct Mail {
    _leash: Leash,
    smtp: u16,
    smtps: u16,
    imaps: u16,
    ca_file: PathBuf,
}

impl Mail {
    /// Starts both servers. Needs root, as they do.
    ///
    /// # Errors
    /// They are not installed, or did not come up; the error shows the end of their log.
    pub fn start() -> Result<Self> {
        ports::retrying(Self::start_once)
    }

    fn start_once() -> Result<Self> {
        let dir = Leash::folder("mail")?;
        let path = dir.path().to_str().context("the temporary folder's path is not UTF-8")?.to_owned();
        let made = Command::new(super::file("mail/certificates")).current_dir(&path).output()?;
        ensure!(made.status.success(), "cannot make certificates: {}", String::from_utf8_lossy(&made.stderr));

        let (smtp, smtps, lmtp, imaps) = (ports::free()?, ports::free()?, ports::free()?, ports::free()?);
        let values = [
            ("DIR", path.as_str()),
            ("SMTP_PORT", &smtp.to_string()),
            ("SMTPS_PORT", &smtps.to_string()),
            ("LMTP_PORT", &lmtp.to_string()),
            ("IMAPS_PORT", &imaps.to_string()),
            ("PASSWORD", PASSWORD),
        ];
        for name in ["main.cf", "master.cf", "dovecot.conf"] {
            super::fill_in(&format!("mail/{name}"), &dir.path().join(name), &values)?;
        }
        let ca_file = dir.path().join("ca.crt");
        let mut leash = Leash::start_as_root("mail", dir, &[super::file("mail/serve"), path.into()])?;
        leash.wait_until(START, || greets(smtp) && [smtps, lmtp, imaps].into_iter().all(listens))?;
        Ok(Self { _leash: leash, smtp, smtps, imaps, ca_file })
    }

    /// Where to submit with STARTTLS, on `127.0.0.1`.
    pub fn smtp_port(&self) -> u16 {
        self.smtp
    }

    /// Where to submit with TLS from the first byte, on `127.0.0.1`.
    pub fn smtps_port(&self) -> u16 {
        self.smtps
    }

    /// Where mailboxes are read through IMAP with TLS, on `127.0.0.1`.
    pub fn imaps_port(&self) -> u16 {
        self.imaps
    }

    /// The authority, as PEM, that signed the servers' certificate: it names `127.0.0.1`, `localhost`, `mx.hub.test`.
    pub fn ca_file(&self) -> &Path {
        &self.ca_file
    }

    /// A name that may submit.
    pub fn user(&self) -> &'static str {
        "gatepost"
    }

    /// Everybody's password.
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// An account here that sends with this password, which is put into a file of this folder.
    ///
    /// # Errors
    /// The file system's.
    pub fn account(&self, folder: &Path, password: &str) -> Result<String> {
        let file = folder.join("password");
        fs::write(&file, password)?;
        Ok(format!(
            "[channels.email.home]\nhost = \"127.0.0.1\"\nport = {}\nfrom = \"The Hub <hub@hub.test>\"\n\
             user = \"{}\"\npassword = \"file:{}\"\nca_file = \"{}\"\n",
            self.smtp_port(),
            self.user(),
            file.display(),
            self.ca_file().display()
        ))
    }

    /// The same account, which reads a mailbox too, and believes this server.
    ///
    /// # Errors
    /// The file system's.
    pub fn receiving_account(&self, folder: &Path, mailbox: &str) -> Result<String> {
        let account = self.account(folder, PASSWORD)?;
        Ok(format!(
            "{account}receive = true\nimap_port = {}\nimap_user = \"{mailbox}\"\nimap_password = \"file:{}\"\n\
             authserv_id = \"mx.hub.test\"\n",
            self.imaps,
            folder.join("password").display()
        ))
    }

    /// Submits a mail to an address in any form, as a mail program does that checks none.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn submit(&self, recipient: &str) -> Result<()> {
        self.submit_mail(recipient, None)
    }

    /// Submits this mail, headers and body.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn deliver(&self, recipient: &str, mail: &str) -> Result<()> {
        self.submit_mail(recipient, Some(mail))
    }

    fn submit_mail(&self, recipient: &str, mail: Option<&str>) -> Result<()> {
        let submitted = Command::new(super::python()?)
            .arg(super::file("mail/submit.py"))
            .arg(self.smtp.to_string())
            .arg(&self.ca_file)
            .args([self.user(), PASSWORD, recipient])
            .args(mail)
            .output()?;
        ensure!(submitted.status.success(), "{recipient}: {}", String::from_utf8_lossy(&submitted.stderr));
        Ok(())
    }

    /// The messages in a user's INBOX as they were stored, oldest first, read through IMAP. `user` may end in
    /// `@hub.test`.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn inbox(&self, user: &str) -> Result<Vec<String>> {
        let mut imap = Command::new(super::python()?)
            .arg(super::file("mail/imap-fetch.py"))
            .arg(self.imaps.to_string())
            .arg(&self.ca_file)
            .arg(user_name(user))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = imap.stdin.take().expect("its standard input is a pipe");
        stdin.write_all(format!("{PASSWORD}\n").as_bytes())?;
        drop(stdin);
        let imap = imap.wait_with_output()?;
        ensure!(
            imap.status.success(),
            "cannot read {user}'s mail: {}",
            String::from_utf8_lossy(&imap.stderr)
        );
        Ok(serde_json::from_slice(&imap.stdout)?)
    }

    /// How many mails of a user's INBOX nobody has read.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn unread(&self, user: &str) -> Result<usize> {
        const ASK: &str = "import imaplib, ssl, sys\n\
            port, ca, user, password = sys.argv[1:]\n\
            tls = ssl.create_default_context(cafile=ca)\n\
            imap = imaplib.IMAP4_SSL('127.0.0.1', int(port), ssl_context=tls, timeout=10)\n\
            imap.login(user, password)\n\
            imap.select('INBOX', readonly=True)\n\
            print(len(imap.search(None, 'UNSEEN')[1][0].split()))\n";
        let asked = Command::new(super::python()?)
            .args(["-c", ASK, &self.imaps.to_string()])
            .arg(&self.ca_file)
            .args([user_name(user), PASSWORD])
            .output()?;
        ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        Ok(String::from_utf8(asked.stdout)?.trim().parse()?)
    }

    /// Waits until a user's INBOX has `count` messages, and returns them as [`Mail::inbox`] does.
    ///
    /// # Errors
    /// They did not arrive; the error shows the end of the servers' log.
    pub fn wait_for_inbox(&self, user: &str, count: usize) -> Result<Vec<String>> {
        let start = Instant::now();
        loop {
            let messages = self.inbox(user)?;
            if messages.len() >= count {
                return Ok(messages);
            }
            if start.elapsed() > DELIVERY {
                let have = messages.len();
                bail!(
                    "{user} has {have} of {count} messages. The log ends with:\n{}",
                    self._leash.log_tail()
                );
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn user_name(user: &str) -> &str {
    user.strip_suffix("@hub.test").unwrap_or(user)
}

fn connect(port: u16) -> Option<TcpStream> {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), Duration::from_secs(1)).ok()
}

fn listens(port: u16) -> bool {
    connect(port).is_some()
}

/// Whether an SMTP server answers at `port`: Postfix's ports are open before it can.
fn greets(port: u16) -> bool {
    let Some(mut stream) = connect(port) else { return false };
    let mut code = [0; 3];
    stream.set_read_timeout(Some(Duration::from_secs(5))).is_ok()
        && stream.read_exact(&mut code).is_ok()
        && &code == b"220"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one message with Python's own SMTP client and prints the server's last word.
    const SENDER: &str = r"
import smtplib, ssl, sys
mode, port, ca, user, password, to, body = sys.argv[1:]
tls = ssl.create_default_context(cafile=ca)
try:
    if mode == 'tls':
        smtp = smtplib.SMTP_SSL('127.0.0.1', int(port), context=tls, timeout=10)
    else:
        smtp = smtplib.SMTP('127.0.0.1', int(port), timeout=10)
    if mode == 'starttls':
        smtp.starttls(context=tls)
    if user:
        smtp.login(user, password)
    smtp.sendmail('bot@hub.test', [to], 'Subject: hello\r\n\r\n' + body * 1024 * 1024 if body == 'x' else 'Subject: hello\r\n\r\n' + body)
    print('sent')
except smtplib.SMTPRecipientsRefused as e:
    print(list(e.recipients.values())[0][0])
except smtplib.SMTPResponseException as e:
    print(e.smtp_code)
";

    fn send(mail: &Mail, mode: &str, login: (&str, &str), to: &str, body: &str) -> String {
        let port = if mode == "tls" { mail.smtps_port() } else { mail.smtp_port() };
        let python = Command::new(super::super::python().unwrap())
            .args(["-c", SENDER, mode, &port.to_string()])
            .arg(mail.ca_file())
            .args([login.0, login.1, to, body])
            .output()
            .unwrap();
        assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
        String::from_utf8(python.stdout).unwrap().trim_end().to_owned()
    }

    #[test]
    fn mail_is_read_back_through_imap_and_refused_where_it_must_be() {
        let mail = Mail::start().unwrap();
        let login = (mail.user(), mail.password());
        assert_eq!(send(&mail, "starttls", login, "anna@hub.test", "first\r\n.dot\r\n"), "sent");
        mail.wait_for_inbox("anna@hub.test", 1).unwrap();
        assert_eq!(send(&mail, "tls", login, "anna@hub.test", "second\r\n"), "sent");
        let inbox = mail.wait_for_inbox("anna", 2).unwrap();
        assert!(inbox[0].ends_with("\r\n\r\nfirst\r\n.dot\r\n"), "{inbox:?}");
        assert!(inbox[1].contains("Subject: hello\r\n") && inbox[1].ends_with("second\r\n"), "{inbox:?}");
        assert_eq!(mail.inbox("bert").unwrap(), Vec::<String>::new());

        assert_eq!(send(&mail, "starttls", login, "refused@hub.test", ""), "550");
        assert_eq!(send(&mail, "starttls", login, "later@hub.test", ""), "451");
        assert_eq!(send(&mail, "starttls", login, "anna@elsewhere.test", ""), "554");
        assert_eq!(send(&mail, "starttls", login, "anna@hub.test", "x"), "552");
        assert_eq!(send(&mail, "starttls", (mail.user(), "guess"), "anna@hub.test", ""), "535");
        assert_eq!(send(&mail, "starttls", ("", ""), "anna@hub.test", ""), "554");
        assert_eq!(send(&mail, "plain", ("", ""), "anna@hub.test", ""), "530");
    }

    #[test]
    fn two_mail_houses_stand_side_by_side() {
        let (one, other) = (Mail::start().unwrap(), Mail::start().unwrap());
        assert_eq!(send(&one, "tls", (one.user(), one.password()), "anna@hub.test", "hello\r\n"), "sent");
        one.wait_for_inbox("anna", 1).unwrap();
        assert_eq!(other.inbox("anna").unwrap().len(), 0);

        let ports = [one.smtp, one.smtps, one.imaps];
        drop(one);
        assert!(!ports.into_iter().any(listens));
        assert!(greets(other.smtp));
    }
}
