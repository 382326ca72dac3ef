//! The companion's screen in a terminal, in place, with lines of narration above it.
//!
//! Whatever happens, the terminal is given back as it was: on drop, and on a panic before its message is printed.
//! The alternate screen is left alone, so that what was said stays there to be read afterwards.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Stdout, Write as _},
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::{
    cursor,
    event::{
        self, DisableFocusChange, EnableFocusChange, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
        KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
    },
    execute, queue,
    style::Print,
    terminal::{self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate},
};
use gatepost_companion::{Button, Edge, NotShown, Screen};
use tokio::sync::{mpsc, watch};

use crate::{
    keys::{self, Keys, Protocol, Stroke},
    link::Drawn,
};

/// How often the keyboard is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Whether the terminal is in raw mode, and whether releases are reported.
static RAW: AtomicBool = AtomicBool::new(false);
static ENHANCED: AtomicBool = AtomicBool::new(false);

/// The screen in a frame, one line a row: for logs and for a demo without a terminal. The keys stand below the words
/// that say what they do.
pub fn plain(screen: &Screen) -> String {
    let width = screen.geometry.columns();
    let mut text = format!("┌{}┐\n", "─".repeat(width));
    for line in screen.cells() {
        writeln!(text, "│{:<width$}│", line.as_str()).expect("a string takes all");
    }
    let keys = ["[a]", "[d]"];
    let between = "─".repeat(width - keys.concat().len());
    writeln!(text, "└{}{between}{}┘", keys[0], keys[1]).expect("a string takes all");
    text
}

/// The terminal while the companion's screen is on it.
pub struct Stage {
    out: Stdout,
    protocol: Protocol,
    /// The frame on the terminal; empty when there is none.
    drawn: String,
}

impl Stage {
    /// Takes the terminal. Fails where the standard output is none.
    pub fn open() -> io::Result<Self> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a companion's screen needs a terminal"));
        }
        give_back_on_panic();
        terminal::enable_raw_mode()?;
        RAW.store(true, Ordering::SeqCst);
        let mut stage = Self { out: io::stdout(), protocol: Protocol::Repeats, drawn: String::new() };
        if terminal::supports_keyboard_enhancement().unwrap_or(false) {
            let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES
                | KeyboardEnhancementFlags::REPORT_EVENT_TYPES
                | KeyboardEnhancementFlags::REPORT_ALL_KEYS_AS_ESCAPE_CODES;
            ENHANCED.store(true, Ordering::SeqCst);
            execute!(stage.out, PushKeyboardEnhancementFlags(flags))?;
            stage.protocol = Protocol::Releases;
        }
        execute!(stage.out, EnableFocusChange, cursor::Hide)?;
        Ok(stage)
    }

    /// What this terminal tells about keys.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Prints a line above the screen.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let frame = self.drawn.clone();
        self.redraw(line, &frame)
    }

    /// Draws the screen in place of the one before. An error where the terminal does not take it, or has no room for all of
    /// it: nobody can have read it then.
    pub fn show(&mut self, screen: &Screen) -> io::Result<()> {
        let frame = plain(screen);
        fits(&frame, terminal::size().ok())?;
        if frame == self.drawn {
            return Ok(());
        }
        self.redraw("", &frame)
    }

    /// Draws a companion's screens from now on, and tells it what became of each. `stage` is shared with whoever says lines;
    /// when there is nothing in it any more, nothing is shown.
    pub async fn follow(
        stage: Arc<Mutex<Option<Self>>>,
        mut screens: watch::Receiver<Screen>,
        drawings: mpsc::Sender<Drawn>,
    ) {
        screens.mark_changed();
        while screens.changed().await.is_ok() {
            let screen = screens.borrow_and_update().clone();
            let shown = match stage.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                Some(stage) => stage.show(&screen),
                None => Err(io::ErrorKind::NotConnected.into()),
            };
            let taken = shown.map_err(|error| {
                tracing::warn!(%error, "the companion's screen is not shown");
                NotShown
            });
            if drawings.send((screen, taken)).await.is_err() {
                return;
            }
        }
    }

    /// Takes the screen away and gives the terminal back; what was said stays.
    pub fn close(mut self) -> io::Result<()> {
        self.redraw("", "")
    }

    fn redraw(&mut self, said: &str, frame: &str) -> io::Result<()> {
        let written = self.write(said, frame);
        if written.is_err() {
            // Nobody knows what is on it: the next frame is drawn below, and whole.
            self.drawn.clear();
        }
        written
    }

    fn write(&mut self, said: &str, frame: &str) -> io::Result<()> {
        queue!(self.out, BeginSynchronizedUpdate)?;
        let rows = u16::try_from(self.drawn.lines().count()).unwrap_or(u16::MAX);
        if rows > 0 {
            queue!(self.out, cursor::MoveToPreviousLine(rows))?;
        }
        queue!(self.out, Clear(ClearType::FromCursorDown))?;
        // In raw mode a line feed alone does not return the carriage.
        for line in said.lines().chain(frame.lines()) {
            queue!(self.out, Print(line), Print("\r\n"))?;
        }
        self.drawn.clear();
        self.drawn.push_str(frame);
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()
    }
}

