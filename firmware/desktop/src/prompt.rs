//! Reads a line at a terminal without showing it.

use std::io::{self, IsTerminal as _, Write as _};

use crossterm::{
    event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    terminal,
};

use crate::vault::MAX_PASSPHRASE;

/// A line that is being typed.
#[derive(Debug, Default)]
struct Typed(String);

/// The state of the line after a key.
#[derive(Debug, PartialEq, Eq)]
enum Typing {
    Continues,
    Done,
    Cancelled,
}

/// Asks for a line, which is not shown; [`None`] if the person cancels (Ctrl-C, Ctrl-D, Escape).
///
/// # Errors
///
/// Standard input is not a terminal, or the terminal is gone.
pub fn hidden(question: &str) -> io::Result<Option<String>> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "a passphrase is typed at a terminal"));
    }
    let mut out = io::stderr();
    write!(out, "{question}: ")?;
    out.flush()?;
    terminal::enable_raw_mode()?;
    let typed = read();
    terminal::disable_raw_mode()?;
    writeln!(out)?;
    typed
}

fn read() -> io::Result<Option<String>> {
    let mut typed = Typed::default();
    loop {
        let Event::Key(key) = event::read()? else { continue };
        match typed.key(&key) {
            Typing::Continues => {}
            Typing::Done => return Ok(Some(typed.0)),
            Typing::Cancelled => return Ok(None),
        }
    }
}

impl Typed {
    fn key(&mut self, key: &KeyEvent) -> Typing {
        if key.kind == KeyEventKind::Release {
            return Typing::Continues;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typing::Done,
            KeyCode::Esc => return Typing::Cancelled,
            KeyCode::Char('c' | 'd') if control => return Typing::Cancelled,
            KeyCode::Char('u') if control => self.0.clear(),
            KeyCode::Char('h') if control => _ = self.0.pop(),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => {}
            KeyCode::Backspace => _ = self.0.pop(),
            KeyCode::Char(letter) if self.0.len() + letter.len_utf8() <= MAX_PASSPHRASE => {
                self.0.push(letter)
            }
            _ => {}
        }
        Typing::Continues
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_in(typed: &mut Typed, keys: &[KeyCode]) -> Typing {
        let mut last = Typing::Continues;
        for code in keys {
            last = typed.key(&KeyEvent::new(*code, KeyModifiers::NONE));
        }
        last
    }

    #[test]
    fn what_is_typed_can_be_taken_back_and_is_bounded() {
        let mut typed = Typed::default();
        let keys = "corü".chars().map(KeyCode::Char).collect::<Vec<_>>();
        assert_eq!(type_in(&mut typed, &keys), Typing::Continues);
        type_in(&mut typed, &[KeyCode::Backspace, KeyCode::Left, KeyCode::Char('r')]);
        assert_eq!((type_in(&mut typed, &[KeyCode::Enter]), typed.0.as_str()), (Typing::Done, "corr"));
        typed.key(&KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(typed.0, "");
        type_in(&mut typed, &vec![KeyCode::Char('x'); MAX_PASSPHRASE + 5]);
        assert_eq!(typed.0.len(), MAX_PASSPHRASE);
    }

    #[test]
    fn control_c_cancels_and_types_nothing() {
        let mut typed = Typed::default();
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!((typed.key(&key), typed.0.as_str()), (Typing::Cancelled, ""));
    }
}
