use gatepost_link::{
    decision::PublicKey,
    topic::{PAIRING_FILTER, PairingTopics, Topics},
};

use super::*;

fn topics(device: u8) -> Topics {
    Topics::new(PublicKey([1; 32]), PublicKey([device; 32]))
}

fn entry(user: &str, client: &str, access: Access) -> Entry {
    Entry { user: user.into(), client: client.into(), access, will: None }
}

fn hub(router: &Router) -> (Place, mpsc::Receiver<Out>) {
    router.enter(entry("hub", "hub", Access::Everything)).unwrap()
}

fn device(router: &Router, number: u8, client: &str) -> (Place, mpsc::Receiver<Out>) {
    let mut entry = entry(&format!("device-{number}"), client, Access::Device(Arc::new(topics(number))));
    entry.will = Some((topics(number).presence.as_str().to_owned(), b"0".to_vec()));
    router.enter(entry).unwrap()
}

fn stranger(router: &Router) -> Result<(Place, mpsc::Receiver<Out>), Crowded> {
    router.enter(entry("pairing", "c", Access::Stranger))
}

fn message(topic: &str) -> Message {
    Message { topic: topic.into(), payload: Bytes::from_static(b"x"), acknowledged: true, _share: None }
}

fn received(receiver: &mut mpsc::Receiver<Out>) -> Vec<String> {
    let mut all = Vec::new();
    while let Ok(out) = receiver.try_recv() {
        match out {
            Out::Message(message, _) => all.push(message.topic.clone()),
            Out::Answer(packet) => panic!("{packet:?}"),
        }
    }
    all
}

#[test]
fn a_message_goes_to_who_listens_and_is_kept_for_nobody() {
    let router = Router::new(8);
    let (hub, mut at_hub) = hub(&router);
    let (one, mut at_one) = device(&router, 1, "a");
    one.say(message(&topics(1).up));
    assert!(hub.listen(&topics(1).up, true) && hub.listen(&topics(1).presence, true));
    assert!(one.listen(&topics(1).down, true));
    assert!(received(&mut at_hub).is_empty(), "it was not there to hear it");
    one.say(message(&topics(1).up));
    hub.say(message(&topics(1).down));
    assert_eq!(
        (received(&mut at_hub), received(&mut at_one)),
        (vec![topics(1).up.to_string()], vec![topics(1).down.to_string()])
    );
    hub.ignore(&topics(1).up);
    one.say(message(&topics(1).up));
    assert!(received(&mut at_hub).is_empty());
}

#[test]
fn a_connection_that_breaks_says_its_last_will_and_one_that_goes_in_order_does_not() {
    let router = Router::new(8);
    let (hub, mut at_hub) = hub(&router);
    assert!(hub.listen(&topics(1).presence, true));
    let (one, _at_one) = device(&router, 1, "a");
    drop(one);
    assert_eq!(received(&mut at_hub), [topics(1).presence.as_str()]);
    let (one, _at_one) = device(&router, 1, "a");
    one.goes_in_order();
    drop(one);
    assert!(received(&mut at_hub).is_empty());
}

#[test]
fn a_second_connection_of_one_name_takes_the_firsts_place_and_a_third_of_one_login_the_oldests() {
    let router = Router::new(8);
    let (hub, mut at_hub) = hub(&router);
    assert!(hub.listen(&topics(1).presence, true));
    let (_old, _at_old) = device(&router, 1, "a");
    let (new, _at_new) = device(&router, 1, "a");
    new.say(message(&topics(1).presence));
    assert_eq!(received(&mut at_hub).len(), 2, "the old one's will, then the new one's own word");
    assert_eq!(router.len(), 2);
    let (_b, _at_b) = device(&router, 1, "b");
    let (_c, _at_c) = device(&router, 1, "c");
    assert_eq!(router.len(), 3, "two of the login, and the hub");
}

#[test]
fn a_companion_that_does_not_read_is_cut_off_and_the_hub_goes_on() {
    let router = Router::new(8);
    let (hub, _at_hub) = hub(&router);
    let (slow, _at_slow) = device(&router, 1, "a");
    let (_other, mut at_other) = device(&router, 2, "a");
    assert!(slow.listen(&topics(1).down, true) && _other.listen(&topics(2).down, true));
    for _ in 0..10_000 {
        hub.say(message(&topics(1).down));
    }
    assert_eq!(router.len(), 2, "the hub and the other one");
    assert!(!slow.listen(&topics(1).down, true), "it has no place any more");
    hub.say(message(&topics(2).down));
    assert_eq!(received(&mut at_other).len(), 1);
}

#[test]
fn four_strangers_have_an_attempt_each_and_a_fifth_has_no_place() {
    let router = Router::new(32);
    let (hub, mut at_hub) = hub(&router);
    assert!(hub.listen(PAIRING_FILTER, true));
    let mut strangers: Vec<_> = (0..MAX_STRANGERS).map(|_| stranger(&router).unwrap()).collect();
    assert_eq!(stranger(&router).unwrap_err(), Crowded::Strangers);
    let attempts: Vec<PairingTopics> = (0..5).map(|n| PairingTopics::new([n; 8])).collect();
    let [(first, at_first), (second, _), ..] = strangers.as_mut_slice() else { unreachable!() };
    assert!(!first.has_attempt() && first.listen(&attempts[0].down, true) && first.has_attempt());
    assert!(!second.may_say(&attempts[0].up), "it is another's");
    assert!(!second.listen(&attempts[0].down, true));
    assert!(second.may_say(&attempts[1].up) && !second.may_say(&attempts[2].up), "one each");
    first.say(message(&attempts[0].up));
    second.say(message(&attempts[1].up));
    hub.say(message(&attempts[0].down));
    assert_eq!(received(&mut at_hub).len(), 2);
    assert_eq!(received(at_first), [attempts[0].down.as_str()]);
    strangers.pop();
    assert!(stranger(&router).is_ok());
}

#[test]
fn connections_are_bounded_in_all_but_for_the_hub() {
    let router = Router::new(3);
    let _devices: Vec<_> = (1..4).map(|number| device(&router, number, "a")).collect();
    let full = router.enter(entry("device-9", "a", Access::Device(Arc::new(topics(9)))));
    assert_eq!(full.unwrap_err(), Crowded::Broker);
    assert_eq!(stranger(&router).unwrap_err(), Crowded::Broker);
    let _hub = hub(&router);
}
