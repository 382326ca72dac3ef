//! What becomes of a heartbeat's text, and of heartbeats that fail.

use super::*;
use crate::heartbeat::{MAX_FAILURES, guards::Skip, state};

fn home(setup: Setup) -> Home {
    Home::new(setup, at("2027-06-01T06:00"))
}

fn quiet(delivery: Delivery) -> String {
    match delivery {
        Delivery::Quiet(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_said_again_after_a_day_and_not_before_also_after_a_restart() {
    let home = home(Setup::default());
    assert!(matches!(home.says("The door is open").await, Delivery::Taken(_)));
    let setup = home.setup.clone();
    let home = home.restarted(setup).await;
    for text in ["the door is OPEN", "The door\nis open"] {
        assert!(quiet(home.says(text).await).contains("24 hours"), "{text}");
    }
    assert!(matches!(home.says("The window is open").await, Delivery::Taken(_)));
    assert!(quiet(home.says("The door is open").await).contains("24 hours"), "something was said in between");
    home.clock.0.store(at("2027-06-02T07:01"), Ordering::Relaxed);
    assert!(matches!(home.says("The door is open").await, Delivery::Taken(_)), "a day has passed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_did_not_arrive_was_not_said() {
    let home = home(Setup::default());
    assert!(matches!(home.says("The door is open").await, Delivery::Taken(_)));
    home.write(|tx| Ok(tx.execute("UPDATE messages SET state = 'failed', reason = 'gone'", [])?)).await;
    assert!(matches!(home.says("The door is open").await, Delivery::Taken(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ok_is_shown_if_the_operator_wants_that() {
    let shows = Shows { ok: true, alerts: false, indicator: false };
    let home = home(Setup { shows, ..Setup::default() });
    assert!(matches!(home.says("All is well. HEARTBEAT_OK").await, Delivery::Taken(_)));
    assert!(quiet(home.says("Fire!").await).contains("alerts"));
    assert_eq!(home.arrived(), [("ann".to_owned(), "All is well.".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_owners_conversation_last_is_nobody_and_that_is_told_once() {
    let home = home(Setup { goal: Goal::Last, ..Setup::default() });
    home.writes("ann", "family", false, false).await;
    home.writes("bob", "bob", true, false).await;
    for _ in 0..3 {
        assert!(quiet(home.says("The door is open").await).contains("no owner"));
    }
    assert!(home.arrived().is_empty());
    assert_eq!(home.told().len(), 1, "{:?}", home.told());
    home.writes("ann", "ann", true, false).await;
    assert!(matches!(home.says("The door is open").await, Delivery::Taken(_)));
    assert_eq!(home.arrived(), [("ann".to_owned(), "The door is open".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_is_no_owner_any_more_hears_nothing() {
    let home = home(Setup { goal: Goal::Last, ..Setup::default() });
    home.writes("ann", "ann", true, false).await;
    home.write(|tx| Ok(tx.execute("UPDATE inbound SET scope = 'owner', sender = 'eve', peer = 'eve'", [])?))
        .await;
    home.write(|tx| crate::people::users::grant(tx, "local:eve", Scope::Known, "test", 1)).await;
    assert!(quiet(home.says("The door is open").await).contains("no owner"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_under_hold_asks_and_one_on_no_list_is_refused() {
    let held = home(Setup { hold: &["local:ann"], ..Setup::default() });
    let Delivery::Taken(receipt) = held.says("The door is open").await else { panic!() };
    assert_eq!(receipt.state, crate::message::state::State::Held);
    assert!(held.arrived().is_empty());

    let closed = home(Setup { allow: &["local:bob"], ..Setup::default() });
    let Delivery::Refused(refusal) = closed.says("The door is open").await else { panic!() };
    assert_eq!(refusal.reason, Some("not_allowed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn three_failures_stop_it_are_told_once_and_a_reload_lets_it_go_on() {
    let home = home(Setup { allow: &["local:bob"], ..Setup::default() });
    for _ in 0..MAX_FAILURES {
        assert!(matches!(home.says("The door is open").await, Delivery::Refused(_)));
    }
    let setup = home.setup.clone();
    let home = home.restarted(setup).await;
    for _ in 0..40 {
        assert_eq!(home.beat(false).await, Beat::Skipped(Skip::Stopped));
    }
    let told = home.told();
    assert!(told.len() == 1 && told[0].contains("3 times") && told[0].contains("local:ann"), "{told:?}");
    home.write(state::resume).await;
    assert!(matches!(home.beat(false).await, Beat::Opened(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_and_messages_that_fail_count_and_one_that_ends_well_begins_anew() {
    let home = home(Setup::default());
    for round in 0..2 {
        for _ in 0..MAX_FAILURES - 1 {
            assert!(matches!(home.beat(false).await, Beat::Opened(_)), "{round}");
            let sql = "UPDATE turns SET state = 'failed', outcome = 'nobody came' WHERE state = 'waiting'";
            home.write(|tx| Ok(tx.execute(sql, [])?)).await;
        }
        assert!(matches!(home.says(&format!("Event {round}")).await, Delivery::Taken(_)), "{round}");
    }
    for event in 0..MAX_FAILURES {
        assert!(matches!(home.says(&format!("Another {event}")).await, Delivery::Taken(_)));
        home.write(|tx| Ok(tx.execute("UPDATE messages SET state = 'failed', reason = 'gone'", [])?)).await;
    }
    assert_eq!(home.beat(false).await, Beat::Skipped(Skip::Stopped));
    assert!(home.told()[0].contains("its message is failed: gone"), "{:?}", home.told());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_handed_in_again_sends_nothing_twice() {
    let home = home(Setup::default());
    let Beat::Opened(turn) = home.beat(false).await else { panic!() };
    assert!(matches!(home.answers(&turn, "The door is open").await, Delivery::Taken(_)));
    // The hub was killed before it wrote down that this was said.
    home.write(|tx| Ok(tx.execute("DELETE FROM heartbeat_texts", [])?)).await;
    assert!(matches!(
        home.pipeline.deliver_heartbeat(AGENT, &turn, "The door is open").await.unwrap(),
        Delivery::Taken(_)
    ));
    assert_eq!(home.arrived().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_is_told_what_came_by_counts_and_what_stands_on_its_list() {
    let home = home(Setup::default());
    home.writes("bob", "bob", true, false).await;
    let Beat::Opened(turn) = home.beat(false).await else { panic!() };
    let prompt = home.look("SELECT kind, text FROM inbound WHERE kind = 'system'");
    let (_, text) = &prompt[0];
    assert!(text.contains("sent to local:ann") && text.contains("1 message kept"), "{text}");
    assert!(text.contains("- the plants") && !text.contains("hello"), "{text}");
    home.answers(&turn, "HEARTBEAT_OK").await;
    assert!(matches!(home.beat(false).await, Beat::Opened(_)));
    let prompt = home.look("SELECT kind, text FROM inbound WHERE kind = 'system' ORDER BY seq DESC");
    assert!(!prompt[0].1.contains("kept"), "it is no news any more: {}", prompt[0].1);
}
