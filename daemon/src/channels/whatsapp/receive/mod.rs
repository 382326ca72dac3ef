//! What people write to the account, each way for itself.
//!
//! - [`cloud`]: what Meta notifies the hub of, signed, each message once or more often;
//! - [`evolution`]: what an Evolution API keeps, which is asked for; what it notifies the hub of only makes that sooner.
//!
//! Both say who wrote by the ids that WhatsApp itself gives: a number, with its `+`; the id by which Meta names somebody to one
//! business; or the one under which WhatsApp hides a number (`…@lid`). Of one person's ids the lasting one is the author, the others
//! stand beside it.

pub mod cloud;
pub mod evolution;
#[cfg(test)]
mod tests;

use super::target::{Takes, canonical, identity};

/// A number as the id of a person, however WhatsApp spells it, without the `+`.
fn number(digits: &str) -> Option<String> {
    let number = canonical(digits, Takes::default()).ok()?;
    Some(identity(&number).unwrap_or(number))
}

/// Lines of a message, without the empty ones.
fn lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.into_iter().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}
