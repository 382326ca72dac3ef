//! A companion that is a board: the firmware's own RISC-V image in QEMU, which is paired with the hub like any device.
//!
//! All that is known of it is what a person sees and touches, and its serial line, on which it names every new screen.
//! A person presses its keys in QEMU's window; a scripted one by QEMU's monitor. The board ends with the demo.
//!
//! - [`image`]: the firmware, built if it is not;
//! - [`monitor`]: how QEMU is told;
//! - [`screen`]: what the board says that it shows, and pictures of that;
//! - [`person`]: who presses the keys, where nobody does.

mod image;
mod monitor;
mod person;
mod screen;

use std::{
    cell::RefCell,
    collections::VecDeque,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use gatepost_companion::{
    Network, Storage as _,
    flash::{memory::Memory, storage::FlashStorage},
    slots::partitions::{FLASH_BYTES, IMAGES, SLOT_BYTES, parts},
};
use gatepost_link::decision::Verdict;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
};

use image::Firmware;
use monitor::{Monitor, MonitorError};
use screen::{Camera, End, Screen, Seen};

/// What runs the image.
const QEMU: &str = "qemu-system-riscv32";
/// Where QEMU's user network has its host.
const HOST: &str = "10.0.2.2";
/// Windows that QEMU can have, the best first.
const WINDOWS: [&str; 3] = ["gtk", "sdl", "cocoa"];
/// The longest line that is read from a board, in bytes.
const MAX_LINE_BYTES: u64 = 4096;
/// So many of the board's last lines are told when it ends.
const TAIL_LINES: usize = 12;

/// Why there is no board, or none any more.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// There is no QEMU.
    #[error("{QEMU} is not installed: install it (on Debian: apt-get install qemu-system-misc)")]
    NoQemu,
    /// QEMU has nowhere to show itself.
    #[error(
        "there is no display for the board's window, or this QEMU has none (on Debian: apt-get install \
         qemu-system-gui): use --decide approve or --decide deny"
    )]
    NoWindow,
    /// The firmware's sources are not here.
    #[error(
        "the firmware's sources are not here: run this in a clone of Gatepost's repository \
         (cargo run -- demo --companion qemu)"
    )]
    NoSources,
    /// The firmware does not build.
    #[error("the board's firmware does not build (cargo xtask firmware qemu-virt):\n{0}")]
    Build(String),
    /// What the chore built.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Image(PathBuf, io::Error),
    /// A file of the demo's.
    #[error("cannot write {}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    /// QEMU's monitor.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// QEMU has ended, or its window was closed.
    #[error("the board is switched off; it said:\n{0}")]
    Off(String),
    /// A person or the hub took too long.
    #[error("the board did not come to {0} in time; it said:\n{1}")]
    Late(&'static str, String),
    /// The card closed without a decision.
    #[error("the card closed without a decision: {0}")]
    Closed(String),
}

/// A board that is switched on. It is switched off, and what it kept is gone, when this is dropped.
pub(super) struct Board {
    /// Killed when this is dropped.
    _qemu: Child,
    monitor: Arc<Monitor>,
    seen: watch::Receiver<Seen>,
    tail: Tail,
}

/// The last lines of the board.
#[derive(Clone, Default)]
struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }

    fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// All that a board needs before it can be switched on.
pub(super) struct Ready {
    firmware: Firmware,
    display: &'static str,
    camera: Option<Camera>,
}

/// Sees to QEMU, to the firmware, which is built if need be, and to where `screenshots` are kept; with `window` a person
/// will press the keys there. What takes a while is said before. Nothing runs yet.
pub(super) async fn ready(
    window: bool,
    screenshots: Option<&Path>,
    say: impl Fn(&str),
) -> Result<Ready, BoardError> {
    if !answers(&["--version"]).await.is_some_and(|text| text.contains("QEMU")) {
        return Err(BoardError::NoQemu);
    }
    let display = if window { self::window().await.ok_or(BoardError::NoWindow)? } else { "none" };
    let camera = screenshots.map(Camera::new).transpose()?;
    Ok(Ready { firmware: image::build(say).await?, display, camera })
}

