//! A hub, a companion that is to be paired with it through the proxy, and the two people.

use std::{net::Ipv4Addr, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::{Button, Edge, Fault, Geometry, Screen, Settings as App, Storage as _, View};
use gatepost_desktop::{Companion, Display, Settings, Store};
use gatepost_tests::hub::{
    Client, PATIENCE, SpawnedHub,
    client::{Answer, text},
    engineer,
};
use serde_json::json;
use tokio::{runtime::Runtime, sync::watch};

use super::{
    proxy::{self, Line, Proxy},
    trick::{self, Earlier, Reached, Trick},
};

/// A hold of Approve, and some time for a busy machine.
const HOLD: Duration = Duration::from_millis(1_700);

pub(super) struct Stage {
    hub: SpawnedHub,
    operator: Client,
    proxy: Proxy,
    runtime: Runtime,
}

/// A companion that is not paired, and where it keeps a bond if it is.
struct Newcomer {
    companion: Companion,
    screens: watch::Receiver<Screen>,
    place: tempfile::TempDir,
}

impl Stage {
    pub(super) fn set() -> Result<Self> {
        let hub = SpawnedHub::start(&engineer("allow_software_companion = true", ""))?;
        let (operator, proxy) = (hub.operator()?, Proxy::before(hub.broker_port())?);
        Ok(Self { hub, operator, proxy, runtime: Runtime::new()? })
    }

    fn newcomer(&self) -> Result<Newcomer> {
        let place = tempfile::tempdir()?;
        let _within = self.runtime.enter();
        let companion = Companion::start(Settings {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.proxy.port(),
            store: Store::folder(place.path().join("companion")),
            geometry: Geometry::SMALL,
            app: App::default(),
            display: Display::Watched,
        })?;
        let screens = companion.screens();
        Ok(Newcomer { companion, screens, place })
    }

    /// The person at the hub wants to pair.
    fn ask(&self) -> Result<Answer> {
        self.operator.post("/v1/pairing", &json!({}))
    }

    /// The person at the hub says whether the device shows the number.
    fn say(&self, code: &str, same: bool) -> Result<Answer> {
        self.operator.post(&format!("/v1/pairing/{code}"), &json!({"same": same}))
    }

    /// Both are paired through his hands, which change nothing; what they said.
    pub(super) fn pair_honestly(&self) -> Result<Earlier> {
        proxy::wait_until_shut(self.hub.broker_port())?;
        let earlier = thread::scope(|scope| {
            let asked = scope.spawn(|| self.ask());
            let newcomer = self.newcomer()?;
            let mut line = self.proxy.next()?;
            let mut earlier = Earlier::default();
            let shown = newcomer.shows(
                "the number",
                |view| match view {
                    View::Pairing { code, .. } => Some(*code),
                    _ => None,
                },
                || earlier.carry(&mut line),
            )?;
            let offered = carried(&mut earlier, &mut line, asked)??;
            ensure!(text(&offered.body, "code").parse::<u32>()? == shown, "{offered:?}");
            let code = text(&offered.body, "code").to_owned();
            let answered = scope.spawn(move || self.say(&code, true));
            newcomer.press(Button::Approve, HOLD)?;
            let paired = carried(&mut earlier, &mut line, answered)??;
            ensure!(paired.status == 200, "{paired:?}");
            // What the hub says last is carried too; the session has a connection of its own.
            let idle = |view: &View| (*view == View::Idle).then_some(());
            newcomer.shows("a session", idle, || earlier.carry(&mut line))?;
            let _session = self.proxy.next()?;
            ensure!(newcomer.is_bonded()?);
            anyhow::Ok(earlier)
        })?;
        ensure!(self.companions()? == 1, "nobody was paired");
        Ok(earlier)
    }

    /// An attempt with this trick: what came of it. He looks for keys as long as `grinding`, if he does.
    pub(super) fn attempt(&self, trick: Trick, earlier: &Earlier, grinding: Duration) -> Result<Reached> {
        proxy::wait_until_shut(self.hub.broker_port())?;
        thread::scope(|scope| {
            let asked = scope.spawn(|| self.ask());
            let newcomer = self.newcomer()?;
            // One that has gone meanwhile may have been let in late.
            let (mut line, first) = loop {
                let mut line = self.proxy.next()?;
                if let Ok(first) = trick::first(&mut line) {
                    break (line, first);
                }
            };
            let over = || asked.is_finished();
            let mut reached = trick::play(&mut line, &first, (trick, earlier), grinding, over)?;
            let offered = asked.join().expect("it does not panic")?;
            if offered.status == 200 {
                reached.at_hub = Some(text(&offered.body, "code").parse()?);
            } else {
                reached.refused = text(&offered.body, "error").to_owned();
            }
            if trick.shows_at_device() {
                let code = |view: &View| match view {
                    View::Pairing { code, .. } => Some(*code),
                    _ => None,
                };
                reached.at_device = Some(newcomer.shows("the number", code, || Ok(()))?);
            }
            self.compare(&newcomer, &reached)?;
            reached.count(line.counts);
            reached.bonded = newcomer.is_bonded()?;
            Ok(reached)
        })
    }

    /// Both people say what they see: yes to the same number, and no to another one, or to none on the other side.
    fn compare(&self, newcomer: &Newcomer, reached: &Reached) -> Result<()> {
        let same = reached.at_hub.is_some() && reached.at_hub == reached.at_device;
        thread::scope(|scope| {
            let at_hub =
                reached.at_hub.map(|code| scope.spawn(move || self.say(&format!("{code:06}"), same)));
            if reached.at_device.is_some() {
                match same {
                    true => newcomer.press(Button::Approve, HOLD)?,
                    false => {
                        newcomer.press(Button::Deny, Duration::ZERO)?;
                        let failed = |view: &View| (*view == View::Fault(Fault::Pairing)).then_some(());
                        newcomer.shows("that it is not paired", failed, || Ok(()))?;
                    }
                }
            }
            at_hub.map(|said| said.join().expect("it does not panic")).transpose()?;
            Ok(())
        })
    }

    /// How many companions the hub has.
    pub(super) fn companions(&self) -> Result<usize> {
        let listed = self.operator.get("/v1/companions")?;
        Ok(listed.body["companions"].as_array().context("it lists them")?.len())
    }

    /// How many attempts the hub has written down that paired nobody.
    pub(super) fn failed(&self) -> Result<usize> {
        let db = rusqlite::Connection::open(self.hub.data_dir().join("gatepost.db"))?;
        let count: i64 =
            db.query_row("SELECT count(*) FROM audit WHERE event = 'pairing.failed'", [], |row| row.get(0))?;
        Ok(usize::try_from(count)?)
    }
}

/// Waits for a thread's end, and carries all meanwhile.
fn carried<T>(earlier: &mut Earlier, line: &mut Line, thread: thread::ScopedJoinHandle<'_, T>) -> Result<T> {
    while !thread.is_finished() {
        earlier.carry(line)?;
    }
    Ok(thread.join().expect("it does not panic"))
}

impl Newcomer {
    /// Waits until its screen is as wanted, and does something meanwhile.
    fn shows<T>(
        &self,
        what: &str,
        wanted: impl Fn(&View) -> Option<T>,
        mut meanwhile: impl FnMut() -> Result<()>,
    ) -> Result<T> {
        let start = std::time::Instant::now();
        loop {
            meanwhile()?;
            if let Some(seen) = wanted(&self.screens.borrow().view) {
                return Ok(seen);
            }
            ensure!(start.elapsed() < PATIENCE, "no {what}: {:?}", self.screens.borrow().view);
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn press(&self, button: Button, hold: Duration) -> Result<()> {
        let buttons = self.companion.buttons();
        buttons.blocking_send((button, Edge::Pressed))?;
        thread::sleep(hold);
        buttons.blocking_send((button, Edge::Released))?;
        Ok(())
    }

    fn is_bonded(&self) -> Result<bool> {
        Ok(Store::folder(self.place.path().join("companion")).load_bond()?.is_some())
    }
}
