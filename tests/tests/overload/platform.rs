//! Notifications that no platform has sent, to accounts that are there and to some that are not.

use std::{
    collections::VecDeque,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Result, ensure};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;

use super::stage::{DURING, Stage, turn};

const CHANNELS: &str = r#"
[channels.whatsapp.home]
phone_number_id = "1"
token = "env:GATEPOST_TEST_TOKEN"
app_secret = "env:GATEPOST_TEST_TOKEN"
verify_token = "env:GATEPOST_TEST_TOKEN"

[channels.teams.home]
app_id = "app-1"
secret = "env:GATEPOST_TEST_TOKEN"
openid_url = "http://127.0.0.1:9/openid"
"#;
/// The form of a signature, of nothing.
const SIGNATURE: &str = "sha256=0000000000000000000000000000000000000000000000000000000000000000";
/// Connections at once.
const CONNECTIONS: usize = 120;
/// Bytes of each.
const BODY: usize = 3 * 1024 * 1024;

fn begin(stage: &Stage, path: &str, header: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, stage.hub.port()))?;
    stream.set_write_timeout(Some(Duration::from_millis(100)))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "POST {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\nContent-Length: {BODY}\r\n\r\n")?;
    Ok(stream)
}

/// A token that says all that the Connector's say, of a key that nobody has published.
fn forged_token() -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let part = |part: serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let head = part(json!({ "alg": "RS256", "kid": "k-1" }));
    let claims = part(json!({
        "iss": "https://api.botframework.com", "aud": "app-1", "nbf": now, "exp": now + 3_600,
        "serviceurl": "https://service.test/",
    }));
    Ok(format!("Authorization: Bearer {head}.{claims}.{}", URL_SAFE_NO_PAD.encode([0; 256])))
}

fn status(stream: &mut TcpStream) -> Result<String> {
    let mut answer = [0; 12];
    stream.read_exact(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn a_body_is_not_read_before_its_account_and_the_form_of_its_signature_are_right() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set(CHANNELS)?;
    let token = "Authorization: Bearer a.b.c";
    for (path, header) in [
        ("/v1/platform/whatsapp/nobody", format!("X-Hub-Signature-256: {SIGNATURE}")),
        ("/v1/platform/whatsapp/home", "X-Hub-Signature-256: sha256=12".into()),
        ("/v1/platform/whatsapp/home", "X-Other: 1".into()),
        ("/v1/platform/teams/nobody", token.into()),
        ("/v1/platform/teams/home", token.into()),
        ("/v1/platform/teams/home", forged_token()?),
    ] {
        // Answered with nothing of the body said.
        let mut stream = begin(&stage, path, &header)?;
        let status = status(&mut stream)?;
        ensure!(status == "HTTP/1.1 401", "{path}, {header}: {status}");
    }
    Ok(())
}

#[test]
fn notifications_that_no_platform_sent_take_no_memory() -> Result<()> {
    let _turn = turn();
    let stage = Stage::set(CHANNELS)?;
    let piece = vec![b'x'; 256 * 1024];
    let (signature, token) = (format!("X-Hub-Signature-256: {SIGNATURE}"), forged_token()?);
    let notifications = [
        ("whatsapp/home", &signature),
        ("teams/home", &token),
        ("whatsapp/home", &signature),
        ("whatsapp/nobody", &signature),
    ];
    let outcome = stage.under(|until| {
        let mut open: VecDeque<TcpStream> = VecDeque::new();
        let mut turn = 0;
        while !until.over() {
            turn += 1;
            if open.len() < CONNECTIONS {
                let (account, header) = notifications[turn % notifications.len()];
                if let Ok(stream) = begin(&stage, &format!("/v1/platform/{account}"), header) {
                    open.push_back(stream);
                }
            }
            // All but the end of it: one that has ended is answered.
            if let Some(mut stream) = open.pop_front()
                && stream.write_all(&piece).is_ok()
            {
                open.push_back(stream);
            }
        }
        Ok(())
    })?;
    stage.holds("notifications that no platform sent", &outcome, DURING)?;
    stage.says("http", "bytes")
}
