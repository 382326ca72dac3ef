//! Signal: with the real signal-cli, which has no account here and says so, and with a mock that has one.
//!
//! Installed by `tests/run --setup-only`: signal-cli.

use gatepost::channels::envelope::Envelope;
use std::sync::{PoisonError, atomic::Ordering};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{Client, SpawnedHub, TestHub, agents_on, client::text, eventually},
    main_job,
    mocks::{Answer, MockServer, signal},
    peers::SignalCli,
};
use serde_json::{Value, json};

fn channel(url: &str) -> String {
    format!("[channels.signal.home]\nurl = \"{url}\"\naccount = \"{}\"\n", signal::ACCOUNT)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_daemon_knows_every_request_and_says_that_it_has_no_account() -> Result<()> {
    let daemon = SignalCli::start()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&daemon.base_url()))).await?;
    let agent = fixture.agent("courier").await?;
    let to = "signal:+4915112345679";
    fixture.operator()?.heard_there("courier", ("signal", "+4915112345679"), "1700000000000")?;
    let calls = [
        json!({"to": to, "message": "The **oven** is on.", "replyTo": "1700000000000"}),
        json!({"to": "signal:group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=", "message": "Hello"}),
        json!({"to": to, "attachments": [{"base64": "aGVsbG8=", "name": "a.txt"}]}),
        json!({"action": "react", "to": to, "messageId": "1700000000000", "emoji": "👍"}),
        json!({"action": "edit", "to": to, "messageId": "1700000000000", "message": "Better"}),
        json!({"action": "delete", "to": to, "messageId": "1700000000000"}),
    ];
    for call in calls {
        // A method that it did not know would be -32601, whatever the account.
        let failed = agent.send_and_wait(&call)?;
        ensure!(failed["state"] == "failed", "{failed}");
        ensure!(text(&failed, "error").contains("signal-cli has no account +4915112345678"), "{failed}");
    }
    // It is older than polls are.
    let poll = json!({"action": "poll", "to": to, "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]});
    let refused = agent.post("/v1/messages", &poll)?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("since 0.13.23"), "{refused:?}");
    // The longest file that the adapter takes is one that the daemon reads.
    let file = "A".repeat(14 * 1024 * 1024 / 3 * 4);
    let long = json!({"jsonrpc": "2.0", "id": "1", "method": "send", "params": {
        "account": signal::ACCOUNT, "recipient": ["+4915112345679"], "attachment": [format!("data:a/b;base64,{file}")],
    }});
    let mut answer = ureq::post(format!("{}/api/v1/rpc", daemon.base_url()))
        .header("content-type", "application/json")
        .send(long.to_string())?;
    let answer: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
    ensure!(answer["error"]["code"] == -32602, "{answer}");

    let ready =
        SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel(&daemon.base_url()))?.cli(&["check"])?;
    ensure!(ready.status == 1 && ready.stdout.contains("signal-cli has no account"), "{ready:?}");
    Ok(())
}

/// The real daemon has no account, and so no stream of one: a mock that has one hands the real stream through. It begins with a
/// keepalive, which is all that it has.
#[tokio::test(flavor = "multi_thread")]
async fn the_stream_of_the_real_daemon_is_listened_to() -> Result<()> {
    let daemon = SignalCli::start()?;
    let receiving = |url: &str| format!("{}receive = true\n", channel(url));
    let (server, mock) = signal::start_with()?;
    // For longer than ten seconds: so long an answer about the channels is kept.
    for _ in 0..5 {
        server.next_for("/api/v1/events", Answer::Says(500, Value::Null));
    }
    let fixture = TestHub::start(&agents_on("signal", &receiving(&server.url()))).await?;
    let said = |fixture: &TestHub| -> Result<String> {
        let told = fixture.operator()?.get("/v1/channels?fresh=true")?.body;
        Ok(text(&told["channels"][0], "said").to_owned())
    };
    eventually("it says why nothing comes", || {
        Ok(said(&fixture)?.contains("signal-cli answered 500 to who listens").then_some(()))
    })?;
    mock.stream.hand_through(daemon.base_url().trim_start_matches("http://"));
    let before = mock.stream.asked().len();
    eventually("it listens", || Ok((!said(&fixture)?.contains("nothing is received")).then_some(())))?;
    ensure!(mock.stream.asked().len() <= before + 2, "it is no stream to it: {:?}", mock.stream.asked());

    // Asked for an account that it does not have, the real one says no.
    let fixture = TestHub::start(&agents_on("signal", &receiving(&daemon.base_url()))).await?;
    let told = fixture.operator()?.get("/v1/channels")?.body;
    ensure!(text(&told["channels"][0], "said").contains("has no account +4915112345678"), "{told}");
    let address = daemon.base_url();
    let stream = ureq::get(format!("{address}/api/v1/events?account=%2B4915112345678")).call();
    ensure!(matches!(stream, Err(ureq::Error::StatusCode(400))), "{stream:?}");
    Ok(())
}

