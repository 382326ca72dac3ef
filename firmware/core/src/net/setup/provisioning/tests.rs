use std::{string::String as Text, vec, vec::Vec as Many};

use proptest::prelude::*;

use super::*;

fn set_up() -> SetUp {
    SetUp::new(About { version: "0.1.0", chip: "ESP32-C3" }, None)
}

fn send(set_up: &mut SetUp, bytes: &[u8]) -> Vec<RadioRequest, 8> {
    bytes.iter().filter_map(|byte| set_up.received(Millis(0), *byte)).collect()
}

fn answers(set_up: &mut SetUp) -> Many<Many<u8>> {
    core::iter::from_fn(|| set_up.answer()).map(|answer| answer.to_vec()).collect()
}

fn lines(set_up: &mut SetUp) -> Text {
    answers(set_up).into_iter().map(|answer| Text::from_utf8(answer).unwrap()).collect()
}

/// A packet as a client makes it.
pub(crate) fn packet(kind: u8, data: &[u8]) -> Many<u8> {
    let mut packet = b"IMPROV".to_vec();
    packet.extend([1, kind, data.len() as u8]);
    packet.extend(data);
    packet.push(packet.iter().fold(0, |sum, byte| sum.wrapping_add(*byte)));
    packet
}

pub(crate) fn wifi(ssid: &str, password: &str) -> Many<u8> {
    let mut data = vec![1, (2 + ssid.len() + password.len()) as u8, ssid.len() as u8];
    data.extend(ssid.bytes());
    data.push(password.len() as u8);
    data.extend(password.bytes());
    packet(3, &data)
}

const NO_ERROR: &[u8] = &[b'I', b'M', b'P', b'R', b'O', b'V', 1, 2, 1, 0, 0xe1, b'\n'];

/// The example of the protocol's own description: `01 1E 0C {MyWirelessAP} 10 {mysecurepassword}`.
#[test]
fn a_network_is_stored_only_once_it_was_joined() {
    let mut set_up = set_up();
    let sent = wifi("MyWirelessAP", "mysecurepassword");
    assert_eq!(sent[9..12], [0x01, 0x1e, 0x0c]);
    let requests = send(&mut set_up, &sent);
    let Some(RadioRequest::Join(network)) = requests.first() else { panic!("{requests:?}") };
    assert_eq!((network.ssid.as_str(), network.password.as_str()), ("MyWirelessAP", "mysecurepassword"));
    let answered = answers(&mut set_up);
    assert_eq!(answered[0], NO_ERROR);
    assert_eq!(answered[1][7..10], [1, 1, 3], "it says that it tries");

    assert_eq!(set_up.joined(true).unwrap().ssid, "MyWirelessAP");
    let answered = answers(&mut set_up);
    assert_eq!(answered[0][7..10], [1, 1, 4], "provisioned");
    assert_eq!(answered[1][7..11], [4, 2, 1, 0], "the result of the command, without an address to visit");
    assert!(Text::from_utf8_lossy(&answered[2]).contains("write: hub"), "{answered:?}");
}

#[test]
fn a_network_that_cannot_be_joined_changes_nothing() {
    let mut set_up = set_up();
    send(&mut set_up, &wifi("home", "wrong one"));
    answers(&mut set_up);
    assert_eq!(set_up.joined(false), None);
    let answered = answers(&mut set_up);
    assert_eq!(answered[0][7..10], [2, 1, 3], "cannot connect");
    assert_eq!(answered[1][7..10], [1, 1, 2], "ready for another");
    assert_eq!(set_up.joined(true), None, "nobody tries any more");
    assert!(
        matches!(&send(&mut set_up, &wifi("open", ""))[..], [RadioRequest::Join(n)] if n.password.is_empty())
    );
}

#[test]
fn a_tool_gets_what_the_device_is_and_which_networks_are_in_reach() {
    let mut set_up = set_up();
    send(&mut set_up, &packet(3, &[3, 0]));
    let about = answers(&mut set_up).remove(1);
    let strings = Text::from_utf8_lossy(&about).into_owned();
    for string in ["\u{8}Gatepost", "\u{5}0.1.0", "\u{8}ESP32-C3", "\u{12}Gatepost companion"] {
        assert!(strings.contains(string), "{strings:?}");
    }

    assert_eq!(send(&mut set_up, &packet(3, &[4, 0])), [RadioRequest::Scan]);
    for n in 0..2 * MAX_ANSWERS {
        set_up.scanned("neighbour", -60, n == 0);
    }
    set_up.scan_done();
    let answered = answers(&mut set_up);
    assert_eq!(answered.last().unwrap()[7..11], [4, 2, 4, 0], "the end of the list is always told");
    assert!(answered[1].ends_with(&[b'N', b'O', answered[1][answered[1].len() - 2], b'\n']));
}

#[test]
fn the_state_is_reported_on_request() {
    let mut set_up = set_up();
    send(&mut set_up, &packet(3, &[2, 0]));
    assert_eq!(answers(&mut set_up)[1][7..10], [1, 1, 2]);
    set_up.online(true);
    send(&mut set_up, &packet(3, &[2, 0]));
    let answered = answers(&mut set_up);
    assert_eq!((&answered[1][7..10], &answered[2][7..11]), (&[1, 1, 4][..], &[4, 2, 2, 0][..]));
}

