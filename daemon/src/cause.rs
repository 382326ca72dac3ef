//! What lies behind an error.

use std::{error::Error, io, net::SocketAddr};

/// The last of an error's sources: what the system or the peer said. The layers above it repeat addresses, or name
/// themselves.
pub fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error
}

/// The first error of this kind among an error, its sources, and what an I/O error carries, which is no source of it.
pub fn found<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let found = error.downcast_ref().or_else(|| carried.and_then(|carried| found(carried)));
        if found.is_some() {
            return found;
        }
        next = error.source();
    }
    None
}

/// What to do about an address of the configuration at which the hub cannot listen.
pub fn refused_address(key: &str, address: &SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            let port = address.port();
            format!(
                "end the program that has it (ss -ltnp 'sport = :{port}' names it), or give {key} another port"
            )
        }
        io::ErrorKind::AddrNotAvailable => format!(
            "this machine has no such address, or not yet: give {key} one that it always has, or start the hub when its network is up"
        ),
        _ => format!("give {key} an address of this machine, with a port from 1024 on"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("above it")]
    struct Above(#[source] io::Error);

    #[test]
    fn an_error_is_found_behind_others_and_in_what_an_io_error_carries() {
        let number = "x".parse::<u8>().unwrap_err();
        let error = Above(io::Error::other(Above(io::Error::other(number.clone()))));
        assert_eq!(found(&error), Some(&number));
        assert_eq!(found::<std::fmt::Error>(&error), None);
    }
}
