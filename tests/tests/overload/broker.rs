//! Clients of the embedded broker.

use std::{
    io::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Result, ensure};
use gatepost_link::topic::Topics;
use gatepost_tests::hub::eventually;
use serde_json::json;

use super::{
    mqtt::{Mqtt, publish},
    stage::{AFTER, Stage, Until, turn},
};

const STRANGER: (&str, &str) = ("pairing", "");
/// As many as the broker had places when it had no bound on them.
const STRANGERS: usize = 63;

/// Keeps a window open in which companions are paired.
fn pairing<T>(stage: &Stage, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let operator = stage.hub.operator()?;
    thread::scope(|scope| {
        let window = scope.spawn(move || operator.post("/v1/pairing", &json!({})));
        eventually("strangers are let in", || {
            Ok((Mqtt::connect(stage.hub.broker_port(), "first", STRANGER)?.1 == 0).then_some(()))
        })?;
        let done = work();
        // A first message that is none ends the attempt, after some of them.
        let ended = end(stage);
        window.join().expect("it does not panic")?;
        ended?;
        done
    })
}

/// Disturbs the attempt to pair until it is given up.
fn end(stage: &Stage) -> Result<()> {
    eventually("the window closes", || {
        let (mut mqtt, code) = Mqtt::connect(stage.hub.broker_port(), "disturber", STRANGER)?;
        if code == 5 {
            return Ok(Some(()));
        }
        let first = [&[3u8, 0, 96][..], &[0; 96]].concat();
        for id in 1..=30 {
            // It may have been ended meanwhile.
            let _ = mqtt.stream.write_all(&publish(2, id, "gatepost/1/pair/00000000000000ff/up", &first));
        }
        Ok(None)
    })
}

/// One stranger after another: retained messages on new topics, QoS 2, wildcards, a filter that is read by nobody.
fn strange(stage: &Stage, until: &Until, number: usize, let_in: &AtomicUsize) -> Result<()> {
    let (topic, payload) = (format!("gatepost/1/pair/{number:016x}/up"), vec![b'x'; 7 * 1024]);
    let mut turn = number;
    while !until.over() {
        let Ok((mut mqtt, code)) = Mqtt::connect(stage.hub.broker_port(), &format!("s{number}"), STRANGER)
        else {
            continue;
        };
        if code != 0 {
            ensure!(matches!(code, 3 | 5), "{code}");
            thread::sleep(Duration::from_millis(20));
            continue;
        }
        let_in.fetch_add(1, Ordering::Relaxed);
        turn += 1;
        // The broker slows down what it takes, so no more of that than the bound.
        for id in 1..60 {
            let written = match turn % 5 {
                0 => publish(3, id, &format!("new/{number}/{id}"), &payload),
                1 => publish(4, id, &topic, &payload[..1_024]),
                2 => publish(3, id, &topic, &payload[..4_000]),
                3 => publish(2, id, &topic, &payload),
                _ => publish(1, id, &format!("gatepost/1/pair/{id:016x}/up"), b"x"),
            };
            if mqtt.stream.write_all(&written).is_err() || until.over() {
                break;
            }
        }
    }
    Ok(())
}

#[test]
fn strangers_in_a_pairing_window_take_no_memory_and_leave_with_it() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set("")?;
    let outcome = pairing(&stage, || {
        let let_in = AtomicUsize::new(0);
        let outcome = stage.under(|until| {
            thread::scope(|scope| {
                let strangers: Vec<_> = (0..STRANGERS)
                    .map(|number| {
                        let let_in = &let_in;
                        let stage = &stage;
                        scope.spawn(move || strange(stage, until, number, let_in))
                    })
                    .collect();
                strangers.into_iter().try_for_each(|stranger| stranger.join().expect("it does not panic"))
            })
        })?;
        let let_in = let_in.into_inner();
        println!("{let_in} strangers were let in");
        ensure!(let_in > 20, "there was no attack: {let_in}");
        Ok(outcome)
    })?;
    stage.holds("strangers at the broker", &outcome, AFTER)?;
    for reason in ["strangers", "topic", "qos_2"] {
        stage.says("broker", reason)?;
    }
    Ok(())
}

