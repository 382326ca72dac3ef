//! A submission server on loopback that goes along with everything but what its script says otherwise.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::submission::Security;

/// Signed the mock's certificate.
pub(in crate::channels) const AUTHORITY: &[u8] = include_bytes!("testdata/ca.pem");

/// What the mock does at a stage: at "greeting", at a command, before the "content", after its final ".".
#[derive(Debug, Clone, Copy)]
pub(in crate::channels) enum Step {
    /// Says this.
    Answer(&'static str),
    /// Closes the connection.
    Close,
    /// Says and reads nothing more, and holds the connection open.
    Hang,
}

/// The server. Stops listening when the test's process ends.
pub(in crate::channels) struct Mock {
    /// Where it listens, as `localhost`.
    pub(in crate::channels) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

type Script = &'static [(&'static str, Step)];

impl Mock {
    /// Starts one that begins in the clear.
    pub(in crate::channels) fn upgrading(script: &[(&'static str, Step)]) -> Self {
        Self::start(Security::Starttls, script)
    }

    /// Starts one.
    pub(super) fn start(security: Security, script: &[(&'static str, Step)]) -> Self {
        let script: Script = script.to_vec().leak();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = heard.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = converse(stream, security, script, &notes);
            }
        });
        Self { port, heard }
    }

    /// The lines that it was sent, so far.
    pub(in crate::channels) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn converse(
    mut stream: TcpStream,
    security: Security,
    script: Script,
    notes: &Mutex<Vec<String>>,
) -> io::Result<()> {
    if security == Security::Starttls && !session(&mut stream, true, true, script, notes)? {
        return Ok(());
    }
    let tls = ServerConnection::new(tls()).map_err(io::Error::other)?;
    let greet = security == Security::Implicit;
    session(&mut StreamOwned::new(tls, stream), greet, false, script, notes).map(|_| ())
}

pub(super) fn tls() -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("testdata/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("testdata/server.key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Arc::new(config)
}

/// Speaks until the end (false) or until TLS is to begin (true).
fn session(
    stream: &mut (impl Read + Write),
    greet: bool,
    plain: bool,
    script: Script,
    notes: &Mutex<Vec<String>>,
) -> io::Result<bool> {
    if greet {
        play(stream, script, "greeting", "220 localhost ready")?;
    }
    loop {
        let line = line(stream)?;
        notes.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
        let stage = line.split(' ').next().unwrap_or_default().to_owned();
        match stage.as_str() {
            "EHLO" if plain => play(stream, script, "EHLO", "250-localhost\r\n250 STARTTLS")?,
            "EHLO" => write(stream, "250-localhost\r\n250 AUTH PLAIN LOGIN")?,
            "STARTTLS" => {
                play(stream, script, "STARTTLS", "220 go ahead")?;
                return Ok(true);
            }
            // A script may name the whole line: a password that is wrong beside one that is right.
            "AUTH" => {
                let whole = script.iter().any(|(at, _)| *at == line);
                play(stream, script, if whole { &line } else { "AUTH" }, "235 welcome")?;
            }
            "DATA" => {
                play(stream, script, "DATA", "354 go ahead")?;
                play(stream, script, "content", "")?;
                loop {
                    let said = self::line(stream)?;
                    let ended = said == ".";
                    notes.lock().unwrap_or_else(PoisonError::into_inner).push(said);
                    if ended {
                        break;
                    }
                }
                play(stream, script, ".", "250 2.0.0 queued as 4711")?;
            }
            "QUIT" => {
                write(stream, "221 bye")?;
                return Ok(false);
            }
            other => play(stream, script, other, "250 ok")?,
        }
    }
}

fn play(stream: &mut impl Write, script: Script, stage: &str, usual: &str) -> io::Result<()> {
    match script.iter().find(|(at, _)| *at == stage) {
        None => write(stream, usual),
        Some((_, Step::Answer(text))) => write(stream, text),
        Some((_, Step::Close)) => Err(io::ErrorKind::ConnectionAborted.into()),
        Some((_, Step::Hang)) => {
            thread::sleep(Duration::from_secs(60));
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

fn write(stream: &mut impl Write, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    stream.write_all(format!("{text}\r\n").as_bytes())?;
    stream.flush()
}

/// One line, byte by byte, so that nothing of what follows is taken with it.
fn line(stream: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while byte[0] != b'\n' {
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}
