//! Calls with several targets.

use std::sync::Arc;

use serde_json::json;

use super::{CHANNELS, Fixture, platforms};
use crate::{
    admission::{plan::Renderings, submit::Idempotency},
    message::{call::Call, state::State},
};

#[tokio::test]
async fn a_text_to_many_conversations_is_rendered_once_for_each_way_in_which_it_is_written() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let targets: Vec<String> = (0..99).map(|n| format!("{}:{n}", CHANNELS[n % 2])).collect();
    let call = json!({"action": "broadcast", "targets": targets, "message": "It is **done**."});
    for (agent, state) in [("courier", State::Sent), ("asker", State::Held)] {
        let renderings: Arc<Renderings> = Arc::default();
        let calls =
            Call::parse_all(&call, &CHANNELS).unwrap().into_iter().map(|call| (call, Idempotency::NONE));
        let receipts = fixture.pipeline.submit_with(agent, calls.collect(), &renderings).await;
        assert_eq!((receipts.len(), renderings.made()), (99, 1), "both channels write alike");
        for receipt in receipts {
            let id = receipt.unwrap().id.0;
            let seq = fixture.pipeline.outbox().find(&id).await.unwrap().unwrap().seq;
            fixture.until(seq, |row| row.state == state).await;
        }
    }
    assert_eq!(
        (one.heard("0"), two.heard("97")),
        (vec!["It is done.".to_owned()], vec!["It is done.".to_owned()])
    );
    fixture.close().await;
}

#[tokio::test]
async fn what_differs_is_rendered_for_itself() {
    let renderings = Renderings::default();
    let flavour = crate::channels::formats::PLAIN;
    let mut shown = vec![];
    for (text, prefix, limit) in [
        ("*A*", None, None),
        ("*B*", None, None),
        ("*A*", Some("[a] "), None),
        ("*A*", None, Some(400)),
        ("*A*", None, None),
        ("*A*", Some("[a] "), None),
    ] {
        let flavour = crate::render::Flavour { limit, ..flavour };
        shown.push(renderings.text(text, prefix, &flavour));
    }
    assert_eq!(shown, ["A", "B", "[a] A", "A", "A", "[a] A"]);
    assert_eq!(renderings.made(), 4);
}
