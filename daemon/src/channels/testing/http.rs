//! A platform on loopback that gives the answers of its script, one a request, each on its own connection.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// One answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply {
    /// A status, further header lines, a body. `{port}` in it is the port on which it answers, for an address of its own.
    Says(u16, &'static str, &'static str),
    /// Reads the request and closes the connection.
    Close,
    /// Resets the connection when the request has only begun.
    ResetEarly,
    /// Resets the connection when all but the last byte of the request's body was read.
    ResetLate,
    /// Says yes and does not come to an end.
    Endless,
    /// Reads the request and says nothing, for as long as anybody waits.
    Silent,
}

/// The server. Refuses to answer when its script is over; stops listening when the test's process ends.
pub(crate) struct Mock {
    /// Where it listens on 127.0.0.1.
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Mock {
    /// Starts one.
    pub(crate) fn start(script: &[Reply]) -> Self {
        let script = script.to_vec();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = heard.clone();
        thread::spawn(move || {
            for (reply, stream) in script.iter().zip(listener.incoming().flatten()) {
                let _ = answer(stream, *reply, &notes);
            }
        });
        Self { port, heard }
    }

    /// The requests so far: head and body.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(mut stream: TcpStream, reply: Reply, notes: &Mutex<Vec<String>>) -> io::Result<()> {
    let left = match reply {
        Reply::ResetEarly => return stream.read_exact(&mut [0]),
        // A connection that is closed with something unread in it is reset.
        Reply::ResetLate => 1,
        _ => 0,
    };
    let request = request(&mut stream, left)?;
    notes.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    match reply {
        Reply::Close | Reply::ResetEarly | Reply::ResetLate => Ok(()),
        Reply::Says(status, headers, body) => {
            let body = body.replace("{port}", &stream.local_addr()?.port().to_string());
            let length = body.len();
            let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\nConnection: close\r\n");
            stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes())
        }
        Reply::Silent => io::copy(&mut stream, &mut io::sink()).map(drop),
        Reply::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            loop {
                stream.write_all(&[b' '; 4096])?;
            }
        }
    }
}

/// A request, but for so many of its body's last bytes.
fn request(stream: &mut TcpStream, left: usize) -> io::Result<String> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&request).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    let (read, _) = body.split_at_mut(length.saturating_sub(left));
    stream.read_exact(read)?;
    Ok(head + &String::from_utf8_lossy(&body))
}

/// What a request brings, as JSON.
pub(crate) fn body(request: &str) -> serde_json::Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// A port where nobody listens.
pub(crate) fn nobody() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The HTTP client as the hub makes it: no redirects, no proxy.
pub(crate) fn http() -> reqwest::Client {
    // The first test of the process installs it, the others find it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap()
}
