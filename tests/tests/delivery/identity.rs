//! Whoever is on a `hold` list is that by every address they have; and what is not allowed any more is not sent.
//!
//! By the running program, with mocks of the platforms.

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{COURIER, Client, SpawnedHub, client::text, eventually, secret, webhook},
    mocks::{Answer, MockServer, bluebubbles, evolution, signal, whatsapp},
};
use serde_json::json;

fn courier(channel: &str, hold: &[&str]) -> String {
    let hold: Vec<String> = hold.iter().map(|address| format!("{channel}:{address}")).collect();
    format!(
        "[agents.courier]\nallow = [\"{channel}:*\"]\nhold = {hold:?}\ncross_context = \"allow\"\ndecorate = false\n"
    )
}

/// Each of these addresses is held, and what is said of it names the entry.
fn all_held(agent: &Client, channel: &str, addresses: &[&str]) -> Result<()> {
    for address in addresses {
        let call = json!({"to": format!("{channel}:{address}"), "message": format!("To {address}")});
        let held = agent.send(&call)?;
        ensure!(held["state"] == "held", "{address} is not held: {held}");
        ensure!(text(&held, "reason").contains("hold"), "{address}: {held}");
    }
    Ok(())
}

#[test]
fn a_hold_on_a_number_holds_every_conversation_with_it_on_imessage() -> Result<()> {
    let (server, secrets) = (bluebubbles::start()?, tempfile::tempdir()?);
    let channel = bluebubbles::account(&server, secrets.path())?;
    let rules = courier("imessage", &["+49 151 1234-5679", "any;+;chat1", "Anna@Example.org"]);
    let hub = SpawnedHub::start(&format!("{rules}{channel}"))?;
    let agent = hub.agent("courier")?;
    let addresses = [
        "+4915112345679",
        "any;-;+4915112345679",
        "SMS;-;+4915112345679",
        "RCS;-;+4915112345679",
        "iMessage;-;+4915112345679",
        "iMessage;+;+4915112345679",
        "iMessage;+;chat1",
        "SMS;+;chat1",
        "anna@example.org",
    ];
    all_held(&agent, "imessage", &addresses)?;
    ensure!(server.heard().is_empty(), "something was sent");
    let free = agent.send_and_wait(&json!({"to": "imessage:any;-;+4915112345670", "message": "Hello"}))?;
    ensure!(free["to"] == "imessage:+4915112345670", "{free}");
    ensure!(free["written_as"] == "any;-;+4915112345670" && free["state"] == "sent", "{free}");
    Ok(())
}

#[test]
fn what_messages_may_read_as_a_held_number_or_mailbox_is_held_or_refused_on_imessage() -> Result<()> {
    let (server, secrets) = (bluebubbles::start()?, tempfile::tempdir()?);
    let channel = bluebubbles::account(&server, secrets.path())?;
    let rules = courier("imessage", &["+298123456", "Anna@Example.org", "+5491112345678"]);
    let hub = SpawnedHub::start(&format!("{rules}{channel}"))?;
    let agent = hub.agent("courier")?;
    let addresses = [
        "SMS;-;123456",
        "any;-;22395",
        "SMS;-;<anna@example.org>",
        "any;-;anna@example.org.",
        "any;-;anna(c)@example.org",
        "anna+x@example.org",
        "+541112345678",
    ];
    all_held(&agent, "imessage", &addresses)?;
    let mailboxes = [
        "<anna@example.org>",
        "\"anna\"@example.org",
        "anna(c)@example.org",
        "anna@example.org.",
        "/anna@example.org",
        "anna%example.org@example.net",
    ];
    all_refused(&agent, "imessage", &mailboxes)?;
    ensure!(server.heard().is_empty(), "something was sent");
    Ok(())
}

/// None of these is an address, and what is said of it tells what to write instead.
fn all_refused(agent: &Client, channel: &str, addresses: &[&str]) -> Result<()> {
    for address in addresses {
        let call = json!({"to": format!("{channel}:{address}"), "message": format!("To {address}")});
        let refused = agent.post("/v1/messages", &call)?;
        ensure!(refused.body["code"] == "input_invalid", "{address} is not refused: {refused:?}");
        ensure!(refused.body.to_string().contains("example.org"), "{address}: {refused:?}");
    }
    Ok(())
}

#[test]
fn a_hold_on_a_number_holds_it_without_the_digit_that_not_everybody_dials_on_whatsapp() -> Result<()> {
    let (server, secrets) = (whatsapp::start()?, tempfile::tempdir()?);
    let channel = format!("[channels.whatsapp.home]\n{}", whatsapp::account(&server, secrets.path())?);
    let rules = courier("whatsapp", &["+55 11 98765-4321", "+52 55 1234 5678", "+54 11 1234-5678"]);
    let hub = SpawnedHub::start(&format!("{rules}{channel}"))?;
    let agent = hub.agent("courier")?;
    let addresses = [
        "+551187654321",
        "551187654321@s.whatsapp.net",
        "+5215512345678",
        "5491112345678",
        // Whose number is behind it nobody is told.
        "US.13491208655302741918",
    ];
    all_held(&agent, "whatsapp", &addresses)?;
    let sent = |request: &gatepost_tests::mocks::Request| request.path.ends_with("/messages");
    ensure!(!server.heard().iter().any(sent), "something was sent");
    Ok(())
}

