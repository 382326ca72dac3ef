//! The terminal's keyboard as the companion's two buttons.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use gatepost_companion::{Button, Edge};
use tokio::sync::mpsc;

use crate::keys::{self, Keys, Protocol, Stroke};

/// How often the keyboard is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The keyboard as the companion's two buttons. Stops when dropped.
pub struct Keyboard {
    interrupts: mpsc::Receiver<()>,
    stop: Arc<AtomicBool>,
}

impl Keyboard {
    /// Listens, in a thread of its own, and sends what the keys `a` and `d` do. Open a [`Stage`](crate::terminal::Stage) first.
    pub fn listen(protocol: Protocol, buttons: mpsc::Sender<(Button, Edge)>) -> io::Result<Self> {
        let (interrupt, interrupts) = mpsc::channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        thread::Builder::new()
            .name("keyboard".into())
            .spawn(move || listen(Keys::new(protocol), &buttons, &interrupt, &stopped))?;
        Ok(Self { interrupts, stop })
    }

    /// Waits until the person wants to leave (Ctrl-C, `q`), or the keyboard is gone.
    pub async fn interrupted(&mut self) {
        let _ = self.interrupts.recv().await;
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// Ends, and drops `interrupt`, when it is stopped, or when the keyboard or the companion is gone.
fn listen(
    mut keys: Keys,
    buttons: &mpsc::Sender<(Button, Edge)>,
    interrupt: &mpsc::Sender<()>,
    stopped: &AtomicBool,
) {
    while !stopped.load(Ordering::SeqCst) {
        let event = match event::poll(POLL_INTERVAL) {
            Ok(true) => event::read().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        let mut edges = keys.tick(Instant::now());
        match event {
            Ok(Some(Event::Key(key))) if leaves(&key) => {
                // One waiting interrupt is enough.
                let _ = interrupt.try_send(());
            }
            Ok(Some(Event::Key(key))) => edges.extend(stroke(&mut keys, &key)),
            Ok(Some(Event::FocusLost)) => edges.extend(keys.lost()),
            Ok(_) => {}
            Err(_) => return,
        }
        for edge in edges {
            if buttons.blocking_send(edge).is_err() {
                return;
            }
        }
    }
}

fn leaves(key: &KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('c') => {
            key.modifiers.contains(KeyModifiers::CONTROL) && key.kind == KeyEventKind::Press
        }
        KeyCode::Char('q') => key.modifiers.is_empty() && key.kind == KeyEventKind::Press,
        _ => false,
    }
}

/// A letter with Ctrl or Alt is not a button, but its release always counts.
fn stroke(keys: &mut Keys, key: &KeyEvent) -> Option<(Button, Edge)> {
    let KeyCode::Char(letter) = key.code else { return None };
    let stroke = match key.kind {
        KeyEventKind::Press => Stroke::Press,
        KeyEventKind::Repeat => Stroke::Repeat,
        KeyEventKind::Release => Stroke::Release,
    };
    let chord = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER);
    if chord && stroke != Stroke::Release {
        return None;
    }
    keys.stroke(Instant::now(), keys::button(letter)?, stroke)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_with_control_is_no_button() {
        let mut keys = Keys::new(Protocol::Releases);
        let key = |modifiers| KeyEvent::new(KeyCode::Char('d'), modifiers);
        assert_eq!(stroke(&mut keys, &key(KeyModifiers::CONTROL)), None);
        assert_eq!(stroke(&mut keys, &key(KeyModifiers::NONE)), Some((Button::Deny, Edge::Pressed)));
    }

    #[test]
    fn control_c_leaves() {
        assert!(leaves(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!leaves(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE)));
    }
}
