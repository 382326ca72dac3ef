//! The companion's firmware itself, as a RISC-V image in QEMU: what a person sees on its screen and does with its two
//! keys, and what comes of that at the hub.
//!
//! Most boards' flash holds what a pairing would have left; one is paired here, from the first start on.
//!
//! Installed by `tests/run --setup-only`: QEMU.

use std::{thread, time::Duration};

use anyhow::{Result, ensure};
use gatepost_companion::{Button, Edge, buttons};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{
        Client, TestHub,
        board::{shows_document, with_board},
        client::text,
        database, engineer, eventually,
    },
    main_job::report,
    peers::{
        free_port,
        qemu::{Qemu, flash::Flash},
    },
};
use serde_json::json;

/// Cards live so long, and parts are so small that a report has several pages.
fn config(ttl: &str) -> String {
    engineer(&format!("ttl = \"{ttl}\""), "limit = 800")
}

/// Holds a message; returns its id.
fn ask(agent: &Client, message: &str) -> Result<String> {
    let held = agent.send(&json!({"to": "local:team", "message": message}))?;
    ensure!(held["state"] == "held", "{held}");
    Ok(text(&held, "id").to_owned())
}

fn still_held(agent: &Client, id: &str) -> Result<()> {
    ensure!(agent.message(id)?["state"] == "held", "{}", agent.message(id)?);
    Ok(())
}

#[test]
fn a_new_device_starts_and_asks_to_be_paired() -> Result<()> {
    let mut board = Qemu::start(&Flash::set_up(free_port()?)?)?;
    board.says("boot")?;
    board.shows("pairing-0-unpaired")?;
    ensure!(board.says("address: ")? == "10.0.2.15/24");
    board.says("broker: the connection to the broker failed: ConnectionRefused")?;
    board.says("broker: again in")?;
    Ok(())
}

