//! A board that is not there: the companion's firmware in QEMU, with a screen that a test looks at, two keys that it
//! presses and releases, and a flash that it can take out and put back.
//!
//! - [`firmware`]: what it runs, and releases of it; [`flash`]: what the board keeps, as a file;
//! - [`picture`]: what its screen shows, and what it should;
//! - `bus`: what somebody does behind the firmware's back;
//! - `monitor`: how QEMU is told.
//!
//! Nothing is known of the firmware but its image and loader, its serial line and what a person sees and touches.

mod bus;
pub mod firmware;
pub mod flash;
mod monitor;
pub mod picture;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use gatepost_companion::{Button, Edge, buttons};

pub use self::bus::Bus;
use self::{firmware::Firmware, flash::Flash, monitor::Monitor, picture::Picture};
use super::leash::Leash;
use crate::hub::eventually;

/// The bus's socket in its folder.
const BUS: &str = "bus";
/// The serial line's socket in its folder.
const LINE: &str = "line";
const START: Duration = Duration::from_secs(30);
/// Between two looks at the screen.
const LOOK: Duration = Duration::from_millis(50);
/// How long the screen may take to show what it should.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a person holds a button at most while nothing happens.
const HELD: Duration = Duration::from_secs(20);
/// How X's keyboards repeat where nobody says otherwise (<https://manpages.debian.org/bookworm/x11-xserver-utils/xset.1>,
/// r: 660 ms, then 25 times a second).
const UNTIL_IT_REPEATS: Duration = Duration::from_millis(660);
const REPEATS: Duration = Duration::from_millis(40);

/// A running board.
pub struct Qemu {
    leash: Leash,
    folder: PathBuf,
    monitor: Monitor,
}

/// What stands for a board's display.
const DISPLAY: &[&str] = &["-device", "virtio-gpu-device"];

impl Qemu {
    /// Switches a board on, with this flash in it.
    ///
    /// # Errors
    /// The firmware does not build, or QEMU is not installed or did not start.
    pub fn start(flash: &Flash) -> Result<Self> {
        Self::start_with(flash, DISPLAY)
    }

    /// The same board without a display.
    ///
    /// # Errors
    /// The firmware does not build, or QEMU is not installed or did not start.
    pub fn start_without_display(flash: &Flash) -> Result<Self> {
        Self::start_with(flash, &[])
    }

    fn start_with(flash: &Flash, display: &[&str]) -> Result<Self> {
        let loader = &Firmware::built()?.loader;
        let dir = Leash::folder("qemu")?;
        let folder = dir.path().to_owned();
        let path =
            |name: &str| Ok::<_, anyhow::Error>(folder.join(name).to_str().context("not UTF-8")?.to_owned());
        // What it says is written down, and heard by whoever is connected; what they say it hears.
        let (line, log) = (path(LINE)?, path("serial")?);
        let serial = format!("socket,id=line,path={line},server=on,wait=off,logfile={log}");
        let socket = path("monitor")?;
        let drive = format!("file={},format=raw,if=none,id=flash", flash.path().display());
        let monitor = format!("unix:{socket},server,nowait");
        let bus = format!("unix:{},server,nowait", path(BUS)?);
        let loader = loader.to_str().context("not UTF-8")?;
        let leash = Leash::start(
            "qemu",
            dir,
            &[
                &["qemu-system-riscv32", "-M", "virt", "-m", "32M", "-bios", "none", "-display", "none"][..],
                &["-kernel", loader, "-chardev", &serial, "-serial", "chardev:line", "-qmp", &monitor],
                &["-global", "virtio-mmio.force-legacy=false"],
                &["-netdev", "user,id=lan", "-device", "virtio-net-device,netdev=lan"],
                &["-drive", &drive, "-device", "virtio-blk-device,drive=flash"],
                &["-device", "virtio-keyboard-device", "-device", "virtio-rng-device"],
                display,
                &["-qtest", &bus, "-qtest-log", "none", "-pidfile", &path("pid")?],
            ]
            .concat(),
        );
        let mut leash = leash.context("cannot start QEMU: run `tests/run --setup-only`")?;
        let mut connected = None;
        leash.wait_until(START, || {
            connected = Monitor::connect(Path::new(&socket)).ok();
            connected.is_some()
        })?;
        Ok(Self { leash, folder, monitor: connected.context("wait_until has seen it")? })
    }