/// Whether a terminal of so many columns and rows has room for all of a frame. One that does not know its size is believed.
fn fits(frame: &str, size: Option<(u16, u16)>) -> io::Result<()> {
    let Some((columns, rows)) = size.filter(|(columns, rows)| *columns > 0 && *rows > 0) else {
        return Ok(());
    };
    let wide = frame.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    // One row below the frame is the cursor's.
    let high = frame.lines().count() + 1;
    if usize::from(columns) < wide || usize::from(rows) < high {
        return Err(io::Error::other(format!(
            "the terminal has {columns} columns and {rows} rows, and the companion's screen needs {wide} and {high}: \
             make it larger"
        )));
    }
    Ok(())
}

impl Drop for Stage {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, once. Errors have nowhere to go.
fn give_back() {
    if RAW.swap(false, Ordering::SeqCst) {
        if ENHANCED.swap(false, Ordering::SeqCst) {
            let _ = execute!(io::stdout(), PopKeyboardEnhancementFlags);
        }
        let _ = execute!(io::stdout(), EndSynchronizedUpdate, DisableFocusChange, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

/// Release builds abort on a panic: no drop would run.
fn give_back_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}

/// The keyboard as the companion's two buttons. Stops when dropped.
pub struct Keyboard {
    interrupts: mpsc::Receiver<()>,
    stop: Arc<AtomicBool>,
}

impl Keyboard {
    /// Listens, in a thread of its own, and sends what the keys `a` and `d` do. Open a [`Stage`] first.
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

/// Ends, and with it `interrupt`, when told to stop, or when keyboard or companion is gone.
fn listen(
    mut keys: Keys,
    buttons: &mpsc::Sender<(Button, Edge)>,
    interrupt: &mpsc::Sender<()>,
    stopped: &AtomicBool,
) {
    while !stopped.load(Ordering::SeqCst) {
        let event = match event::poll(LOOK) {
            Ok(true) => event::read().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        let mut edges = keys.tick(Instant::now());
        match event {
            Ok(Some(Event::Key(key))) if leaves(&key) => {
                // One that waits is enough.
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

/// With Ctrl or Alt a letter is no button; a release is one whatever else is pressed by then.
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
    use gatepost_companion::{Geometry, View};

    use super::*;

    #[test]
    fn the_frame_fits_the_screen_and_names_the_keys() {
        for geometry in [Geometry::SMALL, Geometry::LARGE] {
            let mut screen = Screen::new(geometry, View::Idle);
            screen.set_header("Größe", "online");
            let text = plain(&screen);
            assert_eq!(text.lines().count(), geometry.rows() + 2);
            assert!(text.lines().all(|line| line.chars().count() == geometry.columns() + 2), "{text}");
            assert!(text.lines().last().unwrap().starts_with("└[a]"), "{text}");
        }
    }

    #[test]
    fn a_terminal_too_small_for_the_screen_does_not_show_it() {
        let frame = plain(&Screen::new(Geometry::SMALL, View::Idle));
        for (size, room) in [
            (Some((23, 11)), true),
            (Some((22, 11)), false),
            (Some((23, 10)), false),
            (Some((80, 24)), true),
            (Some((0, 0)), true),
            (None, true),
        ] {
            assert_eq!(fits(&frame, size).is_ok(), room, "{size:?}");
        }
    }

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