#[test]
fn a_number_that_an_evolution_api_takes_for_a_held_one_is_held() -> Result<()> {
    let (server, secrets) = (evolution::start()?, tempfile::tempdir()?);
    let account = evolution::account(&server, secrets.path())?;
    let channel = format!("[channels.whatsapp.home]\nkind = \"evolution\"\n{account}");
    let rules = courier("whatsapp", &["+5491112345678", "+5551987654321", "+5215512345678", "+551123456789"]);
    let hub = SpawnedHub::start(&format!("{rules}{channel}"))?;
    let agent = hub.agent("courier")?;
    let addresses = [
        "+5491112345678",
        "+541112345678",
        // It drops the digit behind the country's or the area's code, whatever it is.
        "+5421112345678",
        "+5551287654321",
        "+5245512345678",
        // It takes a number that it wrote to before for one with a 9 more.
        "+5511923456789",
    ];
    all_held(&agent, "whatsapp", &addresses)?;
    let sent = |request: &gatepost_tests::mocks::Request| request.path.starts_with("/message/");
    ensure!(!server.heard().iter().any(sent), "something was sent");
    let free = agent.send_and_wait(&json!({"to": "whatsapp:+5491112345670", "message": "Hello"}))?;
    ensure!(free["state"] == "sent", "{free}");
    Ok(())
}

#[test]
fn a_hold_on_a_number_holds_its_account_and_its_user_name_on_signal() -> Result<()> {
    let server = signal::start()?;
    let (number, uuid, name) = signal::KNOWN;
    let channel =
        format!("[channels.signal.home]\nurl = \"{}\"\naccount = \"{}\"\n", server.url(), signal::ACCOUNT);
    let hub = SpawnedHub::start(&format!("{}{channel}", courier("signal", &[number])))?;
    let agent = hub.agent("courier")?;
    // The last one nobody knows.
    all_held(&agent, "signal", &[number, uuid, &format!("u:{name}"), "+4915112345679"])?;
    let send = |request: &gatepost_tests::mocks::Request| request.json()["method"] == "send";
    ensure!(!server.heard().iter().any(send), "something was sent");
    let asked = server.heard().len();
    all_held(&agent, "signal", &[number, &format!("u:{name}")])?;
    ensure!(server.heard().len() == asked, "it was asked again");
    Ok(())
}

/// A workspace in which `D012AB3CDEF` is the direct conversation with `U012AB3CD`.
fn slack() -> Result<MockServer> {
    MockServer::open(|request| match request.path.as_str() {
        "/api/conversations.info" => {
            let direct = String::from_utf8_lossy(&request.body).contains("D012AB3CDEF");
            match direct {
                true => (
                    200,
                    json!({"ok": true, "channel": {"id": "D012AB3CDEF", "is_im": true, "user": "U012AB3CD"}}),
                ),
                false => (200, json!({"ok": false, "error": "channel_not_found"})),
            }
        }
        "/api/chat.postMessage" => {
            (200, json!({"ok": true, "ts": "1700000000.000100", "channel": "D012AB3CDEF"}))
        }
        _ => (200, json!({"ok": false, "error": "unknown_method"})),
    })
}

#[test]
fn a_direct_conversation_on_slack_is_its_persons_and_held_while_slack_cannot_say_whose_it_is() -> Result<()> {
    let (server, secrets) = (slack()?, tempfile::tempdir()?);
    let token = secret(secrets.path(), "token", "xoxb-1")?;
    let channel = format!("[channels.slack.home]\ntoken = {token}\nbase_url = \"{}/api\"\n", server.url());
    let (person, direct) = ("U012AB3CD", "D012AB3CDEF");
    let hub = SpawnedHub::start(&format!("{}{channel}", courier("slack", &[person])))?;
    let agent = hub.agent("courier")?;
    let held = agent.send(&json!({"to": format!("slack:{direct}"), "message": "Hello"}))?;
    ensure!(held["state"] == "held" && held["to"] == format!("slack:{person}"), "{held}");
    ensure!(held["written_as"] == direct, "{held}");
    // One that Slack does not know may be anybody's.
    all_held(&agent, "slack", &["D999999999"])?;
    let free = agent.send_and_wait(&json!({"to": "slack:C012AB3CD", "message": "Hello"}))?;
    ensure!(free["state"] == "sent", "{free}");

    // Slack says nothing at all: the caller does not wait for long, and a person is asked.
    let hub = SpawnedHub::start(&format!("{}{channel}", courier("slack", &["U999999999"])))?;
    let agent = hub.agent("courier")?;
    server.next((0..3).map(|_| Answer::Nothing));
    let before = std::time::Instant::now();
    let held = agent.send(&json!({"to": format!("slack:{direct}"), "message": "Hello"}))?;
    ensure!(held["state"] == "held" && text(&held, "reason").contains("nobody knows whose"), "{held}");
    ensure!(before.elapsed().as_secs() < 20, "the caller waited {:?}", before.elapsed());
    Ok(())
}

#[test]
fn a_message_whose_agent_lost_its_token_while_it_waited_is_not_sent() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({"id": "7"}))?, tempfile::tempdir()?);
    let hub = SpawnedHub::start(&format!("{COURIER}{}", webhook(secrets.path(), &server.url())?))?;
    let agent = hub.agent("courier")?;
    server.next([Answer::With(503, "Retry-After: 3", json!({"error": "later"}))]);
    let sent = agent.send(&json!({"to": "webhook:kitchen", "message": "Tea?"}))?;
    let id = text(&sent, "id");
    eventually("the first attempt's end", || {
        let waits = agent.message(id)?;
        Ok((waits["state"] == "ready" && waits["reason"].is_string()).then_some(()))
    })?;
    let revoked = hub.cli(&["agent", "revoke", "courier"])?;
    ensure!(revoked.status == 0, "{revoked:?}");
    let failed = hub.operator()?.ended(id, "failed")?;
    ensure!(failed["code"] == "not_allowed" && text(&failed, "error").contains("revoked"), "{failed}");
    ensure!(server.heard().len() == 1, "it was sent after all");
    Ok(())
}
