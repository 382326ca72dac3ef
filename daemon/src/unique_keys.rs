//! JSON of a caller, in which no object has a key twice.
//!
//! RFC 8259 §4 says that the names in an object should be unique, and leaves open which value counts if they are not. Parsers differ:
//! a hook, a log or a program before this one may have read another text than the one that is approved and sent. So such a call is
//! refused. What platforms and hooks answer, and what is stored, is not read by this module.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};

/// The longest key that an error repeats, in characters.
const MAX_SHOWN_CHARS: usize = 40;

/// Why bytes are not the JSON that is wanted.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// An object has this key twice; which of its values is meant, nobody can say.
    #[error("one object has the key {0:?} twice")]
    Repeated(String),
    /// It is not JSON, or not of the shape that is wanted.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Reads JSON, if no object in it, at any depth, has a key twice.
///
/// # Errors
/// A key is there twice, or the bytes cannot be read as `T`.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    match check(bytes) {
        Ok(()) => Ok(serde_json::from_slice(bytes)?),
        Err(JsonError::Repeated(key)) => Err(JsonError::Repeated(key)),
        // What is malformed beyond what `T` reads is refused too: nobody has looked at its keys.
        Err(JsonError::Json(error)) => Err(serde_json::from_slice::<T>(bytes).err().unwrap_or(error).into()),
    }
}

/// Looks at all keys and keeps no value: beside the input it holds the keys of the objects that are open, most of them as slices of
/// the input. The depth is bounded by the parser.
///
/// # Errors
/// A key is there twice, or the bytes are not JSON.
pub fn check(bytes: &[u8]) -> Result<(), JsonError> {
    let mut repeated = None;
    let mut input = serde_json::Deserializer::from_slice(bytes);
    let checked = Unique(&mut repeated).deserialize(&mut input).and_then(|()| input.end());
    match repeated {
        Some(key) => Err(JsonError::Repeated(key)),
        None => Ok(checked?),
    }
}

/// Reads one value, and notes the first key that one object has twice.
struct Unique<'a>(&'a mut Option<String>);

#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Unique(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = object.next_key::<Key<'de>>()? {
            if keys.contains(&key) {
                *self.0 = Some(key.0.chars().take(MAX_SHOWN_CHARS).collect());
                return Err(A::Error::custom("a key is there twice"));
            }
            keys.insert(key);
            object.next_value_seed(Unique(self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn repeated(text: &str) -> Option<String> {
        match from_slice::<Value>(text.as_bytes()) {
            Err(JsonError::Repeated(key)) => Some(key),
            Ok(_) | Err(JsonError::Json(_)) => None,
        }
    }

    #[test]
    fn a_key_that_one_object_has_twice_is_found_at_any_depth_and_however_it_is_spelt() {
        for text in [
            r#"{"to": "a", "to": "b"}"#,
            r#"{"to": "a", "to": "a"}"#,
            r#"{"x": 1, "to": "a", "y": [{}], "to": null}"#,
            r#"[[{"card": {"fields": [{"to": 1, "n": 2, "to": 3}]}}]]"#,
            r#"{"to": "a", "\u0074o": "b"}"#,
            r#"{"\u0074o": "a", "t\u006f": "b"}"#,
            // It counts before what is wrong behind it.
            r#"{"to": "a", "to": "b""#,
        ] {
            assert_eq!(repeated(text).as_deref(), Some("to"), "{text}");
        }
        assert_eq!(repeated(r#"{"": 1, "": 2}"#).as_deref(), Some(""));
    }

    #[test]
    fn the_same_key_in_several_objects_is_no_repetition() {
        for text in [
            "{}",
            r#"{"to": {"to": {"to": 1}}, "message": [{"to": 1}, {"to": 2}]}"#,
            r#"{"to": 1, "To": 2, "to ": 3}"#,
            r#"{"to": "{\"to\": 1, \"to\": 2}", "n": [1, -1, 1.5, true, null, 18446744073709551615]}"#,
        ] {
            let value = from_slice::<Value>(text.as_bytes()).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn what_is_not_json_is_refused_as_the_parser_refuses_it() {
        let deep = "[".repeat(1_000);
        for text in ["", "{", "{]", "nul", r#"{"a": 1} x"#, r#"{"a": "\ud800"}"#, "{\"a\": \"\u{1}\"}", &deep]
        {
            let ours = from_slice::<Value>(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(
                ours,
                serde_json::from_slice::<Value>(text.as_bytes()).unwrap_err().to_string(),
                "{text}"
            );
        }
        #[derive(Debug, Deserialize)]
        struct Wanted {
            a: u8,
        }
        // The parser passes over what `Wanted` does not read; nobody has looked at its keys.
        assert!(from_slice::<Wanted>(br#"{"a": 1, "b": {"c": "\ud800"}}"#).is_err());
        let shape = from_slice::<Wanted>(br#"{"a": "x"}"#).unwrap_err();
        assert!(matches!(&shape, JsonError::Json(error) if error.is_data()), "{shape}");
        assert_eq!(from_slice::<Wanted>(br#"{"a": 1}"#).unwrap().a, 1);
    }

    #[test]
    fn an_error_repeats_a_bounded_part_of_a_key() {
        let key = "ä".repeat(5_000);
        let error = from_slice::<Value>(format!(r#"{{"{key}": 1, "{key}": 2}}"#).as_bytes()).unwrap_err();
        assert!(error.to_string().chars().count() < 100, "{error}");
        assert_eq!(repeated(&json!({"a": 1, "b": 2}).to_string()), None);
    }
}
