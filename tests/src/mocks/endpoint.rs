//! A port at which each client is served by a thread of its own.

use std::{
    io::ErrorKind,
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use anyhow::Result;

/// An open port on the loopback. It closes when this is dropped.
pub(crate) struct Port {
    port: u16,
    closed: Arc<AtomicBool>,
}

impl Port {
    /// Opens a port and serves whoever comes.
    pub(crate) fn open(serve: impl Fn(TcpStream) -> Result<()> + Send + Sync + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (closed, serve) = (Arc::new(AtomicBool::new(false)), Arc::new(serve));
        let is_closed = Arc::clone(&closed);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if is_closed.load(Ordering::Relaxed) {
                    break;
                }
                let (Ok(stream), serve) = (stream, Arc::clone(&serve)) else { continue };
                thread::spawn(move || {
                    // A client that goes, or is killed, is what this is for.
                    let _ = serve(stream);
                });
            }
        });
        Ok(Self { port, closed })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// Whether the other side has closed, or was killed.
pub(crate) fn has_gone(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let gone = match stream.peek(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    stream.set_nonblocking(false).is_err() || gone
}

impl Drop for Port {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // Wakes the one who listens; if nobody does, that is as well.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}
