//! An address on loopback that takes every request, says the same to all, and remembers them: a webhook without anybody
//! behind it, or where tokens are given to whoever asks.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use anyhow::Result;
use serde_json::Value;

/// Where it listens, and what it took. It ends with the test's process.
#[derive(Debug)]
pub struct Taker {
    port: u16,
    took: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Taker {
    /// Starts one that answers 200 with `said`.
    ///
    /// # Errors
    /// There is no port.
    pub fn start(said: &Value) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let took: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let (notes, said) = (Arc::clone(&took), said.to_string());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let length = |line: &str| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok();
                let mut body = vec![0; head.lines().find_map(length).unwrap_or(0)];
                if stream.read_exact(&mut body).is_err() {
                    continue;
                }
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let (length, said) = (said.len(), if head.starts_with("HEAD ") { "" } else { &said });
                let answer =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{said}");
                notes.lock().unwrap_or_else(PoisonError::into_inner).push((head, body));
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Ok(Self { port, took })
    }

    /// `http://127.0.0.1:PORT`, without a slash at its end.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests so far: head, and body where that is JSON.
    pub fn took(&self) -> Vec<(String, Value)> {
        self.took.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