impl Board {
    /// Switches on a new board that looks for its hub's broker on `port` of this machine. What it keeps is in `folder`.
    pub(super) async fn start(ready: Ready, port: u16, folder: &Path) -> Result<Self, BoardError> {
        let Ready { firmware: Firmware { loader, image }, display, camera } = ready;
        let image = fs::read(&image).map_err(|error| BoardError::Image(image, error))?;
        let flash = folder.join("flash.bin");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&flash, set_up(port, &image)))
            .map_err(|error| BoardError::File(flash.clone(), error))?;
        let mut drive = OsString::from("format=raw,if=none,id=flash,file=");
        // A comma in a name is written twice.
        drive.push(flash.to_string_lossy().replace(',', ",,"));
        let mut qemu = Command::new(QEMU);
        qemu.args(["-M", "virt", "-m", "32M", "-bios", "none", "-display", display])
            .args(["-global", "virtio-mmio.force-legacy=false"])
            .args(["-netdev", "user,id=lan", "-device", "virtio-net-device,netdev=lan"])
            .args(["-device", "virtio-gpu-device", "-device", "virtio-keyboard-device"])
            .args(["-device", "virtio-rng-device", "-device", "virtio-blk-device,drive=flash"])
            // Three pipes, and nothing that anybody else could reach: what is said to the monitor, what it answers, and
            // what the board says on its serial line, QEMU's own complaints among it.
            .args(["-qmp", "stdio", "-serial", "file:/dev/stderr"])
            .arg("-drive")
            .arg(drive)
            .arg("-kernel")
            .arg(loader)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = qemu.spawn().map_err(|_| BoardError::NoQemu)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(serial)) = pipes else {
            unreachable!("all three were asked for");
        };
        let tail = Tail::default();
        let monitor = Arc::new(Monitor::new(input, output));
        let (shown, seen) = watch::channel(Seen::default());
        tokio::spawn(listen(
            serial,
            shown,
            tail.clone(),
            camera.map(|camera| (camera, Arc::clone(&monitor))),
        ));
        let board = Self { _qemu: child, monitor, seen, tail };
        match board.monitor.greet().await {
            Ok(()) => Ok(board),
            Err(MonitorError::Gone) => Err(BoardError::Off(board.tail.text())),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until it shows that it is paired with no hub.
    pub(super) async fn unpaired(&self, within: Duration) -> Result<(), BoardError> {
        self.until("its start", within, |seen| matches!(seen.screen, Screen::Unpaired)).await.map(drop)
    }

    /// Waits for the number that it shows while it is paired.
    pub(super) async fn number(&self, within: Duration) -> Result<u32, BoardError> {
        let seen = self.until("a number", within, |seen| seen.screen.number().is_some()).await?;
        Ok(seen.screen.number().expect("it was waited for"))
    }

    /// Waits until it and the hub have found each other.
    pub(super) async fn met(&self, within: Duration) -> Result<(), BoardError> {
        self.until("a session with the hub", within, |seen| matches!(seen.screen, Screen::Idle))
            .await
            .map(drop)
    }

    /// Waits for a card, and until it is decided on, by whomever.
    pub(super) async fn decision(&self, within: Duration) -> Result<Verdict, BoardError> {
        let request = self.card(within).await?;
        self.ended(&request, within).await
    }

    /// Waits for a card that can be decided; its request.
    async fn card(&self, within: Duration) -> Result<String, BoardError> {
        let open = |seen: &Seen| seen.screen.card().is_some_and(|card| card.deniable);
        let seen = self.until("a card", within, open).await?;
        Ok(seen.screen.card().map(|card| card.request.clone()).expect("it was waited for"))
    }

    /// Waits for the end of this request's card.
    async fn ended(&self, request: &str, within: Duration) -> Result<Verdict, BoardError> {
        let over = |seen: &Seen| seen.ended.as_ref().is_some_and(|(ended, _)| ended == request);
        match self.until("a decision", within, over).await?.ended {
            Some((_, End::Decided(verdict))) => Ok(verdict),
            Some((_, End::Closed(why))) => Err(BoardError::Closed(why)),
            None => unreachable!("it was waited for"),
        }
    }

    async fn until(
        &self,
        what: &'static str,
        within: Duration,
        wanted: impl FnMut(&Seen) -> bool,
    ) -> Result<Seen, BoardError> {
        let mut seen = self.seen.clone();
        match tokio::time::timeout(within, seen.wait_for(wanted)).await {
            Ok(Ok(seen)) => Ok(seen.clone()),
            Ok(Err(_)) => Err(BoardError::Off(self.tail.text())),
            Err(_) => Err(BoardError::Late(what, self.tail.text())),
        }
    }
}

