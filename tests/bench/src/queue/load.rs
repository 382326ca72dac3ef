//! Clients: as little as one can be, so that what is measured is the server.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use super::Outcome;

/// A connection that stays open.
pub(crate) struct Client {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr, token: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let head = format!(
            "HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
        );
        Ok(Self { stream, head, buffer: Vec::with_capacity(4096) })
    }

    /// Hands in a message; it must be answered with 200 or 202.
    pub(crate) async fn call(&mut self, body: &str) -> Outcome<()> {
        self.request("POST", "/v1/messages", body).await.map(drop)
    }

    /// Makes a call; it must be answered with 200 or 202. The body of the answer.
    pub(crate) async fn request(&mut self, method: &str, path: &str, body: &str) -> Outcome<String> {
        let request = format!("{method} {path} {}content-length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let head = std::str::from_utf8(&self.buffer[..end])?.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.ok_or("an answer without a length")?.trim().parse()?;
        while self.buffer.len() < end + length {
            self.more().await?;
        }
        match head.get(9..12) {
            Some("200" | "202") => Ok(String::from_utf8_lossy(&self.buffer[end..]).into_owned()),
            _ => Err(format!("the call was answered with {}", String::from_utf8_lossy(&self.buffer)).into()),
        }
    }

    async fn more(&mut self) -> Outcome<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(()),
        }
    }
}

/// The call that hands in message `number`, to this lane: what an agent writes, about 300 bytes of it.
pub(super) fn message(number: usize, lane: usize) -> String {
    format!(
        "{{\"to\":\"matrix:!lane{lane}:double\",\"message\":\"{number} **Deployment** of `door-{lane}` has finished: all 212 checks \
         passed, *two* of them at the second attempt. See [the log](https://ci.example.org/runs/{number}).\\n\\nThe certificate \
         expires on Friday; I renew it tomorrow at noon unless you say otherwise.\"}}"
    )
}

/// The number of a message, by its text.
pub(super) fn number(text: &str) -> Option<usize> {
    text.split(' ').next()?.parse().ok()
}

/// The same call, only asking what would become of it.
fn dry(call: &str) -> String {
    format!("{{\"dryRun\":true,{}", call.trim_start_matches('{'))
}

/// So many clients hand in so many messages over so many lanes, each as fast as it is answered; how long each call took, and all of it.
pub(super) async fn flood(
    address: SocketAddr,
    token: &str,
    clients: usize,
    messages: usize,
    lanes: usize,
    only_asking: bool,
) -> Outcome<(Vec<Duration>, Duration)> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut open = vec![];
    for _ in 0..clients {
        open.push(Client::connect(address, token).await?);
    }
    let began = Instant::now();
    let mut flood = JoinSet::<Result<Vec<Duration>, String>>::new();
    for mut client in open {
        let next = Arc::clone(&next);
        flood.spawn(async move {
            let mut times = vec![];
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= messages {
                    return Ok(times);
                }
                let call = message(number, number % lanes);
                let call = if only_asking { dry(&call) } else { call };
                let called = Instant::now();
                client.call(&call).await.map_err(|error| error.to_string())?;
                times.push(called.elapsed());
            }
        });
    }
    let mut all = Vec::with_capacity(messages);
    while let Some(times) = flood.join_next().await {
        all.extend(times??);
    }
    Ok((all, began.elapsed()))
}
