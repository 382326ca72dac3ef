//! Names that people give to themselves and to places, where a platform is asked whom one stands for.
//!
//! A name can be given to another, and two may have the same. So it is looked up when a message is taken, what is judged, shown,
//! approved and sent to is the id, and a name that means several is refused, with their ids. Letters are compared in small.

use serde_json::Value;

use crate::channels::identity::{Identity, MOST_NAMED, Unidentified};

/// The signs in what a person, or a place with spaces in its name, is called, beside letters and digits.
pub(in crate::channels) const SIGNS: &str = "-_.' ";

/// Whether an address is a name of at most so many characters, `#general` or `@Ann Lee`, with no signs but letters, digits
/// and these.
pub(in crate::channels) fn is_name(address: &str, longest: usize, signs: &str) -> bool {
    let Some(name) = address.strip_prefix(['#', '@']) else { return false };
    (1..=longest).contains(&name.chars().count())
        && name.trim() == name
        && name.chars().all(|c| c.is_alphanumeric() || signs.contains(c))
}

/// Whether that is the name, which is in small letters.
pub(in crate::channels) fn is_called(said: &Value, name: &str) -> bool {
    said.as_str().is_some_and(|said| said.trim().to_lowercase() == name)
}

/// The one id among those that were found, each however often. What the platform calls an id has to be one: `is_id`.
///
/// # Errors
/// There is none, or several.
pub(in crate::channels) fn the_one(
    mut found: Vec<String>,
    address: &str,
    kind: &str,
    is_id: impl Fn(&str) -> bool,
) -> Result<Identity, Unidentified> {
    found.sort();
    found.dedup();
    match found.as_slice() {
        [one] if is_id(one) => Ok(Identity::new(one)),
        [] | [_] => Err(Unidentified::not_known(format!("there is no {kind} that is called {address}"))),
        several => {
            let ids = several[..several.len().min(MOST_NAMED)].join(", ");
            Err(Unidentified::several(address, kind, &ids))
        }
    }
}
