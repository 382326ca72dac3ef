//! Where a mock receives: requests in, answers out, all of it written down.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::endpoint::Port;

/// No request here is longer, in bytes.
const MAX_REQUEST: usize = 32 * 1024 * 1024;
/// A client that says nothing for so long has gone.
const SILENT: Duration = Duration::from_secs(60);

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// Behind the host, without what follows a `?`.
    pub path: String,
    /// What follows it, decoded no further.
    pub query: String,
    /// By their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// As it came.
    pub body: Vec<u8>,
}

impl Request {
    /// A header; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A status and a JSON body.
    Says(u16, Value),
    /// The same with a header line.
    With(u16, &'static str, Value),
    /// A status, and bytes of this media type.
    Bytes(u16, &'static str, Vec<u8>),
    /// The connection is closed without one, and nothing was done.
    Nothing,
    /// It is done, and the connection is closed.
    Lost,
    /// It is done, and this is said instead of that it is.
    Done(u16, Value),
}

type Handle = dyn Fn(&Request) -> (u16, Value) + Send + Sync;
/// Serves a request to its end, and says whether it was one of those.
type Take = dyn Fn(&Request, &TcpStream) -> Result<bool> + Send + Sync;

struct Shared {
    handle: Box<Handle>,
    take: Box<Take>,
    /// Each for a path that ends so.
    next: Mutex<VecDeque<(String, Answer)>>,
    heard: Mutex<Vec<Request>>,
}

/// An open port on loopback. It closes when this is dropped.
pub struct MockServer {
    port: Port,
    shared: Arc<Shared>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MockServer {
    /// Opens one that answers as `handle` says.
    ///
    /// # Errors
    /// There is no port to listen on.
    pub fn open(handle: impl Fn(&Request) -> (u16, Value) + Send + Sync + 'static) -> Result<Self> {
        Self::with_streams(handle, |_, _| Ok(false))
    }

    /// The same where `take` serves some requests by itself, such as one for a stream. The connection ends with it.
    ///
    /// # Errors
    /// There is no port to listen on.
    pub fn with_streams(
        handle: impl Fn(&Request) -> (u16, Value) + Send + Sync + 'static,
        take: impl Fn(&Request, &TcpStream) -> Result<bool> + Send + Sync + 'static,
    ) -> Result<Self> {
        let (handle, take) = (Box::new(handle), Box::new(take));
        let shared = Arc::new(Shared { handle, take, next: Mutex::default(), heard: Mutex::default() });
        let serving = Arc::clone(&shared);
        Ok(Self { port: Port::open(move |stream| serving.serve(stream))?, shared })
    }

    /// Opens one that answers everything with 200 and `said`.
    ///
    /// # Errors
    /// There is no port to listen on.
    pub fn saying(said: Value) -> Result<Self> {
        Self::open(move |request| (200, if request.method == "HEAD" { Value::Null } else { said.clone() }))
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.port())
    }

    /// What the next requests are answered, one each, before the mock thinks for itself again.
    pub fn next(&self, answers: impl IntoIterator<Item = Answer>) {
        locked(&self.shared.next).extend(answers.into_iter().map(|answer| (String::new(), answer)));
    }

    /// The same for the next request whose path ends so; those before it are answered as ever.
    pub fn next_for(&self, end: &str, answer: Answer) {
        locked(&self.shared.next).push_back((end.to_owned(), answer));
    }

    /// All requests so far.
    pub fn heard(&self) -> Vec<Request> {
        locked(&self.shared.heard).clone()
    }
}

impl Shared {
    /// What a test wants this request answered, if anything.
    fn said_beforehand(&self, path: &str) -> Option<Answer> {
        let mut next = locked(&self.next);
        let at = next.iter().position(|(end, _)| path.ends_with(end.as_str()))?;
        next.remove(at).map(|(_, answer)| answer)
    }

    fn serve(&self, mut stream: TcpStream) -> Result<()> {
        stream.set_read_timeout(Some(SILENT))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read(&mut reader)? {
            locked(&self.heard).push(request.clone());
            let next = self.said_beforehand(&request.path);
            let (status, header, kind, body) = match next {
                None if (self.take)(&request, &stream)? => return Ok(stream.shutdown(Shutdown::Both)?),
                None => {
                    let (status, body) = (self.handle)(&request);
                    (status, "", JSON, written(&body))
                }
                Some(Answer::Says(status, body)) => (status, "", JSON, written(&body)),
                Some(Answer::Done(status, body)) => {
                    (self.handle)(&request);
                    (status, "", JSON, written(&body))
                }
                Some(Answer::With(status, header, body)) => (status, header, JSON, written(&body)),
                Some(Answer::Bytes(status, kind, body)) => (status, "", kind, body),
                Some(Answer::Lost) => {
                    (self.handle)(&request);
                    return Ok(stream.shutdown(Shutdown::Both)?);
                }
                Some(Answer::Nothing) => return Ok(stream.shutdown(Shutdown::Both)?),
            };
            let line = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
            let head = format!(
                "HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{line}\r\n",
                body.len()
            );
            stream.write_all(&[head.as_bytes(), &body].concat())?;
        }
        Ok(())
    }
}

const JSON: &str = "application/json";

/// As it goes over the line: null is an empty body.
fn written(body: &Value) -> Vec<u8> {
    if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }
}

fn read(reader: &mut BufReader<TcpStream>) -> Result<Option<Request>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let method = words.next().context("a method")?.to_owned();
    let target = words.next().context("a path")?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = usize::from_str_radix(size.trim(), 16)?;
            ensure!(body.len() + size <= MAX_REQUEST, "too long");
            let at = body.len();
            body.resize(at + size, 0);
            reader.read_exact(&mut body[at..])?;
            reader.read_line(&mut String::new())?;
            if size == 0 {
                break;
            }
        }
    } else {
        let length = headers.get("content-length").map_or(Ok(0), |length| length.parse::<usize>())?;
        ensure!(length <= MAX_REQUEST, "too long");
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
    }
    Ok(Some(Request { method, path: path.to_owned(), query: query.to_owned(), headers, body }))
}
