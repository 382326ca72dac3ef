//! Free ports on loopback.
//!
//! Taken from below the range that the kernel gives to outgoing connections (32768 and up, Linux's
//! `ip_local_port_range`). Test programs run at the same time, and a port is chosen some time before its server listens, and
//! is kept while that server is down: so each program takes whole blocks of ports, with a file lock for each that ends with
//! the program.

use std::{
    collections::VecDeque,
    env,
    fs::{self, File, TryLockError},
    net::{Ipv4Addr, TcpListener},
    process,
    sync::{LazyLock, Mutex, PoisonError},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::getuid;

const FIRST: u16 = 20_000;
const BLOCKS: u16 = 60;
const BLOCK_PORTS: u16 = 200;

/// What this process may hand out.
static OWN: LazyLock<Mutex<Own>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Own {
    /// Each is locked while it is open.
    blocks: Vec<File>,
    /// Not handed out yet.
    ports: VecDeque<u16>,
}

impl Own {
    fn take_block(&mut self) -> Result<()> {
        let folder = env::temp_dir().join(format!("gatepost-test-ports-{}", getuid().as_raw()));
        fs::create_dir_all(&folder)?;
        // Programs that start at the same moment begin at different blocks.
        let begin = process::id() % u32::from(BLOCKS);
        for block in (0..BLOCKS).map(|block| (block + begin as u16) % BLOCKS) {
            let path = folder.join(block.to_string());
            let file = File::options().create(true).write(true).truncate(false).open(&path);
            let file = file.with_context(|| format!("cannot open {}", path.display()))?;
            match file.try_lock() {
                Ok(()) => {
                    let first = FIRST + block * BLOCK_PORTS;
                    self.ports.extend(first..first + BLOCK_PORTS);
                    self.blocks.push(file);
                    return Ok(());
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        bail!("other test programs have all {BLOCKS} blocks of ports")
    }
}

/// A TCP port on loopback that nobody listens on, never the same one twice in a process, and never one of another test program.
///
/// # Errors
/// All are taken.
pub fn free() -> Result<u16> {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let Some(port) = own.ports.pop_front() else {
            own.take_block()?;
            continue;
        };
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
}

/// Starts a peer, and starts it anew when somebody else took its port between the choice and the bind.
pub(super) fn retrying<T>(mut start: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 0..3 {
        match start() {
            Err(error) if error.to_string().contains("already in use") => {}
            done => return done,
        }
    }
    start()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_port_is_handed_out_once() {
        let ports: Vec<_> = (0..BLOCK_PORTS + 50).map(|_| free().unwrap()).collect();
        assert_eq!(ports.iter().collect::<HashSet<_>>().len(), ports.len());
    }

    #[test]
    fn two_programs_have_no_block_in_common() {
        let (mut one, mut other) = (Own::default(), Own::default());
        one.take_block().unwrap();
        other.take_block().unwrap();
        assert!(one.ports.iter().all(|port| !other.ports.contains(port)));
    }

    #[test]
    fn a_peer_that_lost_its_port_is_started_on_another() {
        let mut tries = 0;
        let port = retrying(|| {
            tries += 1;
            if tries == 1 { bail!("bind failed: Address already in use") } else { free() }
        });
        assert!(port.is_ok() && tries == 2);
    }
}
