//! The companion's screen in a terminal, drawn in place, with lines of text above it.
//!
//! The terminal is always restored: on drop, and on a panic before its message is printed. The alternate screen is not
//! used, so that the lines stay readable afterwards.
//!
//! A page that nobody sees cannot be approved: a screen that does not fit the window, or that could not be drawn, is
//! reported as not shown.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Stdout, Write as _},
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::{
    cursor,
    event::{
        DisableFocusChange, EnableFocusChange, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
        PushKeyboardEnhancementFlags,
    },
    execute, queue,
    style::Print,
    terminal::{self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate},
};
use gatepost_companion::{Geometry, NotShown, Screen};
use tokio::sync::{mpsc, watch};

pub use crate::keyboard::Keyboard;
use crate::{keys::Protocol, link::Drawn};

/// Columns and rows around a screen: the frame, and the cursor's line below it.
const FRAME_CELLS: (usize, usize) = (2, 3);

/// Whether the terminal is in raw mode, and whether releases are reported.
static RAW: AtomicBool = AtomicBool::new(false);
static ENHANCED: AtomicBool = AtomicBool::new(false);

/// The screen in a frame, one line per row, for logs and for a demo without a terminal. The keys are below the words that
/// say what they do.
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

/// Whether there is a terminal to draw in, and to press keys at.
///
/// # Errors
///
/// There is none.
pub fn required() -> io::Result<()> {
    match io::stdout().is_terminal() && io::stdin().is_terminal() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::Unsupported, "a companion's screen needs a terminal")),
    }
}

/// The largest screen that fits into this terminal.
///
/// # Errors
///
/// None does, or it does not say how large it is.
pub fn geometry() -> io::Result<Geometry> {
    let (columns, rows) = terminal::size()?;
    // A terminal that does not report its size is assumed to be large enough.
    if columns == 0 || rows == 0 {
        return Ok(Geometry::TEXT);
    }
    largest(columns, rows).ok_or_else(|| {
        let least = Geometry::text(0, 0);
        let (columns, rows) = (least.columns() + FRAME_CELLS.0, least.rows() + FRAME_CELLS.1);
        let why = format!("the window is too small: it needs {columns} columns and {rows} rows");
        io::Error::new(io::ErrorKind::Unsupported, why)
    })
}

fn largest(columns: u16, rows: u16) -> Option<Geometry> {
    let cells =
        |all: u16, around: usize| u8::try_from(usize::from(all).saturating_sub(around)).unwrap_or(u8::MAX);
    let geometry = Geometry::text(cells(columns, FRAME_CELLS.0), cells(rows, FRAME_CELLS.1));
    let fits = |cells: usize, all: u16, around| cells + around <= usize::from(all);
    let both = fits(geometry.columns(), columns, FRAME_CELLS.0) && fits(geometry.rows(), rows, FRAME_CELLS.1);
    both.then_some(geometry)
}

