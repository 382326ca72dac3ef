//! A wire between a hub and a platform on loopback, for all channels alike: it counts what passes, loses it, is cut, and answers in the
//! platform's place.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::Result;

use super::endpoint::Port;

/// A piece of what passes, in bytes.
const PIECE: usize = 16 * 1024;
/// So long it waits for the rest of a request that it answers itself.
const REST: Duration = Duration::from_millis(200);

/// The wire. It lets everything pass until it is told otherwise, and goes with its test.
pub struct Wire {
    port: Port,
    shared: Arc<Shared>,
}

/// What is done before a piece passes.
type Deed = Box<dyn FnOnce() + Send>;

struct Shared {
    to: u16,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many connections there ever were, and up to which of them nothing passes any more.
    connections: usize,
    frozen: usize,
    open: Vec<(usize, TcpStream)>,
    /// How many pieces passed, both ways; and before which something is done.
    pieces: usize,
    deed: Option<(usize, Deed)>,
    /// What is answered in the platform's place.
    answer: Option<Vec<u8>>,
}

impl State {
    fn cut(&mut self) {
        for (_, stream) in self.open.drain(..) {
            // Who has gone already is cut off as well.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Wire {
    /// A wire to this port of loopback.
    ///
    /// # Errors
    /// There is no port for its near end.
    pub fn to(port: u16) -> Result<Self> {
        let shared = Arc::new(Shared { to: port, state: Mutex::default() });
        let serving = Arc::clone(&shared);
        Ok(Self { port: Port::open(move |stream| serving.serve(stream))?, shared })
    }

    /// Its near end.
    pub fn port(&self) -> u16 {
        self.port.port()
    }

    /// How many pieces have passed, both ways.
    pub fn pieces(&self) -> usize {
        self.shared.state().pieces
    }

    /// Does this once `more` further pieces have passed, before the next does.
    pub fn after(&self, more: usize, deed: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state();
        state.deed = Some((state.pieces + more, Box::new(deed)));
    }

    /// Whether something is still to be done.
    pub fn waits(&self) -> bool {
        self.shared.state().deed.is_some()
    }

    /// Whoever speaks now hears and is heard no more, and is not told so; who connects anew is.
    pub fn freeze(&self) {
        let mut state = self.shared.state();
        state.frozen = state.connections;
    }

    /// Ends all connections.
    pub fn cut(&self) {
        self.shared.state().cut();
    }

    /// Answers each request so from now on: a status, headers as lines, and a body. Nothing reaches the platform.
    pub fn answer(&self, status: u16, headers: &str, body: &str) {
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        let mut state = self.shared.state();
        state.answer = Some(answer.into_bytes());
        state.cut();
    }

    /// Lets everything pass again.
    pub fn pass(&self) {
        let mut state = self.shared.state();
        state.answer = None;
        state.deed = None;
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(self: &Arc<Self>, near: TcpStream) -> Result<()> {
        near.set_nodelay(true)?;
        let answer = self.state().answer.clone();
        if let Some(answer) = answer {
            return say(near, &answer);
        }
        let far = TcpStream::connect(("127.0.0.1", self.to))?;
        far.set_nodelay(true)?;
        let number = {
            let mut state = self.state();
            state.connections += 1;
            let number = state.connections;
            for stream in [near.try_clone()?, far.try_clone()?] {
                state.open.push((number, stream));
            }
            number
        };
        let (shared, from, to) = (Arc::clone(self), near.try_clone()?, far.try_clone()?);
        let out = thread::spawn(move || shared.pump(number, from, to));
        self.pump(number, far, near);
        let _ = out.join();
        self.state().open.retain(|(of, _)| *of != number);
        Ok(())
    }

    /// Hands on what comes until either has gone. What is frozen is read, and goes nowhere.
    fn pump(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut piece = vec![0; PIECE];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            let deed = {
                let mut state = self.state();
                if number <= state.frozen {
                    continue;
                }
                state.pieces += 1;
                let pieces = state.pieces;
                state.deed.take_if(|(at, _)| pieces > *at)
            };
            if let Some((_, deed)) = deed {
                deed();
            }
            if to.write_all(&piece[..length]).is_err() {
                break;
            }
        }
        if number > self.state().frozen {
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        }
    }
}

/// Hears a request out, as far as it comes at once, and answers.
fn say(mut near: TcpStream, answer: &[u8]) -> Result<()> {
    let mut piece = vec![0; PIECE];
    let mut length = near.read(&mut piece)?;
    near.set_read_timeout(Some(REST))?;
    while length == PIECE {
        length = near.read(&mut piece).unwrap_or(0);
    }
    near.write_all(answer)?;
    Ok(near.shutdown(Shutdown::Write)?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use serde_json::json;

    use super::*;
    use crate::{hub::Client, mocks::MockServer};

    #[test]
    fn what_passes_is_counted_lost_answered_and_cut() {
        let server = MockServer::saying(json!({"says": "server"})).unwrap();
        let port = server.url().rsplit_once(':').unwrap().1.parse().unwrap();
        let wire = Wire::to(port).unwrap();
        let client = Client::new(&format!("http://127.0.0.1:{}", wire.port()), None);
        assert_eq!(client.get("/").unwrap().body["says"], "server");
        assert!(wire.pieces() >= 2);
        let done = Arc::new(AtomicBool::new(false));
        let does = Arc::clone(&done);
        wire.after(1, move || does.store(true, Ordering::SeqCst));
        client.get("/").unwrap();
        assert!(done.load(Ordering::SeqCst) && !wire.waits());
        wire.answer(429, "Retry-After: 1\r\n", "{\"says\":\"wire\"}");
        let refused = Client::new(client.base(), None).get("/").unwrap();
        assert_eq!((refused.status, &refused.body["says"]), (429, &json!("wire")));
        wire.pass();
        assert_eq!(Client::new(client.base(), None).get("/").unwrap().body["says"], "server");
        wire.cut();
        let heard = server.heard().len();
        wire.freeze();
        assert_eq!(Client::new(client.base(), None).get("/").unwrap().status, 200, "who comes anew is heard");
        assert_eq!(server.heard().len(), heard + 1);
    }
}
