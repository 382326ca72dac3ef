//! Names that people give to themselves and to places, where a platform is asked whom one stands for.
//!
//! A name can be given to another, and two may have the same. So it is looked up when a message is taken, what is judged, shown,
//! approved and sent to is the id, and a name that means several is refused, with their ids. Several are all that a reader would call
//! so: [letters](super::letters) and digits are compared, small and without accents, and nothing else. Whoever may not be written to by a name still
//! has it, so that nobody takes it over.

use serde_json::Value;

use super::letters::readings;
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

/// A name that is looked for, in each way that it may be read.
pub(in crate::channels) struct Name(Vec<String>);

impl Name {
    pub(in crate::channels) fn new(name: &str) -> Self {
        Self(readings(name))
    }

    /// Whether a reader would call both the same. Names without a letter or a digit are nobody's.
    pub(in crate::channels) fn is(&self, said: &str) -> bool {
        readings(said).iter().any(|reading| self.0.contains(reading))
    }

    /// The same of what a platform says, which may be no text.
    pub(in crate::channels) fn is_in(&self, said: &Value) -> bool {
        said.as_str().is_some_and(|said| self.is(said))
    }
}

/// Somebody or something of that name.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::channels) struct Found {
    /// The platform's id of it.
    pub(in crate::channels) id: String,
    /// Why it is not written to by its name, as the end of a sentence about it.
    pub(in crate::channels) barred: Option<&'static str>,
}

impl Found {
    /// One that is written to.
    pub(in crate::channels) fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), barred: None }
    }
}

/// The one among those that were found, each however often. What the platform calls an id has to be one: `is_id`.
///
/// # Errors
/// There is none, or several, or the one may not be written to by its name.
pub(in crate::channels) fn the_one(
    mut found: Vec<Found>,
    address: &str,
    kind: &str,
    is_id: impl Fn(&str) -> bool,
) -> Result<Identity, Unidentified> {
    // Of two views of one the barred comes first, and stays.
    found.sort_by(|a, b| (&a.id, a.barred.is_none()).cmp(&(&b.id, b.barred.is_none())));
    found.dedup_by(|a, b| a.id == b.id);
    match found.as_slice() {
        [Found { id, barred: None }] if is_id(id) => Ok(Identity::new(id)),
        [Found { id, barred: Some(why) }] => {
            Err(Unidentified::not_known(format!("{address} ({id}) {why}: write the id")))
        }
        [] | [_] => Err(Unidentified::not_known(format!("there is no {kind} that is called {address}"))),
        several => {
            let ids: Vec<&str> = several.iter().take(MOST_NAMED).map(|one| &*one.id).collect();
            Err(Unidentified::several(address, kind, &ids.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_a_reader_would_call_the_same_is_called_the_same() {
        let same = |said: &str, name: &str| Name::new(name).is(said);
        for (said, name) in [
            ("Ann Lee \u{1f337}", "ann lee"),
            ("Zoe\u{308}", "zo\u{eb}"),
            ("Kim  Lee", "kim lee"),
            ("Bo\u{200d}b", "bob"),
            ("STRASSE", "stra\u{df}e"),
            ("O\u{2019}Brien", "o'brien"),
            ("\u{ff21}nn", "ann"),
            ("\u{202e}ann", "Ann"),
        ] {
            assert!(same(said, name) && same(name, said), "{said} {name}");
        }
        assert!(
            !same("Anna", "ann") && !same("", "ann") && !same("\u{1f337}", "\u{1f337}") && !same("-", "-")
        );
        assert!(!Name::new("ann").is_in(&Value::Null));
    }

    #[test]
    fn one_that_may_not_be_written_to_still_has_its_name() {
        let (any, blocked) = (|_: &str| true, |id: &str| Found { id: id.into(), barred: Some("is blocked") });
        let found = |found: Vec<Found>| the_one(found, "@ann", "person", any).map_err(|error| error.why);
        assert_eq!(found(vec![Found::new("1"), Found::new("1")]).unwrap().as_str(), "1");
        assert_eq!(found(vec![blocked("1")]).unwrap_err(), "@ann (1) is blocked: write the id");
        assert_eq!(
            found(vec![Found::new("1"), blocked("1")]).unwrap_err(),
            "@ann (1) is blocked: write the id"
        );
        assert!(
            found(vec![Found::new("2"), blocked("1")]).unwrap_err().contains("more than one person (1, 2)")
        );
        assert!(found(vec![]).unwrap_err().contains("there is no person"));
        let none = the_one(vec![Found::new("?")], "@ann", "person", |_| false).unwrap_err();
        assert!(none.why.contains("there is no person"));
    }
}
