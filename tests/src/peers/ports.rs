//! Free ports on loopback.
//!
//! Taken from below the range that the kernel gives to outgoing connections (32768 and up, Linux's
//! `ip_local_port_range`), at random, so that two test binaries seldom meet; where they do, the peer says that its
//! address is in use, and [`retrying`] starts it again on another.

use std::{
    collections::{HashSet, hash_map::RandomState},
    hash::BuildHasher as _,
    net::{Ipv4Addr, TcpListener},
    sync::{LazyLock, Mutex, PoisonError},
};

use anyhow::{Result, bail};

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// What this process has handed out and its peers may not have bound yet.
static TAKEN: LazyLock<Mutex<HashSet<u16>>> = LazyLock::new(Mutex::default);

/// A TCP port on loopback that nobody listens on, never the same one twice in a process.
///
/// # Errors
/// All are taken.
pub fn free() -> Result<u16> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let random = RandomState::new();
    for attempt in 0..1_000_u32 {
        let port = FIRST + (random.hash_one(attempt) % u64::from(COUNT)) as u16;
        if !taken.contains(&port) && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            taken.insert(port);
            return Ok(port);
        }
    }
    bail!("no free port between {FIRST} and {}", FIRST + COUNT)
}

/// Starts a peer, and starts it anew when another process took its port between the choice and the bind.
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
    use super::*;

    #[test]
    fn a_port_is_handed_out_once() {
        let ports: Vec<_> = (0..50).map(|_| free().unwrap()).collect();
        assert_eq!(ports.iter().collect::<HashSet<_>>().len(), 50);
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
