//! Connections to the HTTP interface.

use std::{
    collections::VecDeque,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::eventually;
use serde_json::json;

use super::stage::{DURING, MIB, Stage, turn};

/// Connections of an agent that floods, open at once.
const OPEN: usize = 1_000;
/// Connections that trickle, open at once.
const TRICKLING: usize = 6_000;
/// Over idle, with a valid token.
const DURING_AS_AGENT: u64 = 48 * MIB;

fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("connecting")?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    Ok(stream)
}

#[test]
fn thousands_of_trickling_connections_take_no_memory_and_no_descriptors_and_agents_are_served() -> Result<()>
{
    let _turn = turn();
    let stage = Stage::set("")?;
    let port = stage.hub.port();
    let outcome = stage.under(|until| {
        let (mut open, mut opened) = (VecDeque::new(), 0);
        while !until.over() || opened < TRICKLING {
            if let Ok(mut stream) = connect(port) {
                // Of the largest head that is read, all but its end; a byte now and then keeps it alive.
                let _ = stream.write_all(b"POST /v1/messages HTTP/1.1\r\nHost: hub\r\nX-Long: ");
                let _ = stream.write_all(&vec![b'x'; 7_000]);
                open.push_back(stream);
                opened += 1;
            }
            if open.len() > TRICKLING {
                open.pop_front();
            }
            if let Some(stream) = open.get_mut(opened % TRICKLING) {
                let _ = stream.write_all(b"y");
            }
        }
        Ok(())
    })?;
    stage.holds("6,000 trickling connections", &outcome, DURING)?;
    ensure!(stage.metric("gatepost_http_connections")? < 512.0);
    stage.says("http", "pending")
}

#[test]
fn a_connection_that_says_nothing_is_closed_and_a_slow_head_too() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set("")?;
    let (mut silent, mut slow) = (connect(stage.hub.port())?, connect(stage.hub.port())?);
    let closed = |stream: &mut TcpStream| matches!(stream.read(&mut [0; 512]), Ok(0) | Err(_));
    silent.set_read_timeout(Some(Duration::from_secs(20)))?;
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            eventually("a slow head is not waited for", || {
                let gone = slow.write_all(b"G").is_err();
                thread::sleep(Duration::from_millis(500));
                Ok(gone.then_some(()))
            })
        });
        ensure!(closed(&mut silent), "it is still open");
        slow.join().expect("it does not panic")
    })?;
    stage.says("http", "head_time_out")
}

/// What an agent with a valid token does on a connection.
fn requests(token: &str, body: &str) -> Vec<Vec<u8>> {
    let head = |line: &str, rest: &str| {
        format!("{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\n{rest}\r\n").into_bytes()
    };
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    })
    .to_string();
    let length = |length: usize| format!("Content-Length: {length}\r\n");
    vec![
        // A body that does not come to its end.
        [head("POST /v1/messages", &length(250_000)), body.as_bytes().to_vec()].concat(),
        // A long answer that is not read.
        head("GET /v1/messages?limit=1000", "").repeat(20),
        head("GET /v1/events", ""),
        [head("POST /mcp", &length(initialize.len())), initialize.into_bytes()].concat().repeat(20),
        [head("POST /mcp", &length(250_000)), body.as_bytes().to_vec()].concat(),
        head("GET /openapi.json", "").repeat(20),
        [head("POST /v1/files", "Transfer-Encoding: chunked\r\n"), b"10000\r\n".to_vec()].concat(),
    ]
}

#[test]
fn a_thousand_connections_of_one_agent_are_served_up_to_a_bound_and_others_are_not_harmed() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set("")?;
    let hostile = stage.hub.agent("hostile")?;
    for _ in 0..200 {
        hostile
            .send(&json!({"to": "local:x", "message": "Something to list, with a text of some length."}))?;
    }
    let all = requests(hostile.token(), &"x".repeat(200_000));
    let port = stage.hub.port();
    // What is done for the first time takes memory that stays: of each kind one, before idle is measured.
    for request in &all {
        let mut stream = connect(port)?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        stream.write_all(request)?;
        let mut answer = [0; 16 * 1024];
        while matches!(stream.read(&mut answer), Ok(read) if read > 0) {}
    }
    let (turned_away, opened) =
        (std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0));
    let outcome = stage.under(|until| {
        use std::sync::atomic::Ordering::Relaxed;
        thread::scope(|scope| {
            for hand in 0..4_usize {
                let (all, turned_away, opened) = (&all, &turned_away, &opened);
                scope.spawn(move || {
                    let mut open: VecDeque<TcpStream> = VecDeque::new();
                    while !until.over() {
                        let Ok(mut stream) = connect(port) else { continue };
                        let number = opened.fetch_add(1, Relaxed);
                        let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
                        let _ = stream.write_all(&all[(number + hand) % all.len()]);
                        open.push_back(stream);
                        if open.len() > OPEN / 4
                            && let Some(mut oldest) = open.pop_front()
                        {
                            let mut answer = [0; 64];
                            let _ = oldest.set_read_timeout(Some(Duration::from_millis(1)));
                            let read = oldest.read(&mut answer).unwrap_or(0);
                            if answer[..read].starts_with(b"HTTP/1.1 429") {
                                turned_away.fetch_add(1, Relaxed);
                            }
                        }
                    }
                });
            }
        });
        Ok(())
    })?;
    let (opened, turned_away) = (opened.into_inner(), turned_away.into_inner());
    println!("{opened} connections, at least {turned_away} answered 429");
    ensure!(opened >= 1_000 && turned_away > 0, "there was no attack: {opened}, {turned_away}");
    stage.holds("1,000 connections of an agent", &outcome, DURING_AS_AGENT)?;
    stage.says("http", "caller")
}

#[test]
fn who_is_over_the_bound_is_told_when_to_come_back_and_others_go_on() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set("")?;
    let hostile = stage.hub.agent("hostile")?;
    let held = stage.held()?;
    let head = format!(
        "GET /v1/messages/{held}?wait=600 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        stage.careful_token()
    );
    let mut waiting = Vec::new();
    let refused = eventually("one is refused", || {
        let mut stream = connect(stage.hub.port())?;
        stream.write_all(head.as_bytes())?;
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        let mut answer = vec![0; 2_048];
        match stream.read(&mut answer) {
            Ok(read) => Ok(Some(String::from_utf8_lossy(&answer[..read]).into_owned())),
            // It waits, as it was asked to.
            Err(_) => {
                waiting.push(stream);
                Ok(None)
            }
        }
    })?;
    let lower = refused.to_lowercase();
    ensure!(
        refused.starts_with("HTTP/1.1 429 ")
            && lower.contains("retry-after: 2")
            && lower.contains("connection: close"),
        "{refused}"
    );
    ensure!((64..=128).contains(&waiting.len()), "{} wait", waiting.len());
    hostile.send(&json!({"to": "local:team", "message": "Another agent."}))?;
    waiting.pop();
    eventually("there is room again", || {
        let mut stream = connect(stage.hub.port())?;
        stream.write_all(head.as_bytes())?;
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        Ok(stream.read(&mut [0; 64]).is_err().then_some(()))
    })?;
    Ok(())
}
