//! One mail over one connection, step by step, so that it is known where a broken one broke.
//!
//! The line that matters is the end of the content. A server must throw away what it got without the final dot
//! (RFC 5321 §4.1.1.4), so whatever goes wrong before the dot is written is [`Failure::Retry`] or
//! [`Failure::Permanent`]; once it may have left, only the server's own answer says what happened, and without one the
//! mail is [`Failure::Unknown`].
//!
//! Connections are not kept: a home sends few mails, and servers close idle sessions at a moment of their choosing.

use std::{
    future::poll_fn,
    io,
    iter::from_fn,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use lettre::transport::smtp::{
    authentication::{Credentials, Mechanism},
    client::{AsyncSmtpConnection, AsyncTokioStream, Certificate, TlsParameters},
    commands::{Data, Mail as MailFrom, Noop, Rcpt},
    extension::ClientId,
    response::Severity,
};
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::timeout,
};

use super::{
    classify::{Phase, classify, no_answer},
    request::Mail,
};
use crate::channels::{Failure, kit::http::token::Token};

/// How long the farewell may take, which nobody waits for.
const FAREWELL: Duration = Duration::from_secs(5);

/// The slowest that a mail may leave, in bytes a second, beyond what its answer may take.
const UPLOAD_RATE: u64 = 128 * 1024;
const UPLOAD_LONGEST: Duration = Duration::from_mins(4);

/// RFC 4954; both only ever inside TLS.
const MECHANISMS: [Mechanism; 2] = [Mechanism::Plain, Mechanism::Login];

/// When TLS begins. There is no value for "never".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Security {
    /// After the greeting, RFC 3207.
    #[default]
    Starttls,
    /// With the first byte, RFC 8314 §3.3.
    Implicit,
}

/// A name and a password.
#[derive(Clone)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: Token,
}

/// How long to wait. A delivery has at most seven steps and an answer, so it ends within 330 s, and within 240 s more
/// where files go along.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateLimiter {
    /// For each of a host's addresses.
    pub(super) address: Duration,
    /// For each step.
    pub(super) step: Duration,
    /// For the content and its answer. Longer: servers look for viruses here, and RFC 5321 §4.5.3.2.6 warns of
    /// giving up on one that has the mail.
    pub(super) answer: Duration,
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self {
            address: Duration::from_secs(10),
            step: Duration::from_secs(30),
            answer: Duration::from_secs(120),
        }
    }
}

impl RateLimiter {
    /// For the content and its answer, with so many bytes of files in it.
    fn with_files(&self, size: u64) -> Duration {
        self.answer + Duration::from_secs(size / UPLOAD_RATE).min(UPLOAD_LONGEST)
    }
}

/// The work, or nothing as soon as it is seen to be broken.
async fn unless<T>(broken: &AtomicBool, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        _ if broken.load(Ordering::Relaxed) => Poll::Ready(None),
        polled => polled.map(Some),
    })
    .await
}

/// A submission server and how to be let in.
pub(super) struct Submission {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) tls: TlsParameters,
    pub(super) hello: ClientId,
    pub(super) login: Option<Login>,
    pub(super) limiter: RateLimiter,
}

/// What a server must prove: its name, under the system's authorities or one of the person's own (PEM).
pub(super) fn trust(host: &str, authority: Option<&[u8]>) -> Result<TlsParameters, String> {
    if rustls::pki_types::ServerName::try_from(host).is_err() {
        return Err(format!("host: {host:?} is neither a host name nor an IP address"));
    }
    let mut tls = TlsParameters::builder(host.to_owned());
    if let Some(pem) = authority {
        if !pem.windows(MARK.len()).any(|window| window == MARK) {
            return Err("ca_file: there is no certificate in it; it must be in PEM form".into());
        }
        tls = tls.add_root_certificate(Certificate::from_pem(pem).map_err(|e| format!("ca_file: {e}"))?);
    }
    tls.build_rustls().map_err(|e| format!("cannot set up TLS: {e}"))
}

/// RFC 7468 §5.1.
const MARK: &[u8] = b"-----BEGIN CERTIFICATE-----";