/// Wraps a line at spaces to at most `columns` characters. A longer word stays whole.
fn wrapped(line: &str, columns: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = line;
    while rest.chars().count() > columns {
        let limit = rest.char_indices().nth(columns + 1).map_or(rest.len(), |(at, _)| at);
        // The space may be just after the last column.
        let Some(at) = rest[..limit].rfind(' ').or_else(|| rest.find(' ')) else { break };
        lines.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    lines.push(rest);
    lines
}

/// The terminal while the companion's screen is on it.
pub struct Stage {
    out: Stdout,
    protocol: Protocol,
    /// The frame on the terminal; empty when there is none.
    drawn: String,
    /// The window's size when it was drawn.
    window: Option<(u16, u16)>,
}

impl Stage {
    /// Takes over the terminal. Fails if the standard output is not a terminal.
    pub fn open() -> io::Result<Self> {
        required()?;
        restore_on_panic();
        terminal::enable_raw_mode()?;
        RAW.store(true, Ordering::SeqCst);
        let mut stage = Self {
            out: io::stdout(),
            protocol: Protocol::Repeats,
            drawn: String::new(),
            window: terminal::size().ok(),
        };
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

    /// Which key events this terminal reports.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Prints a line above the screen.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let frame = self.drawn.clone();
        self.redraw(line, &frame)
    }

    /// Draws the screen in place of the one before. Returns an error if it could not be drawn in full, so that nobody can have
    /// read it; if the window is too small, the terminal says so.
    pub fn show(&mut self, screen: &Screen) -> io::Result<()> {
        let window = terminal::size().ok();
        if window != self.window {
            // The terminal has wrapped its lines again, so the frame's position is unknown.
            queue!(self.out, Clear(ClearType::All), cursor::MoveTo(0, 0))?;
            self.drawn.clear();
            self.window = window;
        }
        let frame = plain(screen);
        if let Err(error) = fits(&frame, window) {
            let (columns, rows) = needed(&frame);
            self.draw(&format!("too small: make it\n{columns} x {rows}\n"))?;
            return Err(error);
        }
        self.draw(&frame)
    }

    fn draw(&mut self, frame: &str) -> io::Result<()> {
        if frame == self.drawn {
            return Ok(());
        }
        self.redraw("", frame)
    }

    /// Rings the terminal's bell.
    pub fn ring(&mut self) -> io::Result<()> {
        queue!(self.out, Print('\u{7}'))?;
        self.out.flush()
    }

    /// Draws every screen of a companion, and reports whether each was shown. `stage` is shared with code that prints lines;
    /// once it is empty, nothing is shown.
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

    /// Removes the screen and restores the terminal. The lines above stay.
    pub fn close(mut self) -> io::Result<()> {
        self.redraw("", "")
    }

    fn redraw(&mut self, said: &str, frame: &str) -> io::Result<()> {
        let written = self.write(said, frame);
        if written.is_err() {
            // The terminal's content is unknown: the next frame is drawn in full, below it.
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
        let said = said.lines().flat_map(|line| {
            wrapped(line, self.window.map_or(usize::MAX, |(columns, _)| usize::from(columns.max(1))))
        });
        for line in said.chain(frame.lines()) {
            queue!(self.out, Print(line), Print("\r\n"))?;
        }
        self.drawn.clear();
        self.drawn.push_str(frame);
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()
    }
}

/// Columns and rows that a frame needs, with one row for the cursor.
fn needed(frame: &str) -> (usize, usize) {
    let columns = frame.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    (columns, frame.lines().count() + 1)
}

/// Checks that a terminal of this size has room for all of a frame. A terminal of unknown size is assumed to.
fn fits(frame: &str, size: Option<(u16, u16)>) -> io::Result<()> {
    let Some((columns, rows)) = size.filter(|(columns, rows)| *columns > 0 && *rows > 0) else {
        return Ok(());
    };
    let (wide, high) = needed(frame);
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
        restore();
    }
}

/// Restores the terminal, once. Errors cannot be reported.
fn restore() {
    if RAW.swap(false, Ordering::SeqCst) {
        if ENHANCED.swap(false, Ordering::SeqCst) {
            let _ = execute!(io::stdout(), PopKeyboardEnhancementFlags);
        }
        let _ = execute!(io::stdout(), EndSynchronizedUpdate, DisableFocusChange, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

/// Release builds abort on a panic: no drop would run.
fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}

#[cfg(test)]
mod tests {
    use gatepost_companion::{Geometry, View};

    use super::*;

    #[test]
    fn the_frame_fits_the_screen_and_names_the_keys() {
        for geometry in [Geometry::SMALL, Geometry::LARGE, Geometry::TEXT] {
            let mut screen = Screen::new(geometry, View::Idle);
            screen.set_header("Größe", "online");
            let text = plain(&screen);
            assert_eq!(text.lines().count(), geometry.rows() + 2);
            assert!(text.lines().all(|line| line.chars().count() == geometry.columns() + 2), "{text}");
            assert!(text.lines().last().unwrap().starts_with("└[a]"), "{text}");
        }
    }

    #[test]
    fn a_screen_is_as_large_as_its_window_lets_it_and_one_too_small_has_none() {
        assert_eq!(largest(200, 100), Some(Geometry::TEXT));
        assert_eq!(largest(42, 18), Some(Geometry::TEXT));
        assert_eq!(largest(41, 17), Some(Geometry::text(39, 14)));
        assert_eq!(largest(23, 11), Some(Geometry::text(21, 8)));
        for (columns, rows) in [(21, 100), (100, 7), (1, 1)] {
            assert_eq!(largest(columns, rows), None, "{columns} x {rows}");
        }
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 6), ["one", "two", "three"]);
        assert_eq!(wrapped("größer als erlaubt", 10), ["größer als", "erlaubt"]);
        assert_eq!(wrapped("unbreakable or so", 4), ["unbreakable", "or", "so"]);
        assert_eq!((wrapped("", 4), wrapped("abcdef", 4)), (vec![""], vec!["abcdef"]));
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
}
