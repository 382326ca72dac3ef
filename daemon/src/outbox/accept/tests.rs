use super::*;
use crate::{message::operation::Operation, outbox::transition, store::Store};

fn new_message(text: &str) -> NewMessage {
    NewMessage { idempotency_key: Some(text.into()), ..NewMessage::example(text) }
}

async fn accept(outbox: &Outbox, text: &str) -> Result<i64, Full> {
    match outbox.accept(new_message(text)).await {
        Ok(Accepted::New(seq) | Accepted::Before(seq) | Accepted::Same(seq)) => Ok(seq),
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

/// Within the window the same message is the first one, also after a restart; one that failed is none.
#[tokio::test]
async fn the_same_message_again_is_the_first_one_while_that_lives() {
    let directory = tempfile::tempdir().unwrap();
    let open = |window| {
        let store = Store::open(directory.path()).unwrap();
        (store.clone(), Outbox::new(store).deduplicating(window))
    };
    let minute = std::time::Duration::from_mins(1);
    let (store, outbox) = open(minute);
    let say = async |outbox: &Outbox, text: &str| outbox.accept(NewMessage::example(text)).await.unwrap();
    let Accepted::New(first) = say(&outbox, "one").await else { panic!() };
    assert_eq!(say(&outbox, "one").await, Accepted::Same(first));
    assert!(matches!(say(&outbox, "two").await, Accepted::New(_)));
    // Whoever names a call says itself which are the same.
    assert!(matches!(outbox.accept(new_message("one")).await.unwrap(), Accepted::New(_)));
    let mut others = NewMessage::example("one");
    others.agent = "b".into();
    assert!(matches!(outbox.accept(others).await.unwrap(), Accepted::New(_)), "another agent's receipt");
    store.close();
    drop((store, outbox));

    let (store, outbox) = open(minute);
    assert!(matches!(say(&outbox, "one").await, Accepted::Same(_)), "after a restart");
    let Accepted::Same(last) = say(&outbox, "one").await else { panic!() };
    end(&outbox, last).await;
    assert!(matches!(say(&outbox, "one").await, Accepted::New(_)), "the first one failed");
    store.close();
    drop((store, outbox));

    let (_, outbox) = open(std::time::Duration::ZERO);
    assert!(matches!(say(&outbox, "one").await, Accepted::New(_)));
}

/// A reply that nobody has to approve is said, though the same words wait for approval; and what has to be approved is told
/// nothing of that reply.
#[tokio::test]
async fn what_is_asked_about_and_what_is_not_are_two_messages_of_the_same_words() {
    let directory = tempfile::tempdir().unwrap();
    let minute = std::time::Duration::from_mins(1);
    let say = async |outbox: &Outbox, asks| {
        outbox.accept(NewMessage { asks, ..NewMessage::example("yes") }).await.unwrap()
    };
    let store = Store::open(directory.path()).unwrap();
    let outbox = Outbox::new(store.clone()).deduplicating(minute);
    let Accepted::New(asked) = say(&outbox, true).await else { panic!() };
    let Accepted::New(free) = say(&outbox, false).await else { panic!("the reply is swallowed") };
    for _ in 0..2 {
        assert_eq!(say(&outbox, true).await, Accepted::Same(asked));
        assert_eq!(say(&outbox, false).await, Accepted::Same(free));
    }
    let card = "INSERT INTO approvals (request, message, document, deadline) VALUES (x'01', ?, x'', 0)";
    store.write(move |tx| Ok::<_, StoreError>(tx.execute(card, [asked])?)).await.unwrap();
    store.close();
    drop((store, outbox));

    let outbox = Outbox::new(Store::open(directory.path()).unwrap()).deduplicating(minute);
    assert_eq!(say(&outbox, false).await, Accepted::Same(free), "after a restart");
    assert_eq!(say(&outbox, true).await, Accepted::Same(asked));
}

/// A reaction, its removal and the reaction again are three, or the caller would be told of one that is not there.
#[tokio::test]
async fn what_was_undone_meanwhile_is_done_again() {
    let directory = tempfile::tempdir().unwrap();
    let minute = std::time::Duration::from_mins(1);
    let react = |message: &str, remove| NewMessage {
        operation: Operation::React { message: message.into(), emoji: "👍".into(), remove },
        action: "react",
        ..NewMessage::example("")
    };
    let store = Store::open(directory.path()).unwrap();
    let outbox = Outbox::new(store.clone()).deduplicating(minute);
    let is_new = async |outbox: &Outbox, new: NewMessage| {
        matches!(outbox.accept(new).await.unwrap(), Accepted::New(_))
    };
    assert!(is_new(&outbox, react("5", false)).await);
    assert!(!is_new(&outbox, react("5", false)).await, "and only once");
    assert!(is_new(&outbox, NewMessage::example("a word between them")).await);
    assert!(!is_new(&outbox, react("5", false)).await, "a word changes nothing");
    assert!(is_new(&outbox, react("5", true)).await);
    assert!(is_new(&outbox, react("5", false)).await);
    assert!(!is_new(&outbox, react("5", false)).await);
    store.close();
    drop((store, outbox));

    let outbox = Outbox::new(Store::open(directory.path()).unwrap()).deduplicating(minute);
    assert!(!is_new(&outbox, react("5", false)).await, "after a restart");
    assert!(is_new(&outbox, react("5", true)).await);
    assert!(is_new(&outbox, NewMessage { agent: "b".into(), ..react("5", false) }).await);
    assert!(is_new(&outbox, react("5", true)).await, "whoever did the other");
}
