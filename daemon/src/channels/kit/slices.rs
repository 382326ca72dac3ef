//! JSON cut into its members and elements, none of them read yet.
//!
//! A platform's answer or notification is one document, and strangers write parts of it. Read as a whole, one event that is nested too
//! deep for the parser, or has half a surrogate pair in it, would make all of it unreadable: every `/sync` answer of a homeserver with
//! this event, and the account would hear nothing any more. So it is cut along the structure that the platform itself gives it, and each
//! event is read alone.

use serde::de::IgnoredAny;
use serde_json::Value;

/// The members of an object; none if it is no object. A name that cannot be read is empty.
pub(in crate::channels) fn members(json: &str) -> Option<Vec<(String, &str)>> {
    let mut found = Vec::new();
    let mut rest = json.trim_start().strip_prefix('{')?.trim_start();
    if rest.starts_with('}') {
        return Some(found);
    }
    loop {
        let (name, after) = cut(rest)?;
        let name = serde_json::from_str(name).unwrap_or_default();
        let (value, after) = cut(after.strip_prefix(':')?.trim_start())?;
        found.push((name, value));
        match after.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => return after.starts_with('}').then_some(found),
        }
    }
}

/// The elements of an array; none if it is no array.
pub(in crate::channels) fn elements(json: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let mut rest = json.trim_start().strip_prefix('[')?.trim_start();
    if rest.starts_with(']') {
        return Some(found);
    }
    loop {
        let (value, after) = cut(rest)?;
        found.push(value);
        match after.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => return after.starts_with(']').then_some(found),
        }
    }
}

/// The member at the end of a path of names.
pub(in crate::channels) fn at<'a>(json: &'a str, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(json, |json, name| {
        members(json)?.into_iter().find(|(member, _)| member == name).map(|(_, value)| value)
    })
}

/// The text at the end of a path of names.
pub(in crate::channels) fn text_at(json: &str, path: &[&str]) -> Option<String> {
    serde_json::from_str(at(json, path)?).ok()
}

/// The elements of the array at the end of a path; none of it means that there are none.
pub(in crate::channels) fn elements_at<'a>(json: &'a str, path: &[&str]) -> Vec<&'a str> {
    at(json, path).and_then(elements).unwrap_or_default()
}

/// The whole of it, in which what cannot be read is null: of the members and elements down to this depth, each for itself.
pub(in crate::channels) fn readable(json: &str, depth: usize) -> Value {
    if let Ok(read) = serde_json::from_str(json) {
        return read;
    }
    let Some(depth) = depth.checked_sub(1) else { return Value::Null };
    if let Some(members) = members(json) {
        return members.into_iter().map(|(name, value)| (name, readable(value, depth))).collect();
    }
    let elements = elements(json).unwrap_or_default();
    if elements.is_empty() {
        return Value::Null;
    }
    elements.into_iter().map(|element| readable(element, depth)).collect()
}

/// The value with which a text begins, and what follows it. What is ignored is skipped without recursion, however deep it is.
fn cut(json: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let end = values.byte_offset();
    Some((json.get(..end)?, json.get(end..)?.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_are_cut_as_they_stand() {
        let json = r#" { "a" : [1, {"b":"]"} , null ] , "\u0063":"x,}" , "d":{} } "#;
        let found = members(json).unwrap();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "c", "d"]);
        assert_eq!(elements(found[0].1).unwrap(), ["1", r#"{"b":"]"}"#, "null"]);
        assert_eq!(text_at(json, &["c"]).as_deref(), Some("x,}"));
        assert_eq!(members("{}"), Some(Vec::new()));
        assert_eq!(elements(" [ ] "), Some(Vec::new()));
        for broken in
            ["", "{", "[", "[1", "[1,", "[1 2]", "{\"a\"}", "{\"a\":1", "{\"a\":1,}", "null", "{1:2}x"]
        {
            assert!(members(broken).is_none_or(|found| found.len() == 1), "{broken}");
            assert_eq!(elements(broken), None, "{broken}");
        }
    }

    #[test]
    fn what_is_nested_deeper_than_a_parser_goes_is_cut_out_like_any_other() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let json = format!("[1,{deep},\"\\ud800\",2]");
        let found = elements(&json).unwrap();
        assert_eq!((found.len(), found[1].len(), found[3]), (4, deep.len(), "2"));
        assert!(serde_json::from_str::<serde_json::Value>(found[1]).is_err());
    }

    #[test]
    fn what_cannot_be_read_is_null_and_what_stands_beside_it_is_read() {
        let json = r#"{"a":[{"b":"\ud800"},{"b":2}],"c":"\udc00"}"#;
        assert_eq!(readable(json, 2), serde_json::json!({"a": [null, {"b": 2}], "c": null}));
        assert_eq!(readable(json, 3), serde_json::json!({"a": [{"b": null}, {"b": 2}], "c": null}));
        assert_eq!(
            [readable("{", 3), readable("", 3), readable(json, 0)],
            [Value::Null, Value::Null, Value::Null]
        );
    }
}