    /// What the firmware has said on its serial line.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.join("serial")).unwrap_or_default()).into_owned()
    }

    /// For the error of whoever waited in vain: what it said, and twice what its processor is at, to tell one that sleeps from
    /// one that turns in a circle.
    pub fn condition(&mut self) -> String {
        let mut told = self.log();
        for _ in 0..2 {
            for command in ["info status", "info registers"] {
                let said = self.monitor.people(command).unwrap_or_else(|error| format!("{error:#}"));
                let lines = said.lines().filter(|line| {
                    [command, "status", "pc ", "mip", "mie", "mstatus", "ra "]
                        .iter()
                        .any(|word| line.contains(word))
                });
                for line in lines {
                    told = format!("{told}\n{}", line.trim());
                }
            }
            thread::sleep(LOOK);
        }
        told
    }

    /// The last view that it named there. Whole lines only: the last one may be on its way.
    pub fn view(&self) -> String {
        let log = self.log();
        let mut views =
            log.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.split_once("screen: "));
        views.next_back().map_or_else(String::new, |(_, view)| view.trim_end().to_owned())
    }

    /// Waits until the firmware says a line with these words; returns what stands behind them.
    ///
    /// # Errors
    /// It does not; the error shows what it said.
    pub fn says(&self, words: &str) -> Result<String> {
        let behind = || {
            let log = self.log();
            ensure!(!log.contains("PANIC"), "the firmware has panicked");
            // Whole lines only.
            let lines = log.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            Ok(lines
                .filter_map(|line| line.split_once(words))
                .map(|(_, rest)| rest.trim().to_owned())
                .next_back())
        };
        eventually(words, behind)
            .with_context(|| format!("on the serial line:\n{}\n{}", self.log(), self.leash.log_tail()))
    }

    /// Presses or releases a button.
    ///
    /// # Errors
    /// QEMU is gone.
    pub fn button(&mut self, button: Button, edge: Edge) -> Result<()> {
        let key = match button {
            Button::Approve => "a",
            Button::Deny => "d",
        };
        self.monitor.key(key, edge == Edge::Pressed)
    }

    /// Presses a button and releases it after so long. A key that is held repeats, as in QEMU's window: it is pressed again
    /// and again, and released once.
    ///
    /// # Errors
    /// QEMU is gone.
    pub fn press(&mut self, button: Button, long: Duration) -> Result<()> {
        let begins = Instant::now();
        self.button(button, Edge::Pressed)?;
        thread::sleep(long.min(UNTIL_IT_REPEATS));
        while let Some(left) = long.checked_sub(begins.elapsed()).filter(|left| !left.is_zero()) {
            self.button(button, Edge::Pressed)?;
            thread::sleep(left.min(REPEATS));
        }
        self.button(button, Edge::Released)
    }

    /// Holds Approve as a person does: until the screen shows something else, and for as long as an approval takes at least.
    /// A board on a busy machine sees a key later than it was pressed.
    ///
    /// # Errors
    /// QEMU is gone.
    pub fn hold(&mut self) -> Result<()> {
        let (begins, view) = (Instant::now(), self.view());
        let least = Duration::from_millis(buttons::HOLD + 200);
        self.button(Button::Approve, Edge::Pressed)?;
        thread::sleep(UNTIL_IT_REPEATS);
        while begins.elapsed() < least || begins.elapsed() < HELD && self.view() == view {
            self.button(Button::Approve, Edge::Pressed)?;
            thread::sleep(REPEATS);
        }
        self.button(Button::Approve, Edge::Released)
    }

    /// The board's bus.
    pub fn bus(&self) -> Bus {
        Bus::at(self.folder.join(BUS))
    }

    /// The socket of its serial line, for one at a time.
    pub fn line(&self) -> PathBuf {
        self.folder.join(LINE)
    }

    /// What the screen shows.
    ///
    /// # Errors
    /// QEMU is gone.
    pub fn screen(&mut self) -> Result<Picture> {
        let file = self.folder.join("screen.png");
        self.monitor.screendump(&file)?;
        Picture::read(&file)
    }

    /// Waits until the screen shows the golden image of this name.
    ///
    /// # Errors
    /// It does not; what it shows is kept, and the error says where.
    pub fn shows(&mut self, golden: &str) -> Result<()> {
        let wanted = Picture::golden(golden)?;
        let start = Instant::now();
        loop {
            let shown = self.screen()?;
            if shown == wanted {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                let kept = env::temp_dir().join(format!("gatepost-not-{golden}.png"));
                fs::copy(self.folder.join("screen.png"), &kept)?;
                bail!(
                    "the screen is not {golden} but {}; the firmware said:\n{}",
                    kept.display(),
                    self.log()
                );
            }
            thread::sleep(LOOK);
        }
    }

    /// `kill -9`, as when the power goes.
    ///
    /// # Errors
    /// It had ended before.
    pub fn kill(mut self) -> Result<()> {
        let id = fs::read_to_string(self.folder.join("pid"))?;
        let status = Command::new("kill").args(["-KILL", id.trim()]).status()?;
        ensure!(status.success(), "QEMU had ended before: {status}");
        // The monitor hears nothing once the process is gone.
        ensure!(self.monitor.ends(), "QEMU goes on");
        Ok(())
    }
}
