//! What programs outside post to the hub, and an agent is told: signed by the library of Standard Webhooks, and sent by curl.
//!
//! Installed by `tests/run --setup-only`: Node, the library of Standard Webhooks.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, secret},
    peers::{self, free_port},
};
use serde_json::{Value, json};

use super::turns;

const STANDARD: &str = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3";
const OTHER: &str = "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk";
const TOKEN: &str = "correct-horse-battery";

/// Two accounts that are posted to, and an agent that each wakes by what failed.
fn config(folder: &Path, hub: &str) -> Result<String> {
    let (standard, token) = (secret(folder, "standard", STANDARD)?, secret(folder, "token", TOKEN)?);
    Ok(format!(
        "{hub}[agents.engineer]\nallow = [\"local:*\", \"webhook:ci\"]\n\
         [routes.hooks]\nfrom = [\"webhook:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \"failed\"\n\
         [channels.local.home]\n\
         [people.door]\nids = [\"webhook:door\"]\nscope = \"owner\"\n\
         [channels.webhook.ci]\nreceive = true\nproof_secrets = [{standard}]\n\
         [channels.webhook.door]\nreceive = true\nproof = \"token\"\nproof_secrets = [{token}]\ntext_at = \"/message\"\n\
         trust = \"unknown\"\n"
    ))
}

/// What the standard's own library writes into the headers of a request, made now.
fn signed(secret: &str, id: &str, body: &str) -> Result<Vec<(String, String)>> {
    let program = r#"
        import { Webhook } from "standardwebhooks";
        const [secret, id, body] = process.argv.slice(1);
        const at = new Date();
        console.log(Math.floor(at.getTime() / 1000), new Webhook(secret).sign(id, at, body));
    "#;
    let ran = Command::new("node")
        .args(["--input-type=module", "-e", program, "--", secret, id, body])
        .current_dir(peers::file(""))
        .output()
        .context("node is missing: run `tests/run --setup-only`")?;
    ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let said = String::from_utf8(ran.stdout)?;
    let (at, signature) = said.trim().split_once(' ').context("a time and a signature")?;
    let pairs = [("webhook-id", id), ("webhook-timestamp", at), ("webhook-signature", signature)];
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
}

fn post(hub: &Client, path: &str, headers: &[(String, String)], body: &str) -> Result<(u16, Value)> {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = hub.raw("POST", path, &headers, body.as_bytes())?;
    Ok((answer.status, answer.body))
}

#[test]
fn what_the_standards_own_library_signs_wakes_the_agent_once_also_after_a_kill() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut hub = SpawnedHub::start(&config(folder.path(), "")?)?;
    let anybody = hub.anybody(None);
    let body = json!({"type": "build.failed", "repository": "gatepost"}).to_string();
    let right = signed(STANDARD, "msg_1", &body)?;
    let (status, taken) = post(&anybody, "/v1/hooks/ci", &right, &body)?;
    ensure!(status == 202 && taken["woken"] == true && taken["duplicate"] == false, "{status}: {taken}");
    let again = |hub: &Client| -> Result<()> {
        let (status, taken) = post(hub, "/v1/hooks/ci", &right, &body)?;
        ensure!(status == 202 && taken["duplicate"] == true && taken["woken"] == false, "{status}: {taken}");
        Ok(())
    };
    again(&anybody)?;
    // Nothing of a forger's is taken, and whether there is such an account is nobody's business.
    let forged = signed(OTHER, "msg_2", &body)?;
    for (path, headers, said) in [
        ("/v1/hooks/ci", &forged, &*body),
        ("/v1/hooks/ci", &right, "{\"type\": \"build.failed again\"}"),
        ("/v1/hooks/nobody", &right, &*body),
        ("/v1/hooks/door", &right, &*body),
    ] {
        let (status, answer) = post(&anybody, path, headers, said)?;
        ensure!(status == 401 && answer == Value::String(String::new()), "{path}: {status} {answer:?}");
    }
    hub.kill()?;
    hub.run()?;
    again(&hub.anybody(None))?;
    let agent = hub.agent("engineer")?;
    let turn = turns::take_and_end(&agent)?;
    ensure!(turn["cause"] == "message" && turn["scope"] == "known", "{turn}");
    ensure!(turn["conversation"]["target"] == "webhook:ci", "{turn}");
    let items = turn["items"].as_array().context("items")?;
    ensure!(items.len() == 1 && items[0]["kind"] == "webhook" && items[0]["message_id"] == "msg_1", "{turn}");
    ensure!(items[0]["sender"]["id"] == "webhook:ci" && items[0]["sender"]["scope"] == "known", "{turn}");
    ensure!(serde_json::from_str::<Value>(text(&items[0], "text"))?["type"] == "build.failed", "{turn}");
    // An account that was not set up to send sends nothing.
    let sent = agent.post(
        "/v1/messages",
        &json!({"channel": "webhook", "accountId": "ci", "to": "ci", "message": "Thanks."}),
    )?;
    ensure!(sent.body["ok"] == false && text(&sent.body, "error").contains("only receives"), "{sent:?}");
    let other = signed(STANDARD, "msg_3", "{\"type\": \"build.passed\"}")?;
    let (status, taken) = post(&hub.anybody(None), "/v1/hooks/ci", &other, "{\"type\": \"build.passed\"}")?;
    ensure!(status == 202 && taken["dropped"] == json!(["not_engaged"]), "{status}: {taken}");
    let channels = hub.operator()?.get("/v1/channels?fresh=true")?.taken()?.to_string();
    ensure!(channels.contains("takes what is posted to /v1/hooks/ci, last 20"), "{channels}");
    Ok(())
}

