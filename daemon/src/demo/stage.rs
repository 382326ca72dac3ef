//! How the demo is told: lines, and the companion's screen.

use std::{
    io::{IsTerminal as _, stdin, stdout},
    sync::{Arc, Mutex},
    time::Duration,
};

use gatepost_companion::{Screen, View};
use gatepost_desktop::{
    Companion, Display,
    keys::Protocol,
    terminal::{self, Keyboard},
};
use gatepost_link::decision::Verdict;
use tokio::{sync::watch, task::JoinHandle};

use super::DemoError;
use crate::printing::{PrintError, print_note, print_result};

type Shared = Arc<Mutex<Option<terminal::Stage>>>;

/// Where the demo is told.
pub(super) struct Stage {
    /// The terminal, if there is one to draw in.
    terminal: Option<Shared>,
    screens: Option<watch::Receiver<Screen>>,
    drawing: Option<JoinHandle<()>>,
}

/// The person's wish to leave.
pub(super) struct Interruption(Option<Keyboard>);

impl Stage {
    /// In this terminal, with its keyboard.
    pub(super) fn in_terminal() -> Result<Self, DemoError> {
        if !(stdin().is_terminal() && stdout().is_terminal()) {
            return Err(DemoError::NoTerminal);
        }
        let stage = terminal::Stage::open().map_err(DemoError::failed)?;
        Ok(Self { terminal: Some(Arc::new(Mutex::new(Some(stage)))), screens: None, drawing: None })
    }

    /// Lines on stdout; each new screen is printed once.
    pub(super) fn unattended() -> Self {
        Self { terminal: None, screens: None, drawing: None }
    }

    /// What the companion must know of the keys that stand for its buttons.
    pub(super) fn settings(&self) -> gatepost_companion::Settings {
        let settings = gatepost_companion::Settings::default();
        match self.protocol() {
            Some(protocol) => {
                gatepost_companion::Settings { short_approve: protocol.short_approve(), ..settings }
            }
            None => settings,
        }
    }

    /// Who says whether a screen was shown: the terminal. Where there is none the scripted person reads it as it is.
    pub(super) fn display(&self) -> Display {
        if self.terminal.is_some() { Display::Reported } else { Display::Watched }
    }

    fn protocol(&self) -> Option<Protocol> {
        let stage = lock(self.terminal.as_ref()?);
        stage.as_ref().map(terminal::Stage::protocol)
    }

    /// Shows this companion's screen from now on, and connects the keyboard to its buttons.
    pub(super) fn attach(&mut self, companion: &Companion) -> Result<Interruption, DemoError> {
        let mut screens = companion.screens();
        self.screens = Some(screens.clone());
        let mut keyboard = None;
        if let Some(protocol) = self.protocol() {
            let listening = Keyboard::listen(protocol, companion.buttons());
            keyboard = Some(listening.map_err(DemoError::failed)?);
        }
        let drawing = match &self.terminal {
            Some(shared) => {
                let stage = terminal::Stage::follow(Arc::clone(shared), screens, companion.drawings());
                tokio::spawn(stage)
            }
            None => tokio::spawn(async move {
                let mut last = None;
                while screens.changed().await.is_ok() {
                    let screen = screens.borrow_and_update().clone();
                    let scene = scene(&screen.view);
                    if scene.is_some() && last != scene {
                        told(print_result!("{}", terminal::plain(&screen)));
                    }
                    last = scene;
                }
            }),
        };
        self.drawing = Some(drawing);
        Ok(Interruption(keyboard))
    }

    /// Tells a line.
    pub(super) fn say(&self, line: &str) {
        if let Some(shared) = &self.terminal
            && let Some(stage) = lock(shared).as_mut()
        {
            if let Err(error) = stage.say(line) {
                tracing::error!(%error, "cannot write to the terminal");
            }
            return;
        }
        told(print_result!("{line}"));
    }

    /// Waits until the companion and the hub have found each other.
    pub(super) async fn met(&self, within: Duration) -> Result<(), DemoError> {
        let mut screens =
            self.screens.clone().ok_or_else(|| DemoError::Failed("no companion is attached".into()))?;
        let met = screens.wait_for(|screen| matches!(screen.view, View::Idle));
        match tokio::time::timeout(within, met).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(DemoError::Failed("the companion and the hub did not find each other in time".into())),
        }
    }

    /// Waits until the companion shows that the hub has taken a decision.
    pub(super) async fn decision(&self, within: Duration) -> Result<Verdict, DemoError> {
        let mut screens =
            self.screens.clone().ok_or_else(|| DemoError::Failed("no companion is attached".into()))?;
        // A decision on an earlier card may still be on the screen; the next card comes first.
        let wait = async {
            screens.wait_for(|screen| matches!(screen.view, View::Card(_))).await?;
            let done =
                screens.wait_for(|screen| matches!(screen.view, View::Done { .. } | View::Closed { .. }));
            Ok::<_, watch::error::RecvError>(done.await?.view)
        };
        match tokio::time::timeout(within, wait).await {
            Ok(Ok(View::Done { verdict, .. })) => Ok(verdict),
            Ok(Ok(view)) => Err(DemoError::Failed(format!("the card closed without a decision: {view:?}"))),
            Ok(Err(_)) => Err(DemoError::Failed("the companion stopped".into())),
            Err(_) => Err(DemoError::Failed("nobody decided in time".into())),
        }
    }

    /// Gives the terminal back.
    pub(super) fn close(&mut self) {
        if let Some(drawing) = self.drawing.take() {
            drawing.abort();
        }
        if let Some(shared) = &self.terminal
            && let Some(stage) = lock(shared).take()
            && let Err(error) = stage.close()
        {
            print_note!("gatepost: cannot restore the terminal: {error}");
        }
    }
}

impl Interruption {
    /// By a signal, without a keyboard of ours.
    pub(super) fn by_signal() -> Self {
        Self(None)
    }

    /// Returns when the person wants to leave.
    pub(super) async fn comes(&mut self) {
        match &mut self.0 {
            Some(keyboard) => keyboard.interrupted().await,
            None => {
                if tokio::signal::ctrl_c().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

/// What makes a screen a new one when it is printed: not its clock and not its progress bar.
#[derive(PartialEq, Eq)]
enum Scene {
    Page(gatepost_link::RequestId, u16),
    End(View),
}

fn scene(view: &View) -> Option<Scene> {
    match view {
        View::Card(card) => Some(Scene::Page(card.request, card.page)),
        View::Done { .. } | View::Muted { .. } | View::Closed { .. } | View::Fault(_) => {
            Some(Scene::End(*view))
        }
        View::Offline | View::Connecting | View::Unpaired | View::Idle | View::Fetching { .. } => None,
        View::Sending { .. } | View::Pairing { .. } | View::Question { .. } | View::Installing => None,
    }
}

/// The demo goes on where nobody can be told.
fn told(printed: Result<(), PrintError>) {
    if let Err(error) = printed {
        tracing::error!(%error, "cannot tell the demo");
    }
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Option<terminal::Stage>> {
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
