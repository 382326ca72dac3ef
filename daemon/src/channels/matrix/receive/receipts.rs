//! Who has read what: receipts of a room (<https://spec.matrix.org/v1.18/client-server-api/#receipts>).

use serde_json::Value;

use crate::channels::kit::slices::elements_at;
use crate::channels::received::Seen;

/// Messages that receipts of one answer and room may be about.
const MOST: usize = 100;

/// The messages of a room that somebody else than the account has read up to. Those before are not named, and whose they are only the
/// hub knows.
pub(super) fn seen(room: &str, json: &str, me: &str) -> Vec<Seen> {
    let mut all = Vec::new();
    for event in elements_at(json, &["ephemeral", "events"]) {
        let Ok(event) = serde_json::from_str::<Value>(event) else { continue };
        if event["type"] != "m.receipt" {
            continue;
        }
        for (id, kinds) in event["content"].as_object().into_iter().flatten() {
            let readers = kinds["m.read"].as_object().into_iter().flatten();
            let Some((reader, receipt)) = readers.into_iter().find(|(user, _)| *user != me) else { continue };
            // What was sent to them, and not to their room, is theirs as well.
            let by = vec![room.to_owned(), reader.clone()];
            all.push(Seen {
                by,
                ids: vec![id.clone()],
                and_before: false,
                read: true,
                at: receipt["ts"].as_i64(),
            });
        }
    }
    all.truncate(MOST);
    all
}