/// What it was asked to do, without questions.
fn done(server: &MockServer) -> Vec<Value> {
    let all = server.heard().iter().map(|request| request.json()).collect::<Vec<Value>>();
    let asks = [
        "listAccounts",
        "listDevices",
        "listContacts",
        "getUserStatus",
        "listIdentities",
        "version",
        "receive",
    ];
    let does = |call: &Value| !asks.iter().any(|method| call["method"] == *method);
    all.into_iter().filter(does).collect()
}

/// Started with `-a` it would send as that account, whatever account is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_handed_to_a_daemon_for_one_account() -> Result<()> {
    let (server, mock) = signal::start_with()?;
    mock.for_one.store(true, Ordering::Relaxed);
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let agent = fixture.agent("courier").await?;
    let failed = agent.send_and_wait(&json!({"to": "signal:+4915112345679", "message": "As whom?"}))?;
    ensure!(failed["state"] == "failed" && text(&failed, "error").contains("without -a"), "{failed}");
    ensure!(done(&server).is_empty(), "it was handed over");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_as_it_was_shown_and_a_denied_one_does_not() -> Result<()> {
    let server = signal::start()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let agent = fixture.agent("engineer").await?;
    let to = "signal:+49 151 12345679";

    let held = agent.send(&json!({"to": to, "message": main_job::report()}))?;
    ensure!(held["state"] == "held" && done(&server).is_empty(), "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let heard = done(&server);
    ensure!(heard.len() == parts.len(), "{} requests for {} parts", heard.len(), parts.len());
    for (n, (part, call)) in parts.iter().zip(&heard).enumerate() {
        let wire = Envelope::read(&part.request)?.request;
        ensure!(wire["method"] == call["method"] && wire["params"] == call["params"], "{wire} and {call}");
        let id = (signal::BEGINS + n as u64).to_string();
        ensure!(text(&sent["parts"][n], "platform_id") == id, "{sent}");
    }
    let held = agent.send(&json!({"to": to, "message": "The door code is 4711."}))?;
    fixture.decide(Verdict::Deny).await?;
    agent.ended(text(&held, "id"), "denied")?;
    ensure!(done(&server).len() == parts.len());
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_edit_names_the_newest_revision_and_keeps_the_quote() -> Result<()> {
    let server = signal::start()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let agent = fixture.agent("courier").await?;
    let to = "signal:+4915112345679";
    let heard = "+4915112345679/1600000000000";
    fixture.operator()?.heard_there("courier", ("signal", "+4915112345679"), heard)?;
    let id = |sent: &Value| -> Result<u64> {
        ensure!(sent["state"] == "sent", "{sent}");
        Ok(text(&sent["parts"][0], "platform_id").parse()?)
    };
    let last = || done(&server).pop().map(|call| call["params"].clone()).unwrap_or_default();
    let first = id(&agent.send_and_wait(&json!({"to": to, "message": "One.", "replyTo": heard}))?)?;
    let edit = |agent: &Client, message: u64, text: &str| {
        let call = json!({"action": "edit", "to": to, "messageId": message.to_string(), "message": text});
        id(&agent.send_and_wait(&call)?)
    };
    let mut newest = first;
    // By the first message's id, by a revision's, and over a restart.
    for (n, named) in [0, 0, 1, 1].into_iter().enumerate() {
        if n == 3 {
            fixture.restart().await?;
        }
        let agent = fixture.agent("courier").await?;
        let named = if named == 0 { first } else { newest };
        let revision = edit(&agent, named, &format!("Number {n}."))?;
        let sent = last();
        ensure!(sent["editTimestamp"] == newest, "it names {}, not {newest}", sent["editTimestamp"]);
        ensure!(sent["quoteTimestamp"] == 1_600_000_000_000_u64, "it has lost its quote: {sent}");
        ensure!(revision > newest, "the receipt has the older revision: {revision}");
        newest = revision;
    }
    let agent = fixture.agent("courier").await?;
    edit(&agent, first, "By its first id again.")?;
    ensure!(last()["editTimestamp"] == newest, "{}", last());
    let delete = json!({"action": "delete", "to": to, "messageId": first.to_string()});
    id(&agent.send_and_wait(&delete)?)?;
    ensure!(last()["targetTimestamp"] == newest + 1, "{}", last());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoiler_is_hidden_in_its_message_and_in_what_quotes_it() -> Result<()> {
    let server = signal::start()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let agent = fixture.agent("courier").await?;
    let to = "signal:+4915112345679";
    let sent = agent.send_and_wait(&json!({"to": to, "message": "It was ||the **butler**||, a | b."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let id = text(&sent["parts"][0], "platform_id");
    let answer = agent.send_and_wait(&json!({"to": to, "message": "Oh.", "replyTo": id}))?;
    ensure!(answer["state"] == "sent", "{answer}");
    let params: Vec<Value> = done(&server).iter().map(|call| call["params"].clone()).collect();
    ensure!(params[0]["message"] == "It was the butler, a | b.", "{}", params[0]);
    let styles = json!(["7:10:SPOILER", "11:6:BOLD"]);
    ensure!(params[0]["textStyle"] == styles, "{}", params[0]);
    ensure!(params[1]["quoteMessage"] == "It was (spoiler), a | b.", "{}", params[1]);
    let shown = json!("It was (spoiler) ||the butler||, a | b.");
    let dry = agent.post(
        "/v1/messages",
        &json!({"to": to, "message": "It was ||the **butler**||, a | b.", "dryRun": true}),
    )?;
    ensure!(dry.body.to_string().contains(&shown.to_string()), "{dry:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_approved_is_called_where_the_name_stands_and_in_an_edit_too() -> Result<()> {
    let server = signal::start()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let agent = fixture.agent("engineer").await?;
    let to = "signal:group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";
    let ann = "aaaaaaaa-0000-4000-8000-00000000000b";
    let words = format!("**[Ann](mention:{ann})**, the oven! @all");
    let held = agent.send(&json!({"to": to, "message": words}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    ensure!(seen.pages.concat().contains("[notifies]"), "{seen:?}");
    let sent = agent.ended(text(&held, "id"), "sent")?;
    main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let params = |n: usize| done(&server)[n]["params"].clone();
    ensure!(params(0)["message"] == "[engineer] @Ann, the oven! @all", "{}", params(0));
    ensure!(params(0)["mention"] == json!([format!("11:4:{ann}")]), "{}", params(0));
    let courier = fixture.agent("courier").await?;
    let id = text(&sent["parts"][0], "platform_id");
    let edit =
        json!({"action": "edit", "to": to, "messageId": id, "message": "🔥 [Bob](mention:+4915112345679)!"});
    let edited = courier.send_and_wait(&edit)?;
    ensure!(edited["state"] == "sent", "{edited}");
    // In UTF-16 units, of which the sign before it has two.
    let before = text(&params(1), "message").split_once("@Bob").context("a name")?.0.encode_utf16().count();
    ensure!(params(1)["mention"] == json!([format!("{before}:4:+4915112345679")]), "{}", params(1));
    let refused = agent.post("/v1/messages", &json!({"to": to, "message": "[all](mention:group:x)"}))?;
    ensure!(refused.body["reason"] == "bad_mention", "{refused:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_replies_and_all_that_is_done_to_a_message_are_what_signal_cli_takes() -> Result<()> {
    let server = signal::start()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let agent = fixture.agent("courier").await?;
    let to = "signal:+4915112345679";
    let answer = json!({"to": to, "message": "Hm?", "replyTo": "+4915112345679/1700000000000"});
    let refused = agent.post("/v1/messages", &answer)?;
    ensure!(refused.body["reason"] == "message_elsewhere", "nobody knows where that is: {refused:?}");
    // As a bridge may have it: the time alone.
    fixture.operator()?.heard_there("courier", ("signal", "+4915112345679"), "1700000000000")?;
    let sent = agent.send_and_wait(&json!({
        "to": to,
        "message": "See 👨‍👩‍👧 **both** and `code`:",
        "replyTo": "+4915112345679/1700000000000",
        "attachments": [{"base64": "aGVsbG8=", "name": "ä b.txt", "caption": "*the* list"}],
    }))?;
    ensure!(sent["state"] == "sent" && sent["sent"] == "2 of 2", "{sent}");
    let params: Vec<Value> = done(&server).iter().map(|call| call["params"].clone()).collect();
    ensure!(params[0]["quoteAuthor"] == "+4915112345679" && params[1]["quoteAuthor"].is_null(), "{params:?}");
    ensure!(
        params[1]["message"] == "the list" && params[1]["textStyle"] == json!(["0:3:ITALIC"]),
        "{params:?}"
    );
    let id = text(&sent["parts"][0], "platform_id");
    for call in [
        json!({"action": "react", "to": to, "messageId": id, "emoji": "👍"}),
        json!({"action": "edit", "to": to, "messageId": id, "message": "See _this_"}),
        json!({"action": "delete", "to": to, "messageId": id}),
    ] {
        let done = agent.send_and_wait(&call)?;
        ensure!(done["state"] == "sent", "{done}");
    }
    let poll = json!({"action": "poll", "to": to, "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]});
    let asked = agent.send_and_wait(&poll)?;
    ensure!(asked["state"] == "sent", "{asked}");
    let last = server.heard().pop().map(|request| request.json()).unwrap_or_default();
    ensure!(last["method"] == "sendPollCreate" && last["params"]["noMulti"] == true, "{last}");
    let refused = agent.post("/v1/messages", &json!({"action": "pin", "to": to, "messageId": id}))?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("reply"), "{refused:?}");

    // What was asked for is not sent twice where nobody knows; what is done to a message may be done again.
    server.next([Answer::Lost]);
    let unknown = agent.send_and_wait(&json!({"to": to, "message": "Once."}))?;
    ensure!(unknown["state"] == "unknown", "{unknown}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_signal_is_away_a_message_waits_and_the_account_is_not_ready() -> Result<()> {
    let (server, mock) = signal::start_with()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let agent = fixture.agent("courier").await?;
    mock.away.store(true, Ordering::Relaxed);
    let ready = agent.get("/v1/channels")?;
    let said = &ready.body["channels"][0];
    ensure!(said["ready"] == false && text(said, "said").contains("Signal cannot be reached"), "{ready:?}");
    let waits =
        agent.post("/v1/messages?wait=2", &json!({"to": "signal:+4915112345679", "message": "Later."}))?;
    ensure!(waits.body["state"] == "ready", "{waits:?}");
    ensure!(text(&waits.body, "reason").contains("Signal cannot be reached"), "{waits:?}");
    ensure!(done(&server).is_empty(), "it was begun");
    mock.away.store(false, Ordering::Relaxed);
    agent.ended(text(&waits.body, "id"), "sent")?;
    ensure!(done(&server).len() == 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_message_says_whom_it_did_not_reach() -> Result<()> {
    let server = signal::start()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let agent = fixture.agent("courier").await?;
    let group = "signal:group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";
    let sent = agent.send_and_wait(&json!({"to": group, "message": "Dinner at eight."}))?;
    let detail = "2 of 3 members; not: Carol (not on Signal)";
    ensure!(sent["state"] == "sent" && sent["ok"] == true && sent["detail"] == detail, "{sent}");
    let expected = json!({"reached": 2, "of": 3, "failed": [{"who": "Carol", "why": "not on Signal"}]});
    ensure!(sent["parts"][0]["recipients"] == expected, "{sent}");
    let inbox = agent.get("/v1/inbox")?;
    let notice = &inbox.body["notices"][0]["receipt"];
    ensure!(notice["id"] == sent["id"] && notice["detail"] == detail, "{inbox:?}");
    // Where nobody was reached it has failed.
    let failed =
        agent.send_and_wait(&json!({"to": format!("signal:{}", signal::CAROL.0), "message": "Hello"}))?;
    ensure!(failed["state"] == "failed" && text(&failed, "error").contains("not on Signal"), "{failed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_has_the_author_and_the_words_of_what_it_answers() -> Result<()> {
    let server = signal::start()?;
    let mut fixture = TestHub::start(&agents_on("signal", &channel(&server.url()))).await?;
    let (agent, bridge) = (fixture.agent("courier").await?, fixture.bridge("gateway").await?);
    let anna = "+4915112345679";
    let heard = json!({
        "agent": "courier", "channel": "signal", "accountId": "home", "peer": anna,
        "sender": anna, "messageId": "1700000000777", "text": "Shall I bring wine?",
    });
    let reported = bridge.post("/v1/inbound", &heard)?;
    ensure!(reported.status < 300, "{reported:?}");
    let to = format!("signal:{anna}");
    let own = agent.send_and_wait(&json!({"to": to, "message": "Dinner at **eight**."}))?;
    let id = text(&own["parts"][0], "platform_id");
    for (reply_to, author, words) in [
        ("1700000000777", anna, "Shall I bring wine?"),
        (&format!("{anna}/1700000000777"), anna, "Shall I bring wine?"),
        (id, signal::ACCOUNT, "Dinner at eight."),
    ] {
        let sent = agent.send_and_wait(&json!({"to": to, "message": "Yes.", "replyTo": reply_to}))?;
        ensure!(sent["state"] == "sent", "{sent}");
        let quoting = done(&server).pop().unwrap_or_default();
        ensure!(quoting["params"]["quoteAuthor"] == author, "{quoting}");
        ensure!(quoting["params"]["quoteMessage"] == words, "{quoting}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_program_is_named_by_check_and_offers_no_polls() -> Result<()> {
    let (server, mock) = signal::start_with()?;
    *mock.version.lock().unwrap_or_else(PoisonError::into_inner) = Some("0.13.19");
    let channel = channel(&server.url());
    let checked = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel)?.cli(&["check"])?.well()?;
    ensure!(checked.contains("signal-cli 0.13.19: no polls before 0.13.23"), "{checked}");
    let mut fixture = TestHub::start(&agents_on("signal", &channel)).await?;
    let agent = fixture.agent("courier").await?;
    let to = "signal:+4915112345679";
    let voice = json!({"base64": "T2dnUwACAAAAAAAAAAA=", "name": "a.ogg"});
    let sent = agent.send_and_wait(&json!({"to": to, "voice": voice}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    ensure!(text(&sent["parts"][0], "reason").contains("sent the voice note as a file"), "{sent}");
    let poll = json!({"action": "poll", "to": to, "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]});
    let refused = agent.post("/v1/messages", &poll)?;
    ensure!(refused.status == 400 && text(&refused.body, "hint").contains("0.13.23"), "{refused:?}");
    // An account is found by its number alone.
    let by_id = channel.replace(signal::ACCOUNT, signal::ACI);
    let refused = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &by_id)?.cli(&["check"])?;
    ensure!(refused.status != 0, "{refused:?}");
    ensure!(format!("{refused:?}").contains("write its number"), "{refused:?}");
    Ok(())
}
