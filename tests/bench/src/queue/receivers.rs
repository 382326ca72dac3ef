//! What a hub costs that waits for people on five channels: `local`, Telegram's long poll, Matrix's sync, a mailbox by IMAP IDLE and
//! Discord's Gateway.
//!
//! Synapse and Dovecot are the real ones, Discord is the mock of the tests; `tests/run --setup-only` installs them. Telegram is played
//! here: all that it does is to hold a request for as long as it is asked to.

use std::{
    fs,
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use axum::{Json, Router, extract::State, http::Uri};
use gatepost_tests::peers::{Mail, Mock, Synapse};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Outcome,
    fixture::{Fixture, block_on},
    load::Client,
};

/// Nothing here takes longer to be ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// A minute has two of the hub's own looks at a Discord connection, and one at a mailbox.
const WATCHED: Duration = Duration::from_secs(60);

/// Two minutes after its start a hub gives back what that left behind, its code too (daemon/src/hub/memory.rs).
pub(super) const SETTLED: Duration = Duration::from_secs(130);

/// What was found.
pub(super) struct Idle {
    /// Bytes of memory.
    pub resident: u64,
    /// How often a thread of the hub's went to sleep, in a second.
    pub wakes: f64,
}

pub(super) fn measure() -> Outcome<Idle> {
    let (synapse, mail, discord) = (Synapse::start()?, Mail::start()?, Mock::discord()?);
    let (telegram, mut polls) = telegram()?;
    let secrets = tempfile::tempdir()?;
    let write = |name: &str, secret: &str| fs::write(secrets.path().join(name), secret);
    let bot = synapse.register("hub", "a password")?;
    write("matrix", &bot.access_token)?;
    write("telegram", "123456789:AAABBBCCCDDDEEEFFFGGGHHHIIIJJJKKKLL")?;
    let file = |name: &str| secrets.path().join(name).display().to_string();
    let accounts = format!(
        "{mail}\n{discord}receive = true\n\
         [channels.matrix.home]\nhomeserver = \"{homeserver}\"\ntoken = \"file:{matrix}\"\nreceive = true\n\
         [channels.telegram.home]\nbase_url = \"http://{telegram}\"\ntoken = \"file:{token}\"\nreceive = true\n",
        mail = mail.receiving_account(secrets.path(), "hub@hub.test")?,
        discord = discord.account(secrets.path(), discord.token())?,
        homeserver = synapse.base_url(),
        matrix = file("matrix"),
        token = file("telegram"),
    );
    let mut fixture = Fixture::with(secrets, &accounts)?;
    fixture.run()?;
    wait_until_all_listen(&fixture, &mut polls)?;
    thread::sleep(SETTLED);
    let before = fixture.sleeps()?;
    thread::sleep(WATCHED);
    let slept = fixture.sleeps()?.into_iter().map(|(thread, now)| now - before.get(&thread).unwrap_or(&0));
    let idle =
        Idle { wakes: slept.sum::<u64>() as f64 / WATCHED.as_secs_f64(), resident: fixture.resident()? };
    fixture.stop()?;
    Ok(idle)
}

/// Waits until the hub says that every account is ready, and Telegram was asked for messages.
fn wait_until_all_listen(fixture: &Fixture, polls: &mut mpsc::UnboundedReceiver<()>) -> Outcome<()> {
    let began = Instant::now();
    loop {
        let listed: Value = block_on(async {
            let mut client = Client::connect(fixture.address(), fixture.token()).await?;
            let answer = client.request("GET", "/v1/channels", "").await?;
            Ok::<_, Box<dyn std::error::Error>>(serde_json::from_str(&answer)?)
        })??;
        let accounts = listed["channels"].as_array().map(Vec::as_slice).unwrap_or_default();
        if accounts.len() == 5
            && accounts.iter().all(|account| account["ready"] == true)
            && polls.try_recv().is_ok()
        {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("not all accounts receive: {listed}").into());
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Telegram: where it is, and a word for each request for messages.
fn telegram() -> Outcome<(SocketAddr, mpsc::UnboundedReceiver<()>)> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (asked, polls) = mpsc::unbounded_channel();
    let routes = Router::new().fallback(answer).with_state(asked);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || {
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, routes).await
        })
    });
    Ok((address, polls))
}

/// Answers as the Bot API does (<https://core.telegram.org/bots/api>), with no message ever.
async fn answer(
    State(asked): State<mpsc::UnboundedSender<()>>,
    uri: Uri,
    body: Option<Json<Value>>,
) -> Json<Value> {
    let result = match uri.path().rsplit('/').next() {
        Some("getUpdates") => {
            // Nobody may want to know any more.
            let _ = asked.send(());
            let wait = body.and_then(|Json(body)| body["timeout"].as_u64()).unwrap_or_default();
            tokio::time::sleep(Duration::from_secs(wait)).await;
            json!([])
        }
        Some("getMe") => json!({"id": 123_456_789, "is_bot": true, "username": "bench_bot"}),
        Some("getWebhookInfo") => json!({"url": ""}),
        _ => json!(true),
    };
    Json(json!({"ok": true, "result": result}))
}
