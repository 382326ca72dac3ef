//! One question at a time, at a terminal. Where there is none, or nobody is to be asked, the answer is the default or missing.

use std::io::{IsTerminal as _, Write as _, stderr, stdin};

use gatepost_desktop::prompt;

use crate::{
    cli::Failed,
    printing::{print_note, visible_line},
    settings::secret::Secret,
};

/// The longest answer, in bytes.
const LONGEST: usize = 4096;

/// Whether somebody is there to be asked.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Asking(bool);

impl Asking {
    /// Nobody is asked without a terminal, and if `silent`.
    pub(in crate::cli) fn new(silent: bool) -> Self {
        Self(!silent && stdin().is_terminal() && stderr().is_terminal())
    }

    pub(in crate::cli) const fn is_possible(self) -> bool {
        self.0
    }

    /// A line; the default if it is empty.
    pub(in crate::cli) async fn line(self, question: &str, default: &str) -> Result<String, Failed> {
        let offered = match default {
            "" => String::new(),
            default => format!(" [{}]", visible_line(default)),
        };
        prompt(&format!("{question}{offered}: "));
        let line = off_the_runtime(|| {
            let mut line = String::new();
            let read = stdin().read_line(&mut line);
            read.map(|bytes| (bytes > 0).then_some(line)).map_err(Failed::refused)
        });
        let line = line.await?.ok_or_else(stopped)?;
        match line.trim() {
            "" => Ok(default.to_owned()),
            line if line.len() > LONGEST => Err(Failed::Refused("that is too long for an answer".into())),
            line => Ok(line.to_owned()),
        }
    }

    /// Yes or no. Anything else is asked again.
    pub(super) async fn yes(self, question: &str) -> Result<bool, Failed> {
        if !self.is_possible() {
            return Ok(true);
        }
        loop {
            match self.line(&format!("{question} [Y/n]"), "").await?.to_lowercase().as_str() {
                "" | "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => print_note!("Type y or n."),
            }
        }
    }

    /// A secret, which is not shown while it is typed or pasted. Nothing if it is empty.
    pub(in crate::cli) async fn secret(self, question: &str) -> Result<Option<Secret>, Failed> {
        let question = question.to_owned();
        let typed = off_the_runtime(move || prompt::hidden(&question).map_err(Failed::refused)).await?;
        let typed = typed.ok_or_else(stopped)?;
        Ok(Some(typed.trim()).filter(|typed| !typed.is_empty()).map(Secret::from))
    }
}

/// What is said when the person leaves before anything was written.
pub(super) fn stopped() -> Failed {
    Failed::Refused("stopped; nothing was written".into())
}

fn prompt(question: &str) {
    let mut out = stderr().lock();
    // If that is not possible there is nobody to ask, and the answer will not come either.
    let _ = write!(out, "{question}").and_then(|()| out.flush());
}

/// Waits for a person without keeping the signals waiting.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failed> + Send + 'static,
) -> Result<T, Failed> {
    tokio::task::spawn_blocking(work).await.map_err(Failed::refused)?
}