#[test]
fn a_device_that_loses_its_power_is_the_same_device_afterwards() -> Result<()> {
    let flash = Flash::set_up(free_port()?)?;
    let board = Qemu::start(&flash)?;
    let device = board.says("device: ")?;
    ensure!(device.len() == 16, "{device}");
    board.kill()?;
    let board = Qemu::start(&flash)?;
    ensure!(board.says("device: ")? == device, "other keys");
    let other = Qemu::start(&Flash::set_up(free_port()?)?)?;
    ensure!(other.says("device: ")? != device, "keys are drawn, and not in the image");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_device_is_paired_by_the_number_on_both_sides_and_decides() -> Result<()> {
    let mut fixture = TestHub::start(&config("10m")).await?;
    let agent = fixture.agent("engineer").await?;
    let mut board = fixture.new_board()?;
    board.view("it is not paired", |view| view == "Unpaired")?;
    let (paired, shown) = thread::scope(|scope| {
        let shell = scope.spawn(|| fixture.cli_told(&["companion", "pair", "--name", "shelf"], b"yes\n"));
        let shown = board.view("the number", |view| view.starts_with("Pairing"))?;
        board.qemu()?.hold()?;
        anyhow::Ok((shell.join().expect("it does not panic")?, shown))
    })?;
    ensure!(paired.status == 0 && paired.stderr.contains("paired: shelf"), "{paired:?}");
    let said: u32 = paired.stdout.replace([' ', '\n'], "").parse()?;
    ensure!(shown.contains(&format!("code: {said},")), "{said} at the hub, {shown} at the device");
    board.view("the board is in a session", |view| view == "Idle")?;

    let held = ask(&agent, "Shall I?")?;
    board.approve()?;
    agent.ended(&held, "sent")?;
    // What it was told is in its flash.
    board.cut_power()?;
    board.switch_on()?;
    board.view("the board is in a session again", |view| view == "Idle")?;
    let held = ask(&agent, "And now?")?;
    board.deny()?;
    agent.ended(&held, "denied")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_on_the_screen_is_approved_by_a_hold_and_arrives_and_a_denied_message_does_not()
-> Result<()> {
    let (fixture, agent, mut board) = with_board(&config("10m")).await?;
    let id = ask(&agent, &report())?;
    let pages = board.approve()?;
    board.qemu()?.shows("approved-2")?;
    agent.ended(&id, "sent")?;
    let approval = database::approval(&fixture.database()?, &id)?;
    shows_document(&pages, &approval.document)?;
    ensure!(
        approval.is_signed(fixture.hub()?.key(), board.device()?, Verdict::Approve),
        "it is the board's own"
    );
    let arrived = fixture.arrived("team")?;
    ensure!(arrived.len() > 2 && arrived.concat().contains("rsync -a src/60 dst/60"), "{arrived:?}");

    let id = ask(&agent, "The door code is 4711.")?;
    board.deny()?;
    board.qemu()?.shows("denied-2")?;
    agent.ended(&id, "denied")?;
    ensure!(fixture.arrived("team")? == arrived, "something of a denied message arrived");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn presses_that_are_no_approval_approve_nothing() -> Result<()> {
    let (fixture, agent, mut board) = with_board(&config("10m")).await?;
    let long = Duration::from_millis(buttons::HOLD + 500);
    // Down before the card, and held long after it opened.
    board.qemu()?.button(Button::Approve, Edge::Pressed)?;
    let id = ask(&agent, "Short.")?;
    board.card()?;
    thread::sleep(long);
    board.qemu()?.button(Button::Approve, Edge::Released)?;
    board.read()?;
    still_held(&agent, &id)?;
    // Short.
    board.qemu()?.press(Button::Approve, Duration::from_millis(200))?;
    board.read()?;
    still_held(&agent, &id)?;
    // Long, but not long enough.
    board.qemu()?.press(Button::Approve, Duration::from_millis(buttons::HOLD - 400))?;
    still_held(&agent, &id)?;
    // Long enough, but the other key came in between.
    board.read()?;
    board.qemu()?.button(Button::Approve, Edge::Pressed)?;
    thread::sleep(Duration::from_millis(700));
    board.qemu()?.press(Button::Deny, Duration::from_millis(100))?;
    thread::sleep(long);
    board.qemu()?.button(Button::Approve, Edge::Released)?;
    board.read()?;
    still_held(&agent, &id)?;
    ensure!(fixture.arrived("team")?.is_empty() && fixture.audit("decision.rejected")?.is_empty());
    // And it can be approved all the same.
    board.approve()?;
    agent.ended(&id, "sent")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_nobody_answers_expires() -> Result<()> {
    let (fixture, agent, mut board) = with_board(&config("4s")).await?;
    let id = ask(&agent, "Anybody there?")?;
    board.card()?;
    board.qemu()?.shows("closed-expired")?;
    agent.ended(&id, "expired")?;
    ensure!(fixture.arrived("team")?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_screen_cannot_show_honestly_is_shown_as_its_number() -> Result<()> {
    let (fixture, agent, mut board) = with_board(&config("10m")).await?;
    let id = ask(&agent, "Pay 1\u{200b}00 \u{202e}001\u{202c} to مرحبا 👍🏽, Ελλάδα, Україна")?;
    let pages = board.approve()?;
    agent.ended(&id, "sent")?;
    let shown = shows_document(&pages, &database::approval(&fixture.database()?, &id)?.document)?;
    let shown: String = shown.split_whitespace().collect();
    for wanted in
        ["1<U+200B>00", "<U+202E>001<U+202C>", "<U+0645>", "<U+1F44D>", "<U+1F3FD>", "Ελλάδα,Україна"]
    {
        ensure!(shown.contains(wanted), "{wanted} in {shown}");
    }
    ensure!(fixture.arrived("team")?.len() == 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_outlives_its_broker_its_hub_and_its_boards_power() -> Result<()> {
    let (mut fixture, agent, mut board) = with_board(&config("10m")).await?;
    let first = ask(&agent, "The first.")?;
    board.approve()?;
    agent.ended(&first, "sent")?;

    let id = ask(&agent, "The second.")?;
    board.card()?;
    board.unplug();
    board.view("the card cannot be decided", |view| view.contains("deniable: false"))?;
    // A decision that nobody can take is none.
    board.qemu()?.hold()?;
    board.plug(&fixture)?;
    board.card()?;
    still_held(&agent, &id)?;

    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    board.plug(&fixture)?;
    board.card()?;
    still_held(&agent, &id)?;

    board.cut_power()?;
    still_held(&agent, &id)?;
    board.switch_on()?;
    board.approve()?;
    agent.ended(&id, "sent")?;
    ensure!(fixture.arrived("team")? == ["[engineer] The first.", "[engineer] The second."]);

    let db = fixture.database()?;
    let counter = |id: &str| anyhow::Ok(database::approval(&db, id)?.given()?.0.counter);
    ensure!(counter(&id)? > counter(&first)?, "the counter went on over the power cut");
    ensure!(fixture.audit("decision.rejected")?.is_empty());
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_man_on_the_broker_reads_nothing_gets_nothing_approved_and_is_reported() -> Result<()> {
    let (fixture, agent, mut board) = with_board(&config("10m")).await?;
    let mallory = fixture.eavesdropper_on(board.device()?)?;
    // He hears the handshake too.
    board.unplug();
    board.view("the board is alone", |view| view == "Offline")?;
    board.plug(&fixture)?;
    board.view("the board is in a session", |view| view == "Idle")?;
    let first = ask(&agent, "The safe opens at eight.")?;
    board.approve()?;
    agent.ended(&first, "sent")?;
    let (up, down) = (mallory.up(), mallory.down());
    ensure!(up.len() > 2 && down.len() > 3, "he hears {} and {}", up.len(), down.len());
    let readable = |payload: &Vec<u8>| {
        payload.windows(8).any(|bytes| b"The safe opens at eight.".windows(8).any(|words| words == bytes))
    };
    ensure!(!up.iter().chain(&down).any(readable), "he reads what is said");

    let second = ask(&agent, "The second.")?;
    board.card()?;
    // He speaks faster than his client takes it.
    let to_hub = |payload: &[u8]| eventually("he is heard", || Ok(mallory.say_up(payload).ok()));
    let to_board = |payload: &[u8]| eventually("he is heard", || Ok(mallory.say_down(payload).ok()));
    // What was said before, in its order and against it; the approval is among it.
    up.iter().chain(up.iter().rev()).try_for_each(|payload| to_hub(payload))?;
    down.iter().rev().try_for_each(|payload| to_board(payload))?;
    // And the same cut short, and with a bit turned over.
    for (number, payload) in up.iter().chain(&down).enumerate() {
        let mut turned = payload.clone();
        let at = number * 7 % turned.len();
        turned[at] ^= 1 << (number % 8);
        for payload in [&payload[..payload.len() / 2], &turned] {
            to_hub(payload)?;
            to_board(payload)?;
        }
    }
    to_hub(b"the last")?;
    eventually("all of it was carried", || Ok(mallory.up().contains(&b"the last".to_vec()).then_some(())))?;
    let reported = || Ok((!fixture.audit("link.refused")?.is_empty()).then_some(()));
    eventually("it is reported", reported)?;
    still_held(&agent, &second)?;
    ensure!(fixture.arrived("team")? == ["[engineer] The safe opens at eight."]);
    // The person at the board still can.
    board.approve()?;
    agent.ended(&second, "sent")?;
    ensure!(fixture.arrived("team")?.len() == 2);
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_man_at_the_broker_who_changes_the_order_gets_nothing_approved_and_is_reported() -> Result<()> {
    let (fixture, agent, mut board) = with_board(&config("10m")).await?;
    board.unplug();
    board.view("the board is alone", |view| view == "Offline")?;
    let man = board.plug_before(&fixture)?;
    board.view("the board is in a session", |view| view == "Idle")?;

    // What the hub says comes in another order: no session lasts, and no card can be decided, whatever is pressed.
    man.swaps_down(true);
    let (first, second) = (ask(&agent, "The first in a row.")?, ask(&agent, "The second in a row.")?);
    eventually("he turns something round", || Ok((man.swapped().1 > 1).then_some(())))?;
    for _ in 0..3 {
        board.qemu()?.hold()?;
        board.qemu()?.press(Button::Deny, Duration::from_millis(120))?;
    }
    still_held(&agent, &first)?;
    still_held(&agent, &second)?;
    man.swaps_down(false);

    // What the person says comes in another order: a denial and the same again, which the board says while it is not
    // confirmed. Neither counts, and the hub tells of it.
    board.card()?;
    let out_of_order = || {
        let refused = fixture.audit("link.refused")?;
        Ok(refused.into_iter().find(|line| text(&line.detail, "why").contains("in another order")))
    };
    ensure!(out_of_order()?.is_none(), "the board has kept the order");
    man.swaps_up(true);
    thread::sleep(Duration::from_millis(400));
    board.qemu()?.press(Button::Deny, Duration::from_millis(120))?;
    eventually("it is reported", out_of_order)?;
    ensure!(man.swapped().0 > 0 && fixture.arrived("team")?.is_empty());
    man.swaps_up(false);

    // The board says it again in a new session, as the person meant it; the next card is as good as any.
    agent.ended(&first, "denied")?;
    board.approve()?;
    agent.ended(&second, "sent")?;
    ensure!(fixture.arrived("team")? == ["[engineer] The second in a row."]);
    ensure!(fixture.audit("decision.rejected")?.is_empty() && fixture.audit("device.cloned")?.is_empty());
    fixture.audit_is_whole().await
}