impl Submission {
    /// Hands over a mail.
    pub(super) async fn submit(&self, mail: &Mail) -> Result<(), Failure> {
        let mut connection = self.enter().await?;
        if let Err(refused) = self.announce(&mut connection, mail).await {
            leave(connection);
            return Err(refused);
        }
        let content = self.pass(&mut connection, mail).await;
        // In the midst of a mail, a farewell would be its next line: the line is cut instead.
        if content.answered {
            leave(connection);
        }
        content.outcome
    }

    /// Logs in, sends nothing, and says where it was.
    pub(super) async fn knock(&self) -> Result<String, Failure> {
        let mut connection = self.enter().await?;
        let answer = self.step(Phase::Noop, connection.command(Noop)).await;
        leave(connection);
        answer.map(|_| format!("{} over TLS", self.server()))
    }

    fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Connects, as far as being allowed to send.
    async fn enter(&self) -> Result<AsyncSmtpConnection, Failure> {
        let mut connection = match self.security {
            Security::Starttls => {
                let stream =
                    self.step(Phase::Connect, dial(&self.host, self.port, self.limiter.address)).await?;
                let greeting =
                    AsyncSmtpConnection::connect_with_transport(Box::new(LineByLine(stream)), &self.hello);
                let mut connection = self.step(Phase::Connect, greeting).await?;
                if !connection.can_starttls() {
                    leave(connection);
                    return Err(Failure::Permanent(format!(
                        "{} offers no STARTTLS, and nothing is sent without TLS; try tls = \"implicit\" and port 465",
                        self.server()
                    )));
                }
                self.step(Phase::StartTls, connection.starttls(self.tls.clone(), &self.hello)).await?;
                connection
            }
            Security::Implicit => {
                let greeting = AsyncSmtpConnection::connect_tokio1(
                    (self.host.as_str(), self.port),
                    Some(self.limiter.address),
                    &self.hello,
                    Some(self.tls.clone()),
                    None,
                );
                self.step(Phase::Connect, greeting).await?
            }
        };
        if let Some(login) = &self.login {
            if connection.server_info().get_auth_mechanism(&MECHANISMS).is_none() {
                leave(connection);
                return Err(Failure::Permanent(format!(
                    "{} offers no login by password (AUTH PLAIN or LOGIN)",
                    self.server()
                )));
            }
            let password = login.password.now();
            let credentials = Credentials::new(login.user.clone(), password.expose().to_owned());
            let entered = self.step(Phase::Login, connection.auth(&MECHANISMS, &credentials)).await;
            entered.map_err(|failure| match failure {
                Failure::Permanent(why) if login.password.renewed() => {
                    Failure::Retry(format!("{why}; there is a new password, with which it goes again"))
                }
                failure => failure,
            })?;
        }
        Ok(connection)
    }

    /// Says whose mail comes and for whom, as far as the server wants to see it.
    async fn announce(&self, connection: &mut AsyncSmtpConnection, mail: &Mail) -> Result<(), Failure> {
        let sender = MailFrom::new(Some(mail.sender.clone()), Vec::new());
        self.step(Phase::Sender, connection.command(sender)).await?;
        let recipient = Rcpt::new(mail.recipient.clone(), Vec::new());
        self.step(Phase::Recipient, connection.command(recipient)).await?;
        let answer = self.step(Phase::Data, connection.command(Data)).await?;
        if !answer.has_code(354) {
            return Err(Failure::Retry(format!(
                "{} answered DATA with {}, not with 354",
                self.server(),
                answer.code()
            )));
        }
        Ok(())
    }