/// A new board's flash: the image in its first slot, and what the set-up over the serial line would have left.
fn set_up(port: u16, image: &[u8]) -> Vec<u8> {
    let host = HOST.try_into().expect("an address is short");
    let network = Network { ssid: Default::default(), password: Default::default(), host, port };
    let mut whole = vec![0xff; FLASH_BYTES as usize];
    let slot = &mut whole[IMAGES[0] as usize..][..SLOT_BYTES as usize];
    slot.iter_mut().zip(image).for_each(|(to, from)| *to = *from);
    let whole = RefCell::new(Memory(whole));
    let mut storage = FlashStorage::new(parts(&whole).storage);
    storage.store_network(&network).expect("memory keeps what is written to it");
    whole.into_inner().0
}

/// Reads the serial line until the board ends, and keeps a picture of each new screen before anybody hears of it.
async fn listen(
    serial: impl AsyncRead + Unpin,
    shown: watch::Sender<Seen>,
    tail: Tail,
    mut camera: Option<(Camera, Arc<Monitor>)>,
) {
    let mut serial = BufReader::new(serial);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut serial).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        let text = String::from_utf8_lossy(&line);
        tail.push(text.trim_end());
        let Some(screen) = screen::read(&text) else { continue };
        if let Some((camera, monitor)) = &mut camera
            && let Some(file) = camera.next(&screen)
            && let Err(error) = monitor.picture(&file).await
        {
            tracing::error!(%error, file = %file.display(), "cannot keep a picture of the board's screen");
        }
        shown.send_modify(|seen| seen.becomes(screen));
    }
}

/// The window that QEMU can open here.
async fn window() -> Option<&'static str> {
    let set = |name: &&str| std::env::var_os(name).is_some_and(|display| !display.is_empty());
    let anywhere = cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(set);
    let known = answers(&["-display", "help"]).await.filter(|_| anywhere)?;
    WINDOWS.into_iter().find(|window| known.lines().any(|line| line.trim() == *window))
}

/// What QEMU prints when it is asked this.
async fn answers(arguments: &[&str]) -> Option<String> {
    let output = Command::new(QEMU).args(arguments).stdin(Stdio::null()).output().await.ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_boards_flash_knows_where_the_hub_is_and_nothing_else() {
        let flash = set_up(1_234, b"image");
        assert!(flash[IMAGES[0] as usize..].starts_with(b"image\xff"));
        let flash = RefCell::new(Memory(flash));
        let mut storage = FlashStorage::new(parts(&flash).storage);
        let network = storage.load_network().unwrap().unwrap();
        assert_eq!((network.host.as_str(), network.port), (HOST, 1_234));
        assert_eq!((storage.load_keys().unwrap(), storage.load_bond().unwrap()), (None, None));
    }

    #[tokio::test]
    async fn the_last_lines_are_kept_and_a_line_without_an_end_is_cut() {
        let log: String = (0..40).map(|n| format!("line {n}\n")).chain(["x".repeat(10_000)]).collect();
        let (tail, (shown, seen)) = (Tail::default(), watch::channel(Seen::default()));
        listen(log.as_bytes(), shown, tail.clone(), None).await;
        assert!(tail.text().starts_with("line 31\n"), "{}", tail.text());
        assert!(tail.text().lines().all(|line| line.len() <= MAX_LINE_BYTES as usize));
        assert!(seen.has_changed().is_err(), "whoever waits is told that it is over");
    }
}
