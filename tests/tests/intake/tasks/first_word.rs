//! An agent writes first: what is answered lands in the session that it opened, and both stand in its transcript.

use anyhow::{Result, ensure};
use gatepost_tests::hub::{Client, SpawnedHub, client::text};
use serde_json::json;

use super::{config, end, next_turn, writes};

/// What was said in a session: who, and what.
fn lines(agent: &Client, session: &str) -> Result<Vec<(bool, String)>> {
    let path = format!("/v1/sessions/transcript?session={}", session.replace('/', "%2F").replace(':', "%3A"));
    let answer = agent.get(&path)?.taken()?;
    let lines = answer["lines"].as_array().cloned().unwrap_or_default();
    Ok(lines.iter().map(|line| (line["mine"] == true, text(line, "text").to_owned())).collect())
}

#[test]
fn what_is_answered_to_an_agents_first_word_is_in_the_session_that_it_opened() -> Result<()> {
    for (mode, named) in [("shared", "local/home:ann"), ("agent-shared", "route:home")] {
        let hub = SpawnedHub::start(&config(mode))?;
        let (agent, bridge) = (hub.agent("engineer")?, hub.bridge("porch")?);
        let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": "The roof leaks."}))?;
        ensure!(sent["state"] == "sent", "{sent}");
        let said = agent.get("/v1/transcript")?.taken()?;
        let session = text(&said["said"][0], "session").to_owned();
        ensure!(session == named, "{said}");
        let sessions = agent.get("/v1/sessions")?.taken()?;
        let opened = &sessions["sessions"][0];
        ensure!(opened["session"] == json!(session) && opened["opened_by"] == "agent", "{sessions}");

        writes(&bridge, "ann", "Which corner?")?;
        let turn = next_turn(&agent)?;
        ensure!(turn["session"] == json!(session), "{turn}");
        let answered = end(&agent, &turn, "The north one.")?;
        agent.ended(text(&answered["sent"][0], "id"), "sent")?;
        let all = [(true, "The roof leaks."), (false, "Which corner?"), (true, "The north one.")];
        let all = all.map(|(mine, words)| (mine, words.to_owned()));
        let said = lines(&agent, &session)?;
        ensure!(said == all, "{said:?}");
        let shown = hub.cli(&["sessions", "show", "engineer", &session])?.well()?;
        ensure!(all.iter().all(|(_, words)| shown.contains(words)), "{shown}");
    }
    Ok(())
}

#[test]
fn what_leaves_a_turn_is_said_in_the_session_of_whom_it_goes_to() -> Result<()> {
    let hub = SpawnedHub::start(&config("shared"))?;
    let (agent, bridge) = (hub.agent("engineer")?, hub.bridge("porch")?);
    writes(&bridge, "ann", "Tell Bob.")?;
    let turn = next_turn(&agent)?;
    let call = json!({"to": "local:bob", "message": "From Ann: hello.", "context": turn["context"]});
    agent.send_and_wait(&call)?;
    ensure!(
        lines(&agent, "local/home:ann")? == [(false, "Tell Bob.".to_owned())],
        "Bob's words are not Ann's"
    );
    ensure!(lines(&agent, "local/home:bob")? == [(true, "From Ann: hello.".to_owned())]);
    Ok(())
}

#[test]
fn a_stranger_who_answers_is_a_stranger_still() -> Result<()> {
    let hub = SpawnedHub::start(&config("shared"))?;
    let (agent, bridge) = (hub.agent("engineer")?, hub.bridge("porch")?);
    agent.send_and_wait(&json!({"to": "local:mallory", "message": "Your parcel is here."}))?;
    writes(&bridge, "mallory", "Now write to Ann.")?;
    let turn = next_turn(&agent)?;
    ensure!(turn["session"] == "local/home:mallory", "{turn}");
    ensure!(turn["items"][0]["sender"]["scope"] == turn["scope"], "{turn}");
    let call = json!({"to": "local:ann", "message": "From Mallory.", "context": turn["context"]});
    let refused = agent.post("/v1/messages", &call)?;
    ensure!(turn["scope"] == "unknown" && refused.status == 403, "{turn} {refused:?}");
    Ok(())
}

#[test]
fn what_did_not_arrive_is_in_no_transcript() -> Result<()> {
    let config = config("shared").replace("cross_context = \"allow\"\n", "");
    let hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("engineer")?;
    let held = agent.send(&json!({"to": "local:ann", "message": "Nobody let this go."}))?;
    ensure!(held["state"] == "held", "{held}");
    agent.post(&format!("/v1/messages/{}/cancel", text(&held, "id")), &json!({}))?.taken()?;
    ensure!(lines(&agent, "local/home:ann")?.is_empty());
    ensure!(agent.get("/v1/transcript")?.taken()?["said"] == json!([]));
    Ok(())
}
