//! The automatic path: a turn's text goes where the turn came from, its blocks to whom they name, and what is meant for nobody
//! to nobody.

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{
    Client, SpawnedHub, TestHub, agents, client::text, configuration::WEBHOOK_SECRET, secret,
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]
cross_context = "allow"
decorate = false

[agents.strict]
allow = ["local:*"]
cross_context = "allow"
decorate = false
blocks_only = true

[voice]
enabled = false

[book]
team = "local:colleagues"

[channels.local.home]
"#;

struct Fixture {
    hub: TestHub,
    agent: Client,
    context: String,
}

impl Fixture {
    async fn of(agent: &str) -> Result<Self> {
        let mut hub = TestHub::start(CONFIG).await?;
        let client = hub.agent(agent).await?;
        let context = hub.bridge("porch").await?.heard(agent, "ann")?;
        Ok(Self { hub, agent: client, context })
    }

    /// Hands a turn in; the answer, once all of it has arrived.
    fn reply(&self, turn: &Value) -> Result<Value> {
        let mut turn = turn.clone();
        turn["context"] = self.context.as_str().into();
        let answer = self.agent.post("/v1/reply", &turn)?.taken()?;
        for sent in answer["sent"].as_array().context("what was sent")? {
            if sent["id"].is_string() {
                self.agent.ended(text(sent, "id"), "sent")?;
            }
        }
        Ok(answer)
    }

