//! Routes that name a conversation by another address than what comes from it has.

use super::*;
use crate::{
    channels::received::{Author, Batch, Conversation, Event, Received, Words},
    people::{People, Person},
    policy,
    router::{Route, Routing},
};

#[tokio::test]
async fn a_route_fits_by_whom_its_address_stands_for_and_the_answer_is_kept() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let ann = Person { name: "ann".into(), scope: policy::Scope::Known };
    let people = People::new([(ann, vec!["one:ann".to_owned()])]).unwrap();
    let from = Allowlist::parse(["one:also-ann".to_owned()]).unwrap();
    let route = Route { from, ..Route::granted("courier", "home") };
    let routing =
        || Arc::new(Routing { routes: vec![route.clone()], people: people.clone(), ..Routing::default() });
    let pipeline = fixture.pipeline.reconfigured(|shared| shared.routing = routing());
    let wired = |pipeline: &Pipeline, address| pipeline.0.routing.wirings("one", "home", address).len();
    assert_eq!(wired(&pipeline, "ann"), 0, "nobody was asked");

    let said = Received {
        key: "1".into(),
        conversation: Conversation { address: "ann".into(), direct: true, ..Conversation::default() },
        author: Author { id: "ann".into(), ..Author::default() },
        message_id: None,
        said_at: None,
        mentions_me: false,
        event: Event::Message(Words { text: "Hello".into(), ..Words::default() }),
    };
    let at = pipeline.receiving("one", None, None).unwrap();
    let batch = Batch { received: vec![said], ..Batch::default() };
    assert!(pipeline.receive(at, batch).await.unwrap().woken);
    assert_eq!((wired(&pipeline, "ann"), wired(&pipeline, "also-ann"), wired(&pipeline, "bob")), (1, 1, 0));

    // After a start, or a reload, what the platform said before counts at once.
    let later = pipeline.reconfigured(|shared| shared.routing = routing());
    assert_eq!(wired(&later, "ann"), 0);
    later.recall_routes().unwrap();
    assert_eq!(wired(&later, "ann"), 1);
    fixture.close().await;
}