/// curl with these words, as an automation would call it: the status and the body.
fn curl(arguments: &[&str]) -> Result<(u16, String)> {
    let ran = Command::new("curl")
        .args(["-sS", "--noproxy", "*", "-m", "20", "-w", "\n%{http_code}"])
        .args(arguments)
        .output()
        .context("curl is missing: run `tests/run --setup-only`")?;
    ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let said = String::from_utf8(ran.stdout)?;
    let (body, status) = said.rsplit_once('\n').context("a status")?;
    Ok((status.parse()?, body.to_owned()))
}

#[test]
fn an_address_for_a_tunnel_has_what_is_posted_and_nothing_else_of_the_hub() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let outside = free_port()?;
    let hub = format!("[hub]\nplatform_listen = \"127.0.0.1:{outside}\"\nhosts = [\"hub.example.org\"]\n");
    let hub = match SpawnedHub::start(&config(folder.path(), &hub)?) {
        Ok(hub) => hub,
        Err(error) => bail!("the hub listens at two addresses: {error:#}"),
    };
    let at = |path: &str| format!("http://127.0.0.1:{outside}{path}");
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let named = "Host: hub.example.org";
    let (status, said) = curl(&[
        "-H",
        &bearer,
        "-H",
        named,
        "-d",
        "message=The+door+failed+to+close.",
        &at("/v1/hooks/door"),
    ])?;
    ensure!(status == 202 && said.contains("\"woken\":true"), "{status}: {said}");
    // Said again a moment later, without an id: the first one.
    let (status, said) =
        curl(&["-H", &bearer, "-d", "message=The+door+failed+to+close.", &at("/v1/hooks/door")])?;
    ensure!(status == 202 && said.contains("\"duplicate\":true"), "{status}: {said}");
    let turn = turns::take_and_end(&hub.agent("engineer")?)?;
    ensure!(turn["items"][0]["text"] == "The door failed to close.", "{turn}");
    ensure!(turn["scope"] == "known", "a program is no owner, whatever is said of it: {turn}");
    let (status, _) =
        curl(&["-H", "Authorization: Bearer wrong-horse-battery", "-d", "message=x", &at("/v1/hooks/door")])?;
    ensure!(status == 401, "{status}");
    let (status, _) =
        curl(&["-H", &bearer, "-H", "Content-Type: text/html", "-d", "x", &at("/v1/hooks/door")])?;
    ensure!(status == 415, "{status}");
    let (status, _) =
        curl(&["-H", &bearer, "-H", "Content-Type: application/json", "-d", "{", &at("/v1/hooks/door")])?;
    ensure!(status == 400, "{status}");
    fs::write(folder.path().join("large"), vec![b'x'; 256 * 1024 + 1])?;
    let large = format!("@{}", folder.path().join("large").display());
    let (status, _) = curl(&[
        "-H",
        &bearer,
        "-H",
        "Content-Type: text/plain",
        "--data-binary",
        &large,
        &at("/v1/hooks/door"),
    ])?;
    ensure!(status == 413, "{status}");
    // No path of the hub's own is there, not even for who may call it.
    let operator = format!("Authorization: Bearer {}", hub.operator()?.token());
    for path in [
        "/",
        "/healthz",
        "/openapi.json",
        "/v1/messages",
        "/v1/whoami",
        "/v1/channels",
        "/mcp",
        "/metrics",
        "/v1/hooks",
        "/v1/hooks/door/x",
    ] {
        let (status, said) = curl(&["-H", &operator, &at(path)])?;
        ensure!(status == 404 && said.is_empty(), "{path}: {status} {said}");
    }
    let (status, _) =
        curl(&["-X", "POST", "-H", "X-Hub-Signature-256: sha256=1", &at("/v1/platform/whatsapp/home")])?;
    ensure!(status == 401, "a platform's path is there: {status}");
    let (status, _) =
        curl(&["-H", "Host: evil.example", "-H", &bearer, "-d", "message=x", &at("/v1/hooks/door")])?;
    ensure!(status == 421, "{status}");
    // 30 a minute are taken, of which some are used up.
    let mut busy = None;
    for n in 0..40 {
        let (status, said) =
            curl(&["-i", "-H", &bearer, "-d", &format!("message={n}"), &at("/v1/hooks/door")])?;
        if status == 429 {
            busy = Some(said.to_lowercase());
            break;
        }
        ensure!(status == 202, "{status}: {said}");
    }
    ensure!(busy.is_some_and(|said| said.contains("retry-after: ")), "there is no end to it");
    Ok(())
}

/// The account's own bound begins anew with the hub, and the router's does not.
#[test]
fn a_program_that_posts_too_much_is_told_so_over_a_restart_and_nothing_of_it_is_lost() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut hub = SpawnedHub::start(&config(folder.path(), "")?)?;
    let post_as = |hub: &SpawnedHub, n: usize| {
        let headers = [("Authorization", format!("Bearer {TOKEN}")), ("Idempotency-Key", format!("id-{n}"))];
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        hub.anybody(None).raw(
            "POST",
            "/v1/hooks/door",
            &headers,
            format!("{{\"message\": \"failed {n}\"}}").as_bytes(),
        )
    };
    for n in 0..30 {
        let taken = post_as(&hub, n)?;
        ensure!(taken.status == 202, "{n}: {taken:?}");
    }
    hub.kill()?;
    hub.run()?;
    let refused = post_as(&hub, 30)?;
    ensure!(refused.status == 429 && refused.body["code"] == "rate_limited", "{refused:?}");
    ensure!(refused.headers.contains(&("retry-after".into(), "61".into())), "{refused:?}");
    // One that is on disk is told to be, however much came.
    let again = post_as(&hub, 29)?;
    ensure!(again.status == 202 && again.body["duplicate"] == true, "{again:?}");
    Ok(())
}