    fn heard(&self, address: &str) -> Result<Vec<String>> {
        self.hub.arrived(address)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turns_text_goes_to_where_the_turn_came_from() -> Result<()> {
    let mut fixture = Fixture::of("engineer").await?;
    let answer =
        fixture.reply(&json!({"text": "All is **well**.<internal>or is it?</internal>\n\nHEARTBEAT_OK"}))?;
    ensure!(answer["ok"] == true, "{answer}");
    ensure!(fixture.heard("ann")? == ["All is well."], "{:?}", fixture.heard("ann")?);
    for quiet in ["NO_REPLY", "**HEARTBEAT_OK**", " ", "<internal>nothing</internal>"] {
        let answer = fixture.reply(&json!({"text": quiet}))?;
        ensure!(answer["ok"] == true && answer["sent"] == json!([]), "{quiet}: {answer}");
    }
    ensure!(fixture.heard("ann")?.len() == 1, "a quiet turn said something");
    fixture.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_go_to_whom_they_name_and_bare_text_beside_them_to_nobody() -> Result<()> {
    let mut fixture = Fixture::of("engineer").await?;
    let turn = "Let me see.\n<message to=\"team\">Tea?</message>\n<message to=\"local:ann\">Asked them.</message>\
                <message to=\"nobody-known\">Lost?</message>";
    let answer = fixture.reply(&json!({"text": turn}))?;
    ensure!(fixture.heard("colleagues")? == ["Tea?"], "{answer}");
    ensure!(fixture.heard("ann")? == ["Asked them."], "{answer}");
    let sent = answer["sent"].as_array().context("sent")?;
    // A name that is in no book is an address on the channel of the turn.
    ensure!(sent.len() == 3 && sent[2]["to"] == "local:nobody-known", "{answer}");
    let broken = fixture.reply(&json!({"text": "<message to=\"team\">never ends"}))?;
    ensure!(broken["ok"] == false && text(&broken, "hint").contains("</message>"), "{broken}");
    ensure!(text(&broken, "dropped").contains("never ends"), "{broken}");
    let beside = fixture.reply(&json!({"text": "Beside. <message to=\"elsewhere\">Here.</message>"}))?;
    ensure!(text(&beside, "dropped").trim() == "Beside.", "{beside}");
    ensure!(fixture.reply(&json!({"text": "NO_REPLY"}))?.get("dropped").is_none());
    ensure!(fixture.heard("colleagues")?.len() == 1, "a broken block was sent");
    // Nor do the words for one person go to another, who happens to be where the turn came from.
    for wrong in [
        "<message to=\"local:colleagues\">The code is 4711",
        "<message to=local:colleagues>The code is 4711</message>",
        "Well. <message to=\"local:colleagues\" account=\"home\">The code is 4711</message>",
        "<message to=\"local:colleagues\">The code is 4711</mesage> Yours.",
        "<message to=\"local:colleagues\"><message to=\"local:eve\">The code is 4711</message></message>",
    ] {
        let response = json!({"text": wrong, "attachments": [{"base64": "aGk="}]});
        for turn in [json!({"text": wrong}), json!({"response": response})] {
            let answer = fixture.reply(&turn)?;
            ensure!(answer["ok"] == false && answer["sent"] == json!([]), "{wrong}: {answer}");
            ensure!(answer["error"].is_string() && answer["hint"].is_string(), "{answer}");
        }
    }
    ensure!(fixture.heard("ann")? == ["Asked them."], "{:?}", fixture.heard("ann")?);
    fixture.reply(&json!({"text": "<Message to=\"team\">In capitals.</MESSAGE>"}))?;
    ensure!(fixture.heard("colleagues")?.last().is_some_and(|last| last == "In capitals."));
    // Words about blocks are words.
    fixture.reply(&json!({"text": "Write `<message to=\"…\">`."}))?;
    ensure!(fixture.heard("ann")?.last().is_some_and(|last| last.contains("<message to=")));
    fixture.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn in_block_mode_bare_text_is_scratch_paper() -> Result<()> {
    let mut fixture = Fixture::of("strict").await?;
    let answer = fixture.reply(&json!({"text": "Only thinking."}))?;
    ensure!(answer["sent"] == json!([]) && fixture.heard("ann")?.is_empty(), "{answer}");
    ensure!(answer["dropped"] == "Only thinking." && answer["ok"] == true, "{answer}");
    let answer = fixture.reply(&json!({"text": "Thinking. <message to=\"ann\">Done.</message>"}))?;
    ensure!(text(&answer, "dropped").trim() == "Thinking.", "{answer}");
    ensure!(fixture.heard("ann")? == ["Done."], "{:?}", fixture.heard("ann")?);
    fixture.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_the_only_source_and_a_transition_sends_nothing() -> Result<()> {
    let mut fixture = Fixture::of("engineer").await?;
    let response = json!({"text": "The response.", "voiceRequested": true, "voiceText": "Spoken."});
    let answer = fixture.reply(&json!({"text": "The text.", "response": response}))?;
    ensure!(fixture.heard("ann")? == ["The response."], "{answer}");
    // Nothing speaks here; the words are not lost, and whoever asked is told.
    ensure!(text(&answer, "voice").contains("text"), "{answer}");
    let spoken = json!({"response": {"voiceRequested": true, "voiceText": "Only spoken."}});
    fixture.reply(&spoken)?;
    ensure!(
        fixture.heard("ann")?.last().is_some_and(|last| last == "Only spoken."),
        "{:?}",
        fixture.heard("ann")?
    );
    // An empty response is one, and it says nothing.
    for nothing in [json!({}), json!({"text": " "}), json!({"text": "NO_REPLY", "voiceRequested": true})] {
        let answer = fixture.reply(&json!({"text": "The text.", "response": nothing}))?;
        ensure!(answer["sent"] == json!([]) && answer["quiet"].is_string(), "{answer}");
    }
    // A file as the seeds' runners have it.
    let shot = json!({"type": "IMAGE", "data": "aGk=", "filename": "shot.txt", "mimeType": "text/plain"});
    let response = json!({"text": "Here it is", "voiceText": null, "attachments": [shot]});
    let answer = fixture.reply(&json!({"response": response}))?;
    ensure!(answer["ok"] == true && answer["sent"][0]["attachments"][0]["name"] == "shot.txt", "{answer}");
    // A wrong file takes neither the words nor the other files with it.
    let wrong = [json!({"type": "IMAGE", "data": "?"}), shot, json!({"data": "aGk=", "size": 2})];
    let answer = fixture.reply(&json!({"response": {"text": "Here again", "attachments": wrong}}))?;
    let became: Vec<&Value> =
        answer["sent"].as_array().context("sent")?.iter().map(|one| &one["ok"]).collect();
    ensure!(answer["ok"] == false && became == [true, false, true, false], "{answer}");
    ensure!(text(&answer["sent"][1], "error").contains("\"data\" is not base64"), "{answer}");
    ensure!(text(&answer["sent"][3], "error").contains("\"size\""), "{answer}");
    ensure!(fixture.heard("ann")?.iter().filter(|heard| heard.contains("Here again")).count() == 1);
    let before = fixture.heard("ann")?.len();
    let response = json!({"text": "Leaving too.", "attachments": [{"base64": "aGk="}]});
    let away = fixture.reply(&json!({"response": response, "skillTransition": true}))?;
    ensure!(away["ok"] == true && away["sent"] == json!([]), "{away}");
    let away = fixture.reply(&json!({"text": "Leaving.", "skillTransition": {"to": "other"}}))?;
    ensure!(away["sent"] == json!([]) && fixture.heard("ann")?.len() == before, "{away}");
    let history = fixture.agent.post(
        "/v1/reply",
        &json!({"context": fixture.context, "response": {"text": "x", "skipAssistantHistory": false}}),
    )?;
    ensure!(history.status == 400 && history.body["reason"] == "history", "{history:?}");
    let foreign = fixture.agent.post("/v1/reply", &json!({"context": "gpc_00", "text": "x"}))?;
    ensure!(foreign.status == 403, "{foreign:?}");
    fixture.hub.stop().await;
    Ok(())
}

/// Reports what somebody wrote to `agent`; the context to answer with.
fn wrote(bridge: &Client, agent: &str, peer: &str, thread: &str, message: &str) -> Result<String> {
    let report = json!({
        "agent": agent, "channel": "local", "peer": peer, "threadId": thread, "messageId": message, "text": "And?",
    });
    let answer = bridge.post("/v1/inbound", &report)?.taken()?;
    Ok(text(&answer, "context").to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turns_text_stays_in_its_thread_and_a_block_answers_the_latest_that_was_heard_there() -> Result<()>
{
    let mut fixture = Fixture::of("engineer").await?;
    let yard = fixture.hub.bridge("yard").await?;
    fixture.context = wrote(&yard, "engineer", "ann", "t5", "m5")?;
    wrote(&yard, "engineer", "colleagues", "t1", "m1")?;
    wrote(&yard, "engineer", "colleagues", "t2", "m2")?;
    // What another agent heard there is none of this one's business.
    wrote(&yard, "strict", "colleagues", "t3", "m3")?;
    wrote(&yard, "engineer", "ann", "t6", "m6")?;

    let answer = fixture.reply(&json!({"text": "To where it came from."}))?;
    ensure!(answer["sent"][0]["to"] == "local:ann#t5", "{answer}");

    let turn = "<message to=\"team\">Heard.</message><message to=\"bob\">Never heard of.</message>\
                <message to=\"local:colleagues#t7\">Elsewhere.</message>\
                <message to=\"local:colleagues#t1\">To the first.</message>\
                <message to=\"current\">To mine.</message>";
    let answer = fixture.reply(&json!({"text": turn}))?;
    let message = |n: usize| fixture.agent.message(text(&answer["sent"][n], "id"));
    let (heard, never, elsewhere) = (message(0)?, message(1)?, message(2)?);
    ensure!(heard["to"] == "local:colleagues#t2" && heard["reply_to"] == "m2", "{heard}");
    ensure!(never["to"] == "local:bob" && never["reply_to"].is_null(), "{never}");
    ensure!(elsewhere["to"] == "local:colleagues#t7", "a thread that is named is kept: {elsewhere}");
    ensure!(elsewhere["reply_to"].is_null(), "and nothing of another thread is answered there: {elsewhere}");
    let (first, mine) = (message(3)?, message(4)?);
    ensure!(first["to"] == "local:colleagues#t1" && first["reply_to"] == "m1", "{first}");
    ensure!(mine["to"] == "local:ann#t5" && mine["reply_to"] == "m5", "not to what came later: {mine}");
    fixture.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_answers_what_its_own_session_heard() -> Result<()> {
    let mut fixture = Fixture::of("engineer").await?;
    let yard = fixture.hub.bridge("yard").await?;
    let heard = |session: &str, thread: &str, message: &str| {
        let report = json!({
            "agent": "engineer", "channel": "local", "peer": "ann", "threadId": thread, "messageId": message,
            "session": session, "text": "And?",
        });
        Ok::<_, anyhow::Error>(text(&yard.post("/v1/inbound", &report)?.taken()?, "context").to_owned())
    };
    let first = heard("a", "t1", "m101")?;
    let second = heard("b", "t2", "m202")?;
    for (context, to, answers) in [(first, "local:ann#t1", "m101"), (second, "local:ann#t2", "m202")] {
        fixture.context = context;
        for block in ["local:ann", "current"] {
            let turn = format!("<message to=\"{block}\">{block} {answers}</message>");
            let sent = fixture.reply(&json!({"text": turn}))?;
            let sent = fixture.agent.message(text(&sent["sent"][0], "id"))?;
            ensure!(sent["to"] == to && sent["reply_to"] == answers, "{block}: {sent}");
        }
    }
    fixture.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_accounts_the_one_that_heard_answers() -> Result<()> {
    let mut fixture = Fixture::of("engineer").await?;
    fixture.hub.restart_with(&format!("{CONFIG}\n[channels.local.work]\n")).await?;
    fixture.agent = fixture.hub.agent("engineer").await?;
    let yard = fixture.hub.bridge("yard").await?;
    let wrote = |account: &str, peer: &str, message: &str| {
        let report = json!({
            "agent": "engineer", "channel": "local", "accountId": account, "peer": peer, "messageId": message,
            "text": "And?",
        });
        Ok::<_, anyhow::Error>(text(&yard.post("/v1/inbound", &report)?.taken()?, "context").to_owned())
    };
    wrote("work", "colleagues", "m7")?;
    fixture.context = wrote("home", "ann", "m8")?;
    let blocks = "<message to=\"team\">A</message><message to=\"ann\">B</message>\
                  <message to=\"bob\">C</message><message to=\"current\">D</message>";
    let answer = fixture.reply(&json!({"text": blocks}))?;
    for (n, (account, answers)) in
        [("work", json!("m7")), ("home", json!("m8")), ("home", json!(null)), ("home", json!("m8"))]
            .into_iter()
            .enumerate()
    {
        let sent = fixture.agent.message(text(&answer["sent"][n], "id"))?;
        ensure!(sent["account"] == account && sent["reply_to"] == answers, "{n}: {sent}");
    }
    // A call of the tool goes on by the account of its turn as well.
    let call = json!({"to": "bob", "message": "E", "context": fixture.context});
    let receipt = fixture.agent.post("/v1/messages", &call)?.taken()?;
    let sent = fixture.agent.message(text(&receipt, "id"))?;
    ensure!(sent["account"] == "home", "{sent}");
    fixture.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_words_that_say_nothing_are_the_houses_own() -> Result<()> {
    let mut fixture = Fixture::of("engineer").await?;
    fixture.hub.restart_with(&format!("{CONFIG}\n[reply]\nquiet = [\"ALL_QUIET\"]\n")).await?;
    // A restart brings other addresses.
    fixture.agent = fixture.hub.agent("engineer").await?;
    let answer = fixture.reply(&json!({"text": "ALL_QUIET"}))?;
    ensure!(answer["sent"] == json!([]), "{answer}");
    fixture.reply(&json!({"text": "NO_REPLY"}))?;
    fixture.reply(&json!({"text": "The door is open. ALL_QUIET"}))?;
    ensure!(fixture.heard("ann")? == ["NO_REPLY", "The door is open."], "{:?}", fixture.heard("ann")?);
    fixture.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_sent_becomes_something_that_the_agent_was_told() -> Result<()> {
    let mut fixture = Fixture::of("engineer").await?;
    let count = |fixture: &Fixture, table: &str| -> Result<i64> {
        let sql = format!("SELECT count(*) FROM {table}");
        Ok(fixture.hub.database()?.query_row(&sql, [], |row| row.get(0))?)
    };
    let before = (count(&fixture, "inbound")?, count(&fixture, "contexts")?, count(&fixture, "inbox")?);
    fixture.reply(&json!({"text": "First.<message to=\"team\">Second.</message>"}))?;
    fixture.reply(&json!({"response": {"text": "Third.", "skipAssistantHistory": true}}))?;
    let after = (count(&fixture, "inbound")?, count(&fixture, "contexts")?, count(&fixture, "inbox")?);
    ensure!(before == after, "{before:?} became {after:?}");
    // What the hub keeps is a transcript of its own: what arrived, and nothing that was only thought.
    let said = fixture.agent.get("/v1/transcript")?.taken()?;
    let said: Vec<&str> = said["said"]
        .as_array()
        .context("said")?
        .iter()
        .filter_map(|said| said["parts"][0].as_str())
        .collect();
    ensure!(said == ["Second.", "Third."], "{said:?}");
    fixture.hub.stop().await;
    Ok(())
}

#[test]
fn scratch_paper_is_logged_without_what_is_internal() -> Result<()> {
    let mut hub = SpawnedHub::start(CONFIG)?;
    let agent = hub.agent("strict")?;
    let context = hub.operator()?.heard("strict", "ann")?;
    let turn = json!({"context": context, "text": "Only thinking aloud.<internal>And not aloud.</internal>"});
    let answer = agent.post("/v1/reply", &turn)?.taken()?;
    ensure!(answer["sent"] == json!([]), "{answer}");
    hub.terminate()?;
    let log = hub.log()?;
    ensure!(log.contains("Only thinking aloud."), "{log}");
    ensure!(!log.contains("And not aloud"), "{log}");
    Ok(())
}

/// Of a destination that nobody has written from, the session's own route says by which account.
#[test]
fn a_block_to_a_place_that_was_never_heard_goes_by_the_account_of_its_session() -> Result<()> {
    let secrets = tempfile::tempdir()?;
    let secret = secret(secrets.path(), "porch", WEBHOOK_SECRET)?;
    let config = format!(
        "[agents.engineer]\nallow = [\"local:*\"]\ncross_context = \"allow\"\ndecorate = false\n\
         [channels.local.cellar]\n[channels.local.upstairs]\n[channels.webhook.porch]\n\
         url = \"http://127.0.0.1:9/hook\"\nsecret = {secret}\n"
    );
    let hub = SpawnedHub::start(&config)?;
    let (agent, operator) = (hub.agent("engineer")?, hub.operator()?);
    let heard = |channel: &str, account: &str, peer: &str, session: &str| {
        let report = json!({
            "agent": "engineer", "channel": channel, "accountId": account, "peer": peer, "session": session, "text": "And?",
        });
        let issued = operator.post("/v1/inbound", &report)?.taken()?;
        Ok::<_, anyhow::Error>(text(&issued, "context").to_owned())
    };
    heard("local", "upstairs", "ann", "main")?;
    heard("local", "cellar", "cat", "other")?;
    let context = heard("webhook", "porch", "bell", "main")?;
    let turn = json!({"context": context, "text": "<message to=\"local:bob\">Tea?</message>"});
    let answer = agent.post("/v1/reply", &turn)?.taken()?;
    let sent = agent.ended(text(&answer["sent"][0], "id"), "sent")?;
    ensure!(sent["to"] == "local:bob" && sent["account"] == "upstairs", "{sent}");

    // A session that has heard nothing on that channel has no route there: the call has to say by which account.
    let context = heard("webhook", "porch", "bell", "third")?;
    let turn = json!({"context": context, "text": "<message to=\"local:bob\">Milk?</message>"});
    let answer = agent.post("/v1/reply", &turn)?.taken()?;
    ensure!(text(&answer["sent"][0], "error").contains("several accounts"), "{answer}");
    Ok(())
}

/// In a debug build a hub panics if one of its runtime threads works on a long text, and the call is cut off.
#[test]
fn many_long_texts_at_once_are_read_and_rendered_while_the_hub_answers_others() -> Result<()> {
    const AT_ONCE: usize = 8;
    let hub = SpawnedHub::start(&agents("limit = 4096"))?;
    let agent = hub.agent("courier")?;
    let context = hub.operator()?.heard("courier", "ann")?;
    let long = "A **long** text, of [links](https://a.example/b) and `code`. ".repeat(1_600);
    ensure!(long.len() > 90_000 && long.len() < 100 * 1024, "{}", long.len());
    let dry_run = json!({"to": "local:ann", "message": long, "dryRun": true});
    let turn = json!({"context": context, "text": format!("<message to=\"local:team\">{long}</message>")});
    std::thread::scope(|scope| {
        let mut calls = Vec::new();
        for n in 0..AT_ONCE {
            let (agent, dry_run, turn) = (agent.clone(), &dry_run, &turn);
            calls.push(scope.spawn(move || match n % 2 {
                0 => agent.post("/v1/messages", dry_run)?.taken(),
                _ => agent.post("/v1/reply", turn)?.taken(),
            }));
        }
        for _ in 0..AT_ONCE {
            ensure!(agent.get("/healthz")?.status == 200);
        }
        for call in calls {
            let answer = call.join().expect("it asks and checks")?;
            ensure!(answer["ok"] == true, "{answer}");
        }
        Ok(())
    })
}