#[test]
fn damaged_and_unknown_packets_are_answered_with_an_error() {
    let mut damaged = wifi("home", "secret");
    *damaged.last_mut().unwrap() ^= 1;
    let too_long = wifi(&"x".repeat(33), "");
    let cut = packet(3, &[1, 5, 4, b'h', b'o']);
    let (too_short, trailing) = (wifi("home", "tiger"), packet(3, &[2, 1, 0]));
    for (bytes, error) in
        [(damaged, 1), (too_long, 1), (too_short, 1), (cut, 1), (trailing, 1), (packet(3, &[9, 0]), 2)]
    {
        let mut set_up = set_up();
        assert_eq!(send(&mut set_up, &bytes).len(), 0);
        assert_eq!(answers(&mut set_up).last().unwrap()[7..10], [2, 1, error], "{bytes:?}");
    }
}

#[test]
fn the_hubs_address_is_typed_as_a_line() {
    let mut set_up = set_up();
    for (typed, host, port) in [
        ("hub 192.168.1.20", "192.168.1.20", 1883),
        ("hub gatepost.local:1884", "gatepost.local", 1884),
        ("hub mqtt://hub.home:1885/", "hub.home", 1885),
    ] {
        let requests = send(&mut set_up, std::format!("{typed}\r\n").as_bytes());
        let [RadioRequest::Keep(network)] = &requests[..] else { panic!("{typed}: {requests:?}") };
        assert_eq!((network.host.as_str(), network.port), (host, port));
    }
    answers(&mut set_up);
    for typed in ["hub", "hub :1883", "hub a:0", "hub a:b", "hub a b", "hub a/b", "hub mqtts://a"] {
        assert!(send(&mut set_up, std::format!("{typed}\n").as_bytes()).is_empty(), "{typed}");
        assert!(lines(&mut set_up).contains("write: hub HOST"), "{typed}");
    }
    send(&mut set_up, b"status\n");
    assert_eq!(lines(&mut set_up), "network: none yet (not joined)\r\nhub: hub.home:1885\r\n");
}

#[test]
fn help_is_given() {
    let mut set_up = set_up();
    send(&mut set_up, b"foo\nhelp\n");
    let output = lines(&mut set_up);
    assert!(
        output.contains("not understood") && line::HELP.iter().all(|line| output.contains(line)),
        "{output}"
    );
}

#[test]
fn a_packet_is_found_after_a_line_and_after_one_that_broke_off() {
    let mut set_up = set_up();
    for before in ["\nstatus\n", "stat", "I", "IMPROVE"] {
        let mut bytes = before.as_bytes().to_vec();
        bytes.extend(packet(3, &[4, 0]));
        let found = send(&mut set_up, &bytes);
        assert_eq!(found.is_empty(), before == "IMPROVE", "{before}");
        send(&mut set_up, &[0; 300]);
    }
    send(&mut set_up, &packet(3, &[4, 0])[..9]);
    let later = Millis(MAX_INPUT_GAP_MS + 1);
    let requests: Many<_> =
        packet(3, &[4, 0]).iter().filter_map(|byte| set_up.received(later, *byte)).collect();
    assert_eq!(requests, [RadioRequest::Scan]);
}

#[test]
fn an_attempt_without_a_result_does_not_block_the_next_one() {
    let mut set_up = set_up();
    send(&mut set_up, &wifi("home", "tigertiger"));
    assert!(send(&mut set_up, &wifi("work", "tigertiger")).is_empty(), "one at a time");
    answers(&mut set_up);
    let later = Millis(JOIN_TIMEOUT_MS + 1);
    let requests: Many<_> =
        wifi("work", "tigertiger").iter().filter_map(|byte| set_up.received(later, *byte)).collect();
    assert!(matches!(&requests[..], [RadioRequest::Join(network)] if network.ssid == "work"), "{requests:?}");
    assert_eq!(answers(&mut set_up)[0][7..10], [2, 1, 3], "the first could not be joined");
}

#[test]
fn a_hub_that_is_typed_while_a_network_is_joined_is_not_lost() {
    let mut set_up = set_up();
    send(&mut set_up, &wifi("home", "tigertiger"));
    send(&mut set_up, b"hub 10.0.0.7\n");
    let stored = set_up.joined(true).unwrap();
    assert_eq!((stored.ssid.as_str(), stored.host.as_str()), ("home", "10.0.0.7"));
}

proptest! {
    #[test]
    fn the_set_up_still_answers_after_any_bytes(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'I'), Just(b'\n')], 0..800)) {
        let mut set_up = set_up();
        send(&mut set_up, &bytes);
        send(&mut set_up, b"\n");
        answers(&mut set_up);
        prop_assert!(set_up.received(Millis(MAX_INPUT_GAP_MS + 1), b'\n').is_none());
        set_up.answer();
        let requests: Many<_> = packet(3, &[4, 0]).iter().filter_map(|b| set_up.received(Millis(MAX_INPUT_GAP_MS + 1), *b)).collect();
        prop_assert_eq!(requests, [RadioRequest::Scan]);
    }
}
