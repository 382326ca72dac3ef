//! The main job by e-mail, with Postfix and Dovecot, read back through IMAP; and a mailbox at Dovecot that an account reads.
//!
//! Installed by `tests/run --setup-only`: Postfix, Dovecot.

use std::sync::Mutex;

use gatepost::channels::{
    envelope::Envelope,
    hub_handle::{HubHandle, Unavailable},
    received::{AuthorKind, Batch, Event},
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    adapter::opened,
    hub::{PATIENCE, SpawnedHub, TestHub, agents_on, client::text},
    main_job::{self, squeezed},
    peers::{Mail, Mime, html_check},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::mpsc, time::timeout};

fn config(mail: &Mail, secrets: &TempDir) -> Result<String> {
    // The courier's mails say whose they are.
    let agents = agents_on("email", "").replace("decorate = false\n", "");
    Ok(format!("{agents}{}", mail.account(secrets.path(), mail.password())?))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_in_the_mailbox_and_a_denied_one_does_not() -> Result<()> {
    let (mail, secrets) = (Mail::start()?, tempfile::tempdir()?);
    let mut fixture = TestHub::start(&config(&mail, &secrets)?).await?;
    let agent = fixture.agent("engineer").await?;

    let held = agent.send(&json!({"to": "email:anna@hub.test", "message": main_job::report()}))?;
    ensure!(held["state"] == "held" && mail.inbox("anna")?.is_empty(), "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let id = text(&held, "id");
    let sent = agent.ended(id, "sent")?;
    let parts = main_job::shown_and_signed(&fixture, id, &seen)?;
    ensure!(parts.len() == 1, "a mail is not split");
    let arrived = mail.wait_for_inbox("anna", 1)?.remove(0);
    is_the_mail(&arrived, &sent, &Envelope::read(&parts[0].request)?.request, &parts[0].key)?;

    let held = agent.send(&json!({"to": "email:anna@hub.test", "message": "The door code is 4711."}))?;
    fixture.decide(Verdict::Deny).await?;
    agent.ended(text(&held, "id"), "denied")?;
    ensure!(agent.told_of(text(&held, "id"))?["state"] == "denied");
    // The lane is free again; what would have come before this has not.
    let held = agent.send(&json!({"to": "email:anna@hub.test", "message": "Good night."}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    let inbox = mail.wait_for_inbox("anna", 2)?;
    ensure!(inbox.len() == 2 && inbox[1].contains("Good night.") && !inbox[1].contains("4711"), "{inbox:?}");
    fixture.audit_is_whole().await
}

/// Checks a mail as the mailbox has it against what was stored, shown and signed.
fn is_the_mail(arrived: &str, sent: &Value, wire: &Value, key: &str) -> Result<()> {
    let mime = Mime::read(arrived)?;
    ensure!(mime.defects.is_empty(), "{:?}", mime.defects);
    ensure!(mime.kind == "multipart/alternative", "{mime:#?}");
    let kinds: Vec<&str> = mime.parts.iter().map(|(kind, _)| kind.as_str()).collect();
    ensure!(kinds == ["text/plain", "text/html"], "{kinds:?}");
    ensure!(mime.header("message-id") == format!("<{key}@hub.test>"), "{mime:#?}");
    ensure!(sent["parts"][0]["platform_id"] == mime.header("message-id"), "{sent}");
    ensure!(mime.header("auto-submitted") == "auto-generated", "{mime:#?}");
    ensure!(
        mime.header("from") == "The Hub <hub@hub.test>" && mime.header("to") == "anna@hub.test",
        "{mime:#?}"
    );
    ensure!(mime.header("subject") == text(wire, "subject"), "{mime:#?}");
    ensure!(!mime.header("date").is_empty(), "{mime:#?}");
    // RFC 3848: S for TLS, A for the login. The first line is the last hop, into the mailbox.
    let hops: Vec<&str> =
        mime.headers.iter().filter(|(name, _)| name == "received").map(|(_, hop)| hop.as_str()).collect();
    let hop = hops.last().context("a hop")?;
    ensure!(hop.contains("with ESMTPSA"), "{hops:?}");

    let (plain, html) = (mime.part("text/plain"), mime.part("text/html"));
    ensure!(plain.trim_end() == text(wire, "plain").trim_end(), "{plain}");
    ensure!(html.trim_end() == text(wire, "html").trim_end(), "{html}");
    let body =
        html.split_once("<body>").and_then(|(_, rest)| rest.split_once("</body>")).context("a body")?.0;
    let problems = html_check(&[body])?;
    ensure!(problems.is_empty(), "{problems:#?}");
    ensure!(body.contains("<table") && body.contains("href=\"https://hub.test/jobs?night=1\""), "{body}");
    for line in 1..=main_job::CODE_LINES {
        let line = format!("rsync -a src/{line:02} dst/{line:02}");
        ensure!(plain.contains(&line) && body.contains(&line), "{line} is missing");
    }
    ensure!(squeezed(plain).contains(&squeezed("https://hub.test/jobs?night=1")), "{plain}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_recipient_fails_in_the_servers_words_and_a_busy_one_is_tried_again_later() -> Result<()> {
    let (mail, secrets) = (Mail::start()?, tempfile::tempdir()?);
    let mut fixture = TestHub::start(&config(&mail, &secrets)?).await?;
    let agent = fixture.agent("courier").await?;

    let failed = agent.send_and_wait(&json!({"to": "email:refused@hub.test", "message": "Hello?"}))?;
    ensure!(failed["state"] == "failed" && failed["code"] == "execution_failed", "{failed}");
    let words = text(&failed, "error");
    ensure!(
        words.contains("550") && words.contains("5.1.1") && words.contains("no such mailbox"),
        "{failed}"
    );
    ensure!(failed["parts"][0]["state"] == "failed" && failed["sent"] == "0 of 1", "{failed}");
    let told = agent.told_of(text(&failed, "id"))?;
    ensure!(told["state"] == "failed" && told["error"] == failed["error"], "{told}");

    let elsewhere = agent.send_and_wait(&json!({"to": "email:anna@elsewhere.test", "message": "Hello?"}))?;
    ensure!(elsewhere["state"] == "failed" && text(&elsewhere, "error").contains("554"), "{elsewhere}");

    let later = agent.send(&json!({"to": "email:later@hub.test", "message": "Hello?"}))?;
    let id = text(&later, "id");
    let waits = gatepost_tests::hub::eventually("an attempt", || {
        Ok(Some(agent.message(id)?).filter(|message| message["state"] == "ready" && message["attempts"] == 1))
    })?;
    let why = text(&waits, "reason");
    ensure!(why.contains("451") && why.contains("greylisted, try again later"), "{waits}");
    ensure!(text(&waits, "due_at") > text(&waits, "accepted_at"), "{waits}");
    ensure!(waits["ok"] == true && waits["parts"][0]["state"] == "planned", "{waits}");
    // Whoever waits holds up nobody else.
    let sent = agent.send_and_wait(&json!({"to": "email:bert@hub.test", "message": "Hello!"}))?;
    ensure!(sent["state"] == "sent" && mail.wait_for_inbox("bert", 1)?.len() == 1, "{sent}");
    // It is tried again by itself, until its agent takes it back.
    gatepost_tests::hub::eventually("another attempt", || {
        Ok(Some(agent.message(id)?).filter(|message| message["attempts"].as_u64() > Some(1)))
    })?;
    agent.until(id, "ready")?;
    let cancelled = agent.post(&format!("/v1/messages/{id}/cancel"), &json!({}))?;
    ensure!(cancelled.status == 200 && cancelled.body["state"] == "cancelled", "{cancelled:?}");
    ensure!(mail.inbox("later")?.is_empty() && mail.inbox("refused")?.is_empty());
    fixture.audit_is_whole().await
}

/// RFC 5322 §3.6.4, by which mail programs show who answers whom.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_stands_in_its_thread_as_the_mailbox_has_it() -> Result<()> {
    let (mail, secrets) = (Mail::start()?, tempfile::tempdir()?);
    let mut fixture = TestHub::start(&config(&mail, &secrets)?).await?;
    let agent = fixture.agent("courier").await?;
    let say = |more: Value| -> Result<String> {
        let mut call = json!({"to": "email:anna@hub.test"});
        call.as_object_mut().context("an object")?.extend(more.as_object().context("an object")?.clone());
        let sent = agent.send_and_wait(&call)?;
        ensure!(sent["state"] == "sent", "{sent}");
        Ok(text(&sent["parts"][0], "platform_id").to_owned())
    };
    let first = say(json!({"message": "Is the oven off?"}))?;
    let second = say(json!({"action": "reply", "replyTo": first, "message": "It is."}))?;
    let third = say(json!({"threadId": first, "replyTo": second, "message": "Thank you."}))?;
    let inbox = mail.wait_for_inbox("anna", 3)?;
    // In which order a server hands them on is its own matter.
    let of = |id: &str| -> Result<Mime> {
        for arrived in &inbox {
            let mime = Mime::read(arrived)?;
            if mime.header("message-id") == id {
                return Ok(mime);
            }
        }
        anyhow::bail!("{id} is not in {inbox:?}")
    };
    let begins = of(&first)?;
    ensure!(begins.header("in-reply-to").is_empty() && begins.header("references").is_empty(), "{begins:#?}");
    let answer = of(&second)?;
    ensure!(answer.header("in-reply-to") == first && answer.header("references") == first, "{answer:#?}");
    let last = of(&third)?;
    ensure!(last.header("in-reply-to") == second, "{last:#?}");
    let references: Vec<&str> = last.header("references").split_whitespace().collect();
    ensure!(references == [first.as_str(), second.as_str()], "{last:#?}");
    fixture.audit_is_whole().await
}

#[test]
fn whether_mail_can_be_sent_is_asked_from_the_shell() -> Result<()> {
    let (mail, secrets) = (Mail::start()?, tempfile::tempdir()?);
    let check = |channel: &str| SpawnedHub::at_rest(tempfile::tempdir()?.into(), channel)?.cli(&["check"]);
    let right = mail.account(secrets.path(), mail.password())?;
    let ready = check(&right)?.well()?;
    ensure!(ready.contains("ready") && ready.contains("hub@hub.test"), "{ready}");
    let stranger: String =
        right.lines().filter(|line| !line.starts_with("ca_file")).map(|l| l.to_owned() + "\n").collect();
    let refused = check(&stranger)?;
    ensure!(refused.status == 1 && refused.stdout.contains("cannot be trusted"), "{refused:?}");
    let refused = check(&mail.account(secrets.path(), "guess-work")?)?;
    ensure!(refused.status == 1 && refused.stdout.contains("535"), "{refused:?}");
    ensure!(refused.stdout.contains("check user and password"), "{refused:?}");
    ensure!(!refused.stdout.contains("guess-work") && !refused.stderr.contains("guess-work"), "{refused:?}");
    Ok(())
}

#[test]
fn what_a_mail_server_would_bring_to_a_held_mailbox_is_refused_or_held() -> Result<()> {
    let (mail, secrets) = (Mail::start()?, tempfile::tempdir()?);
    let rules = config(&mail, &secrets)?.replace(
        "cross_context",
        "hold = [\"email:anna@hub.test\", \"email:bob+shop@hub.test\"]\ncross_context",
    );
    let hub = SpawnedHub::start(&rules)?;
    let agent = hub.agent("courier")?;
    let roundabout =
        ["anna%hub.test@mx.hub.test", "hub.test!anna@mx.hub.test", "\"anna@hub.test\"@mx.hub.test"];
    // This Postfix does bring them there.
    for (n, address) in roundabout.into_iter().enumerate() {
        mail.submit(address)?;
        mail.wait_for_inbox("anna", n + 1)?;
    }
    for address in
        roundabout.into_iter().chain(["@mx.hub.test:anna@hub.test", "anna@[127.0.0.1]", "anna@127.0.0.1"])
    {
        let refused =
            agent.post("/v1/messages", &json!({"to": format!("email:{address}"), "message": "Hello"}))?;
        ensure!(refused.body["code"] == "input_invalid", "{address}: {refused:?}");
        ensure!(text(&refused.body, "error").contains("example.org"), "{address}: {refused:?}");
    }
    // Tags lead to one mailbox, whichever of its addresses is in the list.
    for address in
        ["Anna@HUB.test", "anna+x@hub.test", "bob@hub.test", "bob+other@hub.test", "bob+shop@hub.test"]
    {
        let held = agent.send(&json!({"to": format!("email:{address}"), "message": "Hello"}))?;
        ensure!(held["state"] == "held", "{address}: {held}");
    }
    ensure!(mail.inbox("anna")?.len() == roundabout.len() && mail.inbox("bob")?.is_empty());
    Ok(())
}

/// A hub that an account tells what it received.
struct Hub {
    position: Mutex<Option<String>>,
    heard: mpsc::UnboundedSender<Batch>,
}

#[async_trait]
impl HubHandle for Hub {
    async fn receive(&self, batch: Batch) -> Result<(), Unavailable> {
        *self.position.lock().map_err(|_| Unavailable)? =
            batch.positions.first().map(|position| position.value.clone());
        self.heard.send(batch).map_err(|_| Unavailable)
    }

    async fn position(&self, _: &str) -> Result<Option<String>, Unavailable> {
        Ok(self.position.lock().map_err(|_| Unavailable)?.clone())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailbox_is_read_as_mail_comes_and_stays_as_it_is() -> Result<()> {
    let (mail, secrets) = (Mail::start()?, tempfile::tempdir()?);
    let (_folder, account) = opened("email", &mail.receiving_account(secrets.path(), "hub")?)?;
    let ready = account.check_ready().await?;
    ensure!(ready.contains("reads INBOX at 127.0.0.1"), "{ready}");
    mail.deliver("hub@hub.test", "From: ada@example.org\r\nSubject: Old\r\n\r\nOld\r\n")?;
    mail.wait_for_inbox("hub", 1)?;

    let (heard, mut hears) = mpsc::unbounded_channel();
    let hub = Hub { position: Mutex::default(), heard };
    let next = async |hears: &mut mpsc::UnboundedReceiver<Batch>| loop {
        let batch = timeout(PATIENCE, hears.recv()).await.context("nothing came")?.context("it ended")?;
        ensure!(batch.dropped.is_empty(), "{batch:?}");
        if let Some(received) = batch.received.into_iter().next() {
            return Ok(received);
        }
    };
    let first = async {
        // Where it begins: behind what was there.
        let begins = timeout(PATIENCE, hears.recv()).await?.context("it ended")?;
        ensure!(begins.received.is_empty() && begins.positions.len() == 1, "{begins:?}");
        mail.deliver(
            "hub@hub.test",
            "Authentication-Results: mx.hub.test; dmarc=pass header.from=example.org\r\nFrom: Ada <ada@example.org>\r\n\
             To: hub@hub.test\r\nMessage-ID: <2@example.org>\r\nReferences: <1@example.org>\r\nSubject: =?utf-8?q?K=C3=B6ln?=\r\n\
             \r\nAt 8?\r\n\r\nOn 24 Nov 2026, Bob wrote:\r\n> When?\r\n",
        )?;
        next(&mut hears).await
    };
    let received = tokio::select! {
        () = account.listen(&hub) => anyhow::bail!("it ends with the hub"),
        received = first => received?,
    };
    ensure!(!received.author.unverified && received.author.id == "ada@example.org", "{received:?}");
    ensure!(received.conversation.thread.as_deref() == Some("<1@example.org>"), "{received:?}");
    ensure!(received.mentions_me && received.said_at.is_some(), "{received:?}");
    let Event::Message(words) = &received.event else { anyhow::bail!("{received:?}") };
    ensure!(words.text == "Köln\n\nAt 8?", "{words:?}");

    // While nobody reads, one comes.
    mail.deliver(
        "hub@hub.test",
        "From: ada@example.org\r\nAuto-Submitted: auto-replied\r\nSubject: Away\r\n\r\nx\r\n",
    )?;
    mail.wait_for_inbox("hub", 3)?;
    let again = tokio::select! {
        () = account.listen(&hub) => anyhow::bail!("it ends with the hub"),
        received = next(&mut hears) => received?,
    };
    ensure!(again.author.kind == AuthorKind::Program && again.author.unverified, "{again:?}");
    ensure!(mail.unread("hub")? == 3, "somebody's mail was marked as read");
    Ok(())
}
