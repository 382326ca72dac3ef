//! A mail server that records every mail, and that nobody can ask whether it has one.
//!
//! SMTP knows no keys: what is handed over twice lies in the box twice, and a client that hears no answer to its mail's
//! final dot cannot know. This server takes mails over TLS as the hub's adapter wants it, loses answers as it is told, and
//! tells whoever kills hubs the moment at which a mail was answered and can hardly be written down yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use super::Dice;
use crate::mocks::endpoint::{Port, has_gone};

/// The hub's account here.
pub const POST: &str = "post";

/// No line here is longer; RFC 5321 §4.5.3.1.6 allows 1,000 octets.
const MAX_LINE: u64 = 4_096;

/// Words of a subject that say which mail it is.
const STAMP: usize = 3;

/// How badly it answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Behaviour {
    /// Up to so long before a mail is taken, and again before that is answered. Milliseconds.
    pub dawdles: u64,
    /// How many of a thousand mails are taken and never answered.
    pub loses: u64,
}

#[derive(Default)]
struct Ledger {
    /// The first words of subjects by recipient, in the order in which they came.
    boxes: BTreeMap<String, Vec<String>>,
    answered: BTreeSet<String>,
    answers: u64,
    lost: usize,
    answered_nobody: usize,
}

struct Shared {
    behaviour: Behaviour,
    dice: Mutex<Dice>,
    ledger: Mutex<Ledger>,
    an_answer: Condvar,
    tls: Arc<ServerConfig>,
}

/// The server. Stops listening when it is dropped.
pub struct Post {
    port: Port,
    shared: Arc<Shared>,
}

type Line = BufReader<StreamOwned<ServerConnection, TcpStream>>;

impl Post {
    /// Starts one.
    ///
    /// # Errors
    /// There is no port to listen on, or no certificate.
    pub fn start(behaviour: Behaviour, dice: Dice) -> Result<Self> {
        let shared = Arc::new(Shared {
            behaviour,
            dice: Mutex::new(dice),
            ledger: Mutex::default(),
            an_answer: Condvar::new(),
            tls: tls()?,
        });
        let serving = Arc::clone(&shared);
        Ok(Self { port: Port::open(move |stream| serving.serve(stream))?, shared })
    }

    /// The account, for a hub's configuration.
    pub fn account(&self) -> String {
        format!(
            "[channels.email.{POST}]\nhost = \"localhost\"\nport = {}\ntls = \"implicit\"\nfrom = \"hub@post.test\"\n\
             ca_file = \"{}\"\n",
            self.port.port(),
            testdata("ca.pem").display()
        )
    }

    /// The first words of the subjects in a recipient's box, in the order in which they came.
    pub fn subjects(&self, address: &str) -> Vec<String> {
        self.shared.ledger().boxes.get(address).cloned().unwrap_or_default()
    }

    /// Whether the mail whose subject begins with these words was answered, heard or not.
    pub fn has_answered(&self, subject: &str) -> bool {
        self.shared.ledger().answered.contains(subject)
    }

    /// How many mails were taken and never answered.
    pub fn lost(&self) -> usize {
        self.shared.ledger().lost
    }

    /// How many mails were taken and answered when the client had gone.
    pub fn answered_nobody(&self) -> usize {
        self.shared.ledger().answered_nobody
    }

    /// Returns at the next answer to a mail, right after it has left; whether there was one.
    pub fn next_answer(&self, longest: Duration) -> bool {
        let ledger = self.shared.ledger();
        let answers = ledger.answers;
        let waited =
            self.shared.an_answer.wait_timeout_while(ledger, longest, |ledger| ledger.answers == answers);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// The certificates that the adapter's own tests use; they name `localhost`.
fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/src/channels/email/testdata").join(name)
}

fn tls() -> Result<Arc<ServerConfig>> {
    let certificate = CertificateDer::from_pem_file(testdata("server.pem"))?;
    let key = PrivateKeyDer::from_pem_file(testdata("server.key.pem"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(Arc::new(config))
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dice(&self, end: u64) -> u64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).below(end)
    }

    fn dawdle(&self) {
        if self.behaviour.dawdles > 0 {
            thread::sleep(Duration::from_millis(self.dice(self.behaviour.dawdles)));
        }
    }

    fn serve(&self, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let tls = ServerConnection::new(Arc::clone(&self.tls))?;
        let mut line = BufReader::new(StreamOwned::new(tls, stream));
        say(&mut line, "220 localhost ready")?;
        let mut to = String::new();
        while let Some(command) = hear(&mut line)? {
            let verb = command.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
            match verb.as_str() {
                "EHLO" => say(&mut line, "250-localhost\r\n250 8BITMIME")?,
                "RCPT" => {
                    let address = command.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
                    address.context("a recipient")?.0.clone_into(&mut to);
                    say(&mut line, "250 ok")?;
                }
                "DATA" => {
                    say(&mut line, "354 go ahead")?;
                    self.take(&mut line, &to)?;
                }
                "QUIT" => return say(&mut line, "221 bye"),
                _ => say(&mut line, "250 ok")?,
            }
        }
        Ok(())
    }

    /// Takes a mail. From its final dot on it is in the box, whatever its sender hears.
    fn take(&self, line: &mut Line, to: &str) -> Result<()> {
        let (mut subject, mut complete) = (String::new(), false);
        while let Some(line_read) = hear(line)? {
            if line_read == "." {
                complete = true;
                break;
            }
            if let Some(rest) = line_read.strip_prefix("Subject: ") {
                // What comes after it may be shortened, and then encoded.
                subject = rest.split(' ').take(STAMP).collect::<Vec<_>>().join(" ");
            }
        }
        // RFC 5321 §4.1.1.4: without its dot, nothing of it may be kept.
        ensure!(complete, "the mail ended in the middle");
        self.dawdle();
        self.ledger().boxes.entry(to.to_owned()).or_default().push(subject.clone());
        if self.dice(1_000) < self.behaviour.loses {
            self.ledger().lost += 1;
            // Not even a farewell: the client sees a line that broke.
            return Err(anyhow::anyhow!("its answer is lost"));
        }
        self.dawdle();
        if has_gone(&line.get_ref().sock) {
            self.ledger().answered_nobody += 1;
        }
        let answered = say(line, "250 2.0.0 it is in the box");
        let mut ledger = self.ledger();
        if answered.is_ok() {
            ledger.answered.insert(subject);
            ledger.answers += 1;
            self.an_answer.notify_all();
        }
        answered
    }
}

fn say(line: &mut Line, text: &str) -> Result<()> {
    let stream = line.get_mut();
    stream.write_all(format!("{text}\r\n").as_bytes())?;
    Ok(stream.flush()?)
}

/// A line without its end; nothing where the client has gone.
fn hear(line: &mut Line) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    line.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
    ensure!(bytes.is_empty() || bytes.ends_with(b"\n"), "a line without an end");
    let text = String::from_utf8_lossy(&bytes);
    Ok((!bytes.is_empty()).then(|| text.trim_end_matches(['\r', '\n']).to_owned()))
}
