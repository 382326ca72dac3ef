//! A cable between a companion and its broker, which a test can pull out and plug in elsewhere.

use std::{
    io,
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU16, Ordering},
    },
    thread,
};

use anyhow::Result;

/// Nothing is plugged in.
const NOWHERE: u16 = 0;

/// The cable. It ends with the test's process.
pub struct Cable {
    port: u16,
    to: Arc<AtomicU16>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cable {
    /// A cable to this port of loopback.
    ///
    /// # Errors
    /// The system has no port for its near end.
    pub fn to(port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = listener.local_addr()?.port();
        let cable = Self { port: near, to: Arc::new(AtomicU16::new(port)), open: Arc::default() };
        let (to, open) = (Arc::clone(&cable.to), Arc::clone(&cable.open));
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let port = to.load(Ordering::SeqCst);
                // Without a broker the near end is closed at once.
                if port != NOWHERE
                    && let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                {
                    // A connection that could not be made is one that was lost.
                    let _ = join(near, far, &open);
                }
            }
        });
        Ok(cable)
    }

    /// Its near end, a port of loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Pulls it out: every connection breaks, and none is made.
    pub fn pull(&self) {
        self.plug(NOWHERE);
    }

    /// Plugs it in at this port; connections to another break.
    pub fn plug(&self, port: u16) {
        self.to.store(port, Ordering::SeqCst);
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Carries bytes both ways until one end closes.
fn join(near: TcpStream, far: TcpStream, open: &Mutex<Vec<TcpStream>>) -> io::Result<()> {
    let ends = [(near.try_clone()?, far.try_clone()?), (far.try_clone()?, near.try_clone()?)];
    open.lock().unwrap_or_else(PoisonError::into_inner).extend([near, far]);
    for (mut from, mut to) in ends {
        to.set_nodelay(true)?;
        thread::spawn(move || {
            // However it ends, both ends are closed then.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}