    /// Brings the content, to its final dot.
    async fn pass(&self, connection: &mut AsyncSmtpConnection, mail: &Mail) -> Passed {
        let unanswered = |failure| Passed { outcome: Err(failure), answered: false };
        // The iterator is asked for more once the content is written, and then the final dot is.
        let (dot, broken) = (AtomicBool::new(false), AtomicBool::new(false));
        let content = mail.content.blocks(&broken).chain(from_fn(|| {
            dot.store(true, Ordering::Relaxed);
            None
        }));
        let answer = self.limiter.with_files(mail.content.files_size());
        let handed_over = timeout(answer, unless(&broken, connection.message_iter(content))).await;
        let result = match handed_over {
            Ok(Some(result)) => Ok(result),
            Ok(None) => {
                return unanswered(Failure::Retry(
                    "an attached file cannot be read; the mail broke off".into(),
                ));
            }
            Err(late) => Err(late),
        };
        let lost = match result {
            Ok(Ok(answer)) if answer.code().severity == Severity::PositiveCompletion => {
                return Passed { outcome: Ok(()), answered: true };
            }
            Ok(Ok(answer)) => format!("the answer was {}, which says neither yes nor no", answer.code()),
            Ok(Err(error)) => {
                let failure = self.classify(Phase::Content, &error);
                if error.status().is_some() || !dot.load(Ordering::Relaxed) {
                    return Passed { outcome: Err(failure), answered: error.status().is_some() };
                }
                failure.to_string()
            }
            Err(_) => format!("no answer within {} s", answer.as_secs()),
        };
        unanswered(if dot.load(Ordering::Relaxed) {
            Failure::Unknown(format!(
                "{} was given the whole mail, and nobody knows if it took it: {lost}",
                self.server()
            ))
        } else {
            Failure::Retry(format!("{} did not take the whole mail: {lost}", self.server()))
        })
    }

    async fn step<T, E: std::error::Error + 'static>(
        &self,
        phase: Phase,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Failure> {
        match timeout(self.limiter.step, work).await {
            Ok(result) => result.map_err(|error| self.classify(phase, &error)),
            Err(_) => Err(Failure::Retry(format!(
                "{} did not get past {phase} within {} s{}",
                self.server(),
                self.limiter.step.as_secs(),
                no_answer(phase)
            ))),
        }
    }

    fn classify(&self, phase: Phase, error: &(dyn std::error::Error + 'static)) -> Failure {
        let password = self.login.as_ref().map(|login| login.password.now());
        classify(&self.server(), phase, error, password.as_ref().map(|password| password.expose()))
    }
}

/// Connects to the first of the host's addresses that answers within `each`: IPv6 that leads nowhere is common in homes.
pub(super) async fn dial(host: &str, port: u16, each: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
    for address in addresses {
        match timeout(each, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => {
                last = io::Error::new(io::ErrorKind::TimedOut, format!("{address} does not answer"));
            }
        }
    }
    Err(last)
}

/// What became of the content.
struct Passed {
    outcome: Result<(), Failure>,
    /// Whether the server answered to it, so that it listens again.
    answered: bool,
}

/// Says QUIT without waiting for it: a confirmed mail must be on record as soon as it is confirmed.
fn leave(mut connection: AsyncSmtpConnection) {
    tokio::spawn(async move {
        let _ = timeout(FAREWELL, connection.quit()).await;
    });
}

/// A stream that never hands out more than one line at a time.
///
/// lettre keeps what it has read but not used when it turns a plain connection into TLS. Answers that somebody slips in
/// behind the server's reply to STARTTLS would pass for answers from inside TLS, up to "250 queued" for a mail that
/// nobody got (response injection: "Why TLS Is Better Without STARTTLS", USENIX Security 2021). Read line by line, they
/// stay in the socket, where the TLS handshake finds them and fails.
#[derive(Debug)]
pub(super) struct LineByLine(pub(super) TcpStream);

impl AsyncTokioStream for LineByLine {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }
}

impl AsyncRead for LineByLine {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut space = [0; 1024];
        let room = buffer.remaining().min(space.len());
        let mut peeked = ReadBuf::new(&mut space[..room]);
        ready!(self.0.poll_peek(context, &mut peeked))?;
        let seen = peeked.filled();
        let line = seen.iter().position(|byte| *byte == b'\n').map_or(seen.len(), |at| at + 1);
        let mut taken = ReadBuf::new(&mut space[..line]);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut taken))?;
        buffer.put_slice(taken.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for LineByLine {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