#[test]
fn four_strangers_at_most_are_there_and_none_when_the_window_is_closed() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set("")?;
    let port = stage.hub.broker_port();
    let mut strangers: Vec<Mqtt> = Vec::new();
    pairing(&stage, || {
        eventually("there are four", || {
            let (mut mqtt, code) = Mqtt::connect(port, &format!("s{}", strangers.len()), STRANGER)?;
            if code == 0 {
                // It has an attempt, so it may stay.
                let attempt = format!("gatepost/1/pair/{:016x}/down", strangers.len());
                ensure!(mqtt.subscribe(&attempt, 2)?);
                for filter in
                    ["#", "gatepost/#", "gatepost/1/pair/+/up", "gatepost/1/pair/000000000000ffff/down"]
                {
                    ensure!(!mqtt.subscribe(filter, 1)?, "{filter}");
                }
                strangers.push(mqtt);
            }
            ensure!(strangers.len() <= 4);
            Ok((strangers.len() == 4 && code == 3).then_some(()))
        })?;
        // One has to make room for whoever ends the attempt.
        strangers.pop();
        Ok(())
    })?;
    for mut stranger in strangers {
        ensure!(stranger.is_closed(), "it is still there");
    }
    eventually("all have left", || Ok((stage.metric("gatepost_broker_connections")? <= 2.0).then_some(())))?;
    stage.says("broker", "login_over")
}

/// A companion's login in hostile hands: floods, reads nothing, connects again and again, retains, asks for others' topics.
fn hostile(stage: &Stage, until: &Until, number: usize, topics: &Topics, login: (&str, &str)) -> Result<()> {
    let port = stage.hub.broker_port();
    let mut turn = number;
    while !until.over() {
        let Ok((mut mqtt, code)) = Mqtt::connect(port, &format!("h{number}"), login) else { continue };
        ensure!(code == 0, "{code}");
        ensure!(!mqtt.subscribe("#", 1).unwrap_or(false), "it may listen to all");
        // Nothing that comes is read from here on.
        let _ = mqtt.subscribe(&topics.down, 1);
        turn += 1;
        for id in 1..5_000 {
            let written = match turn % 5 {
                0 => publish(2, id, &topics.up, &[3; 4_000]),
                1 => publish(4, id, &topics.up, &[3; 4_000]),
                2 => publish(3, id, &topics.presence, &[b'1'; 4_000]),
                3 => publish(3, id, &format!("{}/{id}", topics.up), &[3; 4_000]),
                _ => publish(0, id, &topics.up, b""),
            };
            if mqtt.stream.write_all(&written).is_err() || until.over() {
                break;
            }
        }
    }
    Ok(())
}

#[test]
fn a_companions_login_in_hostile_hands_takes_no_memory_and_another_companion_is_served() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set("")?;
    drop(stage.pair("stolen")?);
    let bond = stage.bond("stolen")?;
    let topics = stage.topics("stolen")?;
    let login = (bond.user.as_str(), bond.password.as_str());
    let outcome = stage.under(|until| {
        thread::scope(|scope| {
            let (stage, topics) = (&stage, &topics);
            let hands: Vec<_> = (0..30)
                .map(|number| scope.spawn(move || hostile(stage, until, number, topics, login)))
                .collect();
            hands.into_iter().try_for_each(|hand| hand.join().expect("it does not panic"))
        })
    })?;
    stage.holds("a companion's login in hostile hands", &outcome, AFTER)?;
    for reason in ["replaced", "topic", "qos_2"] {
        stage.says("broker", reason)?;
    }
    Ok(())
}

#[test]
fn connections_that_say_nothing_keep_no_companion_out() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set("")?;
    drop(stage.pair("other")?);
    let came_back = AtomicUsize::new(0);
    let outcome = stage.under(|until| {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut open = Vec::new();
                while !until.over() {
                    if let Ok(mut mqtt) = Mqtt::open(stage.hub.broker_port()) {
                        let _ = mqtt.stream.write_all(&[0x10]);
                        open.push(mqtt);
                    }
                    if open.len() >= 500 {
                        open.clear();
                    }
                }
            });
            while !until.over() {
                drop(stage.come_back("other")?);
                came_back.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        })
    })?;
    println!("a companion came back {} times", came_back.load(Ordering::Relaxed));
    ensure!(came_back.into_inner() > 1, "it did not come back");
    stage.holds("connections to the broker that say nothing", &outcome, AFTER)?;
    stage.says("broker", "pending")
}
