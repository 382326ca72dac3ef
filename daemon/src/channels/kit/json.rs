//! What is taken out of an answer that may be of any kind.

use serde_json::Value;

/// A member of an object, which is null afterwards; null where there is none, or it is no object. `value[name].take()` would end the
/// program where a platform answers with a list: an index that changes something wants an object.
pub(in crate::channels) fn taken(value: &mut Value, name: &str) -> Value {
    value.get_mut(name).map(Value::take).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_object_has_no_members() {
        let mut object = json!({"a": [1], "b": 2});
        assert_eq!(taken(&mut object, "a"), json!([1]));
        assert_eq!(object, json!({"a": null, "b": 2}));
        for mut other in [json!([]), json!([1]), json!("a"), json!(5), json!(true), Value::Null, json!({})] {
            assert_eq!(taken(&mut other, "a"), Value::Null);
        }
    }
}
