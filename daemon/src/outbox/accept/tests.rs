use super::*;
use crate::store::Store;

fn letter(text: &str) -> NewMessage {
    NewMessage { idempotency_key: Some(text.into()), ..NewMessage::example(text) }
}

async fn accept(outbox: &Outbox, text: &str) -> Result<i64, Full> {
    match outbox.accept(letter(text)).await {
        Ok(Accepted::New(seq) | Accepted::Before(seq)) => Ok(seq),
        Err(AcceptError::Full(full)) => Err(full),
        Err(error) => panic!("{error}"),
    }
}

async fn end(outbox: &Outbox, seq: i64) {
    let ended = outbox
        .change(seq, move |tx| transition::apply(tx, seq, &Change::hub(Event::Refuse, Some("for a test"))));
    ended.await.unwrap();
}

#[tokio::test]
async fn a_queue_with_too_many_messages_takes_another_when_one_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let bounds = Bounds { messages: 2, bytes: 1_000 };
    let outbox = Outbox::new(Store::open(directory.path()).unwrap()).bounded(bounds);
    let first = accept(&outbox, "one").await.unwrap();
    accept(&outbox, "two").await.unwrap();
    assert_eq!(accept(&outbox, "three").await, Err(Full::Messages(2)));
    assert_eq!(accept(&outbox, "one").await, Ok(first), "a repeated call has its place already");
    end(&outbox, first).await;
    accept(&outbox, "three").await.unwrap();
}

#[tokio::test]
async fn texts_are_bounded_together_and_counted_in_bytes_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let bounds = Bounds { messages: 100, bytes: 10 };
    let store = Store::open(directory.path()).unwrap();
    let outbox = Outbox::new(store.clone()).bounded(bounds);
    let first = accept(&outbox, "äöüä").await.unwrap();
    assert_eq!(accept(&outbox, "abc").await, Err(Full::Bytes(8)));
    store.close();
    drop((store, outbox));
    let outbox = Outbox::new(Store::open(directory.path()).unwrap()).bounded(bounds);
    assert_eq!(accept(&outbox, "abc").await, Err(Full::Bytes(8)));
    accept(&outbox, "ab").await.unwrap();
    end(&outbox, first).await;
    accept(&outbox, "abcdefgh").await.unwrap();
}
