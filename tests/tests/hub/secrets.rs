//! What the hub logs: the way of every message by its id, and never a secret.
//!
//! Installed by `tests/run --setup-only`: Postfix, Dovecot, Synapse, mosquitto.

use std::{fs, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, client::text, eventually},
    peers::{Mail, Mosquitto, Synapse, free_port},
};
use serde_json::json;

const AGENTS: &str = r#"
[agents.courier]
allow = ["*"]
cross_context = "allow"
[agents.engineer]
allow = ["*"]
[channels.local.home]
"#;

/// Every way in which these bytes could stand in a log.
fn spellings(secret: &[u8]) -> Vec<String> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = secret.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    let mut all = vec![hex, list, base64(secret)];
    all.extend(String::from_utf8(secret.to_vec()));
    all
}

/// RFC 4648 §4, without its padding, which what stands around would change.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks_exact(3) {
        let bits = u32::from_be_bytes([0, chunk[0], chunk[1], chunk[2]]);
        text.extend([18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift) as usize & 63])));
    }
    text
}

#[test]
fn no_secret_is_in_any_log_of_a_whole_run_however_much_is_logged() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let (mail, synapse, broker) = (Mail::start()?, Synapse::start()?, Mosquitto::start()?);
    let bot = synapse.register("gatepost", "a password of the bot")?;
    let room = synapse.create_room(&bot.access_token)?;
    let login = broker.hub_credentials();
    let hook_token = "a-token-for-the-hook-and-nobody-else";
    for (name, secret) in [
        ("mail", mail.password()),
        ("matrix", &bot.access_token),
        ("mqtt", login.password),
        ("hook", hook_token),
    ] {
        fs::write(folder.path().join(name), secret)?;
    }
    let file = |name: &str| format!("\"file:{}\"", folder.path().join(name).display());
    let config = format!(
        "url = \"mqtt://127.0.0.1:{}\"\nuser = \"{}\"\npassword = {}\n{AGENTS}\
         [channels.email.home]\nhost = \"127.0.0.1\"\nport = {}\nfrom = \"hub@hub.test\"\nuser = \"{}\"\npassword = {}\nca_file = \"{}\"\n\
         [channels.matrix.home]\nhomeserver = \"{}\"\ntoken = {}\n\
         [hooks.away]\non = \"message_sent\"\nurl = \"http://127.0.0.1:{}/\"\ntoken = {}\ntimeout = \"2s\"\n",
        broker.port(),
        login.username,
        file("mqtt"),
        mail.smtp_port(),
        mail.user(),
        file("mail"),
        mail.ca_file().display(),
        synapse.base_url(),
        file("matrix"),
        free_port()?,
        file("hook"),
    );
    let mut hub = SpawnedHub::at_rest(Arc::clone(&folder), &config)?;
    hub.log_at("trace");
    hub.run()?;
    let (courier, engineer, operator) = (hub.agent("courier")?, hub.agent("engineer")?, hub.operator()?);
    let context = operator.heard("courier", "ann")?;
    let mut ids = Vec::new();
    for (to, context) in [
        ("email:anna@hub.test".to_owned(), None),
        (format!("matrix:{room}"), None),
        ("current".to_owned(), Some(&context)),
    ] {
        let sent = courier.send_and_wait(&json!({"to": to, "message": "Hello.", "context": context}))?;
        ensure!(sent["state"] == "sent", "{sent}");
        ids.push(text(&sent, "id").to_owned());
    }
    // Refusals are logged too: a stranger's token, another agent's context, a token that is gone.
    let wrong = format!("gp_{}", "5".repeat(64));
    ensure!(hub.anybody(Some(&wrong)).get("/v1/messages")?.status == 401);
    let foreign =
        engineer.post("/v1/messages", &json!({"to": "current", "message": "x", "context": context}))?;
    ensure!(foreign.status == 403, "{foreign:?}");
    hub.cli(&["agent", "revoke", "engineer"])?.well()?;
    ensure!(engineer.get("/v1/messages")?.status == 401);
    eventually("the hook is away", || {
        Ok(hub.log()?.contains("did not hear how a message ended").then_some(()))
    })?;
    hub.terminate()?;

    let (log, audit) = (hub.log()?, hub.cli(&["audit", "show", "--json"])?.well()?);
    ensure!(log.contains(" TRACE ") && log.contains(" DEBUG "), "it was not logged at trace: {log}");
    let auth = format!("\0{}\0{}", mail.user(), mail.password());
    let key = fs::read(hub.data_dir().join("hub.key"))?;
    let seal = fs::read(hub.data_dir().join("hub.seal"))?;
    let secrets: [(&str, &[u8]); 13] = [
        ("the hub's key for sealing", &seal),
        ("an agent's token", courier.token().as_bytes()),
        ("a revoked token", engineer.token().as_bytes()),
        ("the operator's token", operator.token().as_bytes()),
        ("a stranger's token", wrong.as_bytes()),
        ("a context", context.as_bytes()),
        ("the mail password", mail.password().as_bytes()),
        ("the mail login", auth.as_bytes()),
        ("the room's account", bot.access_token.as_bytes()),
        ("the broker's password", login.password.as_bytes()),
        ("the hook's token", hook_token.as_bytes()),
        ("the hub's key", &key),
        ("the hub's key, without what is around it", key.trim_ascii()),
    ];
    for (what, secret) in secrets {
        ensure!(secret.len() >= 8, "{what} is too short to be looked for");
        for spelling in spellings(secret) {
            for (place, text) in [("log", &log), ("audit", &audit)] {
                let line = text.lines().find(|line| line.contains(&spelling));
                ensure!(line.is_none(), "{what} is in the {place}: {line:?}");
            }
        }
    }

    // From the row on disk to the platform's answer, each line of its way names the message.
    for id in &ids {
        let span = format!("message{{agent=\"courier\" id={id}}}");
        let dispatched = format!("message{{id=\"{id}\" agent=\"courier\"}}");
        for (step, span) in
            [("a message is on disk", &span), ("it waits for its lane", &span), ("sent", &dispatched)]
        {
            let found = log.lines().any(|line| line.contains(span.as_str()) && line.contains(step));
            let about: Vec<&str> = log.lines().filter(|line| line.contains(id.as_str())).collect();
            ensure!(found, "no line says that {span} {step}: {about:#?}");
        }
    }
    Ok(())
}

#[test]
fn what_a_log_shows_of_the_embedded_broker_holds_no_password() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), AGENTS)?;
    hub.log_at("trace");
    hub.run()?;
    let sent = hub.agent("courier")?.send_and_wait(&json!({"to": "local:ann", "message": "Hello."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    eventually("the hub is at its broker", || Ok(hub.log()?.contains("rumqtt").then_some(())))
        .context("nothing is logged of it")?;
    hub.terminate()?;
    let log = hub.log()?;
    let line = log.lines().find(|line| line.to_lowercase().contains("password") && !line.contains("***"));
    ensure!(line.is_none(), "{line:?}");
    Ok(())
}
