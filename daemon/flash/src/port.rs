//! The serial port: opened for nobody else, with what to do in words if it cannot be.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serialport::{ErrorKind, SerialPort, SerialPortType, TTYPort, UsbPortInfo};

/// What the chip's ROM speaks when it starts, and the companion's log.
pub const BAUD: u32 = 115_200;

/// Why a port cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Nothing is there.
    #[error("there is no {}: plug the board in with a cable that carries data, and look for it in /dev/serial/by-id", .0.display())]
    Missing(PathBuf),
    /// Its rights do not allow it.
    #[error("{} may not be opened: it belongs to the group dialout; run `sudo adduser $USER dialout` and log in again, or use sudo", .0.display())]
    Denied(PathBuf),
    /// Another program has it.
    #[error("{} is in use: close the other program, such as a serial monitor, and try again", .0.display())]
    Busy(PathBuf),
    /// It is something else, or does not work.
    #[error("{path} cannot be used as a serial port: {why}", path = .0.display(), why = .1)]
    Other(PathBuf, String),
    /// It was unplugged.
    #[error("{} has gone away: plug the board in again", .0.display())]
    Gone(PathBuf),
}

/// An open port.
#[derive(Debug)]
pub struct Port {
    /// The port itself.
    pub serial: TTYPort,
    /// What USB says of it; zeros if it is not USB.
    pub usb: UsbPortInfo,
    /// Whether it has the lines by which a board is reset. A pseudo-terminal has none: the person does it then.
    pub has_reset: bool,
}

/// How long a board's own USB may be away while it restarts.
const RETURN: Duration = Duration::from_secs(10);
/// Between two looks for it.
const LOOK: Duration = Duration::from_millis(100);

/// Opens the port of a board that may be restarting.
///
/// # Errors
/// It cannot be opened, or does not come back.
pub fn open_again(path: &Path) -> Result<Port, PortError> {
    let begin = Instant::now();
    loop {
        match open(path) {
            Err(PortError::Missing(_)) if begin.elapsed() < RETURN => thread::sleep(LOOK),
            opened => return opened,
        }
    }
}

/// Opens a port.
///
/// # Errors
/// It cannot be opened.
pub fn open(path: &Path) -> Result<Port, PortError> {
    // What lies in /dev/serial/by-id is a link, and /sys knows the device by its name.
    let device = fs::canonicalize(path).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => PortError::Denied(path.into()),
        _ => PortError::Missing(path.into()),
    })?;
    let opened =
        serialport::new(device.to_string_lossy(), BAUD).timeout(Duration::from_secs(3)).open_native();
    let mut serial = opened.map_err(|error| match error.kind {
        ErrorKind::Io(io::ErrorKind::PermissionDenied) => PortError::Denied(path.into()),
        ErrorKind::Io(io::ErrorKind::NotFound) => PortError::Missing(path.into()),
        ErrorKind::NoDevice | ErrorKind::Io(io::ErrorKind::WouldBlock) => PortError::Busy(path.into()),
        _ => PortError::Other(path.into(), error.description),
    })?;
    let usb = usb(&device).unwrap_or(UsbPortInfo {
        vid: 0,
        pid: 0,
        serial_number: None,
        manufacturer: None,
        product: None,
    });
    let has_reset = serial.read_clear_to_send().is_ok();
    Ok(Port { serial, usb, has_reset })
}

fn usb(device: &Path) -> Option<UsbPortInfo> {
    let ports = serialport::available_ports().ok()?;
    let port = ports.into_iter().find(|port| Path::new(&port.port_name) == device)?;
    match port.port_type {
        SerialPortType::UsbPort(usb) => Some(usb),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_port_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: &Path| open(path).unwrap_err().to_string();
        assert!(said(&folder.path().join("ttyUSB0")).contains("plug the board in"));
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(said(&file).contains("cannot be used as a serial port"));
        assert!(said(folder.path()).contains("cannot be used as a serial port"));
    }
}
