//! What is said and asked at the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Context as _, Result, bail, ensure};
use zeroize::Zeroizing;

/// Writes to standard output.
pub(super) fn say(text: &str) -> Result<()> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

/// Refuses to go on where nobody can answer.
pub(super) fn ensure_person() -> Result<()> {
    ensure!(io::stdin().is_terminal(), "nobody can be asked here: run it at a terminal, or give --yes");
    Ok(())
}

/// Asks, and goes on only after a `y`.
pub(super) fn confirm(question: &str) -> Result<()> {
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("the terminal")?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { bail!("nothing was signed") }
}

/// A password, which is not shown.
pub(super) fn password(question: &str) -> Result<Zeroizing<String>> {
    let password = rpassword::prompt_password(format!("{question}: "));
    password
        .map(Zeroizing::new)
        .context("a password is typed at a terminal: run it at one, or give --password-file")
}

/// A new password, typed twice.
pub(super) fn new_password() -> Result<Zeroizing<String>> {
    let first = password("Password for the new key")?;
    ensure!(!first.is_empty(), "the password is empty: type one, or give --no-password");
    ensure!(first == password("The same again")?, "they are not the same: no key was made");
    Ok(first)
}
