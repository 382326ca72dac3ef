//! Passkeys over the real program: added with the token, signing in, deciding where the configuration lets them; and all that is refused.

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatepost_link::Digest;
use gatepost_tests::{
    authenticator::{Authenticator, base64},
    hub::{
        Client, SpawnedHub,
        client::{Answer, text},
        database,
    },
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]

[approval]
approvers = ["companion", "web"]

[channels.local.home]
"#;

/// The page at a hub, in the browser of somebody who has signed in.
struct Page {
    hub: Client,
    origin: String,
    cookie: String,
}

impl Page {
    fn at(hub: &SpawnedHub) -> Self {
        let origin = format!("http://localhost:{}", hub.port());
        Self { hub: hub.anybody(None), origin, cookie: String::new() }
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Answer> {
        let host = self.origin.trim_start_matches("http://");
        let mut headers = vec![("host", host), ("cookie", &self.cookie)];
        if method != "GET" {
            headers.push(("origin", &self.origin));
        }
        let body = if method == "GET" { String::new() } else { body.to_string() };
        self.hub.raw(method, path, &headers, body.as_bytes())
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.call("GET", path, &Value::Null)?.taken()
    }

    fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.call("POST", path, body)
    }

    fn sign_in(&mut self, credential: &Value) -> Result<Value> {
        let answer = self.post("/v1/login", credential)?;
        let cookie = answer.headers.iter().find(|(name, _)| name == "set-cookie");
        let cookie = cookie.map(|(_, value)| value.split(';').next().unwrap_or_default().to_owned());
        self.cookie = cookie.with_context(|| format!("no cookie came: {answer:?}"))?;
        answer.taken()
    }

    fn challenge(&self, purpose: &str) -> Result<Vec<u8>> {
        let given = self.post("/v1/passkeys/challenge", &json!({"for": purpose}))?.taken()?;
        ensure!(given["rp_id"] == "localhost" && given["user"].is_string() == (purpose == "add"), "{given}");
        Ok(URL_SAFE_NO_PAD.decode(text(&given, "challenge"))?)
    }

    fn add(&self, key: &Authenticator, name: &str, token: &str) -> Result<Answer> {
        let mut new = key.made(&self.challenge("add")?);
        (new["name"], new["token"]) = (name.into(), token.into());
        self.post("/v1/passkeys", &new)
    }

    /// What the page hands in for a verdict on a request: what the passkey has signed.
    fn decision(&self, key: &mut Authenticator, request: &str, verdict: &str) -> Result<Value> {
        let given = self.post(&format!("/v1/approvals/{request}/challenge"), &json!({}))?.taken()?;
        let document =
            URL_SAFE_NO_PAD.decode(text(&self.get(&format!("/v1/approvals/{request}"))?, "document"))?;
        let nonce = text(&given, "nonce");
        let statement = [
            b"gatepost/decision/web/1".to_vec(),
            unhex(text(&given, "hub_key"))?,
            Digest::of(&key.credential).0.to_vec(),
            unhex(request)?,
            Digest::of(&document).0.to_vec(),
            vec![if verdict == "approve" { 1 } else { 2 }],
            URL_SAFE_NO_PAD.decode(nonce)?,
        ]
        .concat();
        let mut signed = key.sign(&Digest::of(&statement).0);
        (signed["verdict"], signed["nonce"]) = (verdict.into(), nonce.into());
        signed["document"] = Digest::of(&document).to_string().into();
        Ok(signed)
    }

    fn give(&self, request: &str, decision: &Value) -> Result<Answer> {
        self.post(&format!("/v1/approvals/{request}/decision"), decision)
    }

    fn decide(&self, key: &mut Authenticator, request: &str, verdict: &str) -> Result<Answer> {
        self.give(request, &self.decision(key, request, verdict)?)
    }
}

fn unhex(text: &str) -> Result<Vec<u8>> {
    gatepost::audit::checkpoint::bytes_from_hex(text).context("hexadecimal")
}

fn refused(answer: &Answer, status: u16, reason: &str) -> Result<()> {
    ensure!(answer.status == status && text(&answer.body, "reason") == reason, "{answer:?}");
    ensure!(!text(&answer.body, "hint").is_empty(), "{answer:?}");
    Ok(())
}

/// A hub, its page with somebody signed in, and a passkey that was added there.
fn stage(config: &str) -> Result<(SpawnedHub, Page, Authenticator)> {
    let hub = SpawnedHub::start(config)?;
    let mut page = Page::at(&hub);
    page.sign_in(&json!({"token": hub.operator()?.token()}))?;
    let phone = Authenticator::at(&page.origin);
    let added = page.add(&phone, "phone", hub.operator()?.token())?;
    ensure!(added.status == 201, "{added:?}");
    Ok((hub, page, phone))
}

/// Holds a message of the engineer's: its id, and its request.
fn held(hub: &SpawnedHub, engineer: &Client, words: &str) -> Result<(String, String)> {
    let held = engineer.send(&json!({"to": "local:team", "message": words}))?;
    ensure!(held["state"] == "held", "{held}");
    let id = text(&held, "id").to_owned();
    let whole = hub.operator()?.get(&format!("/v1/messages/{id}"))?.taken()?;
    Ok((id, text(&whole, "request").to_owned()))
}

#[test]
fn a_passkey_is_added_with_the_token_signs_in_and_goes_when_it_is_removed() -> Result<()> {
    let (hub, page, mut phone) = stage(CONFIG)?;
    let token = hub.operator()?.token().to_owned();
    let here = page.get("/v1/login")?;
    ensure!(here["passkeys"] == json!({"possible": true, "rp_id": "localhost", "because": null}), "{here}");
    ensure!(here["approvers"] == json!(["companion", "web"]), "{here}");
    // Who has only an open page adds none; nor does an agent's token, or a key that was made for something else.
    let laptop = Authenticator::at(&page.origin);
    let agent = hub.agent("engineer")?;
    for wrong in ["", "gp_0", agent.token()] {
        refused(&page.add(&laptop, "laptop", wrong)?, 401, "token")?;
    }
    let mut made = laptop.made(&[1; 16]);
    (made["name"], made["token"]) = ("laptop".into(), token.as_str().into());
    refused(&page.post("/v1/passkeys", &made)?, 409, "nonce")?;
    let elsewhere = Authenticator::at("http://localhost:3000");
    refused(&page.add(&elsewhere, "laptop", &token)?, 403, "passkey")?;
    let mut unseen = Authenticator::at(&page.origin);
    unseen.flags = 1;
    refused(&page.add(&unseen, "laptop", &token)?, 403, "passkey")?;
    ensure!(page.add(&phone, "again", &token)?.status == 409);
    let listed = page.get("/v1/passkeys")?;
    ensure!(listed["passkeys"].as_array().map(Vec::len) == Some(1), "{listed}");
    ensure!(
        listed["passkeys"][0]["name"] == "phone" && listed["passkeys"][0]["used_at"].is_null(),
        "{listed}"
    );

    let mut other = Page::at(&hub);
    let here = other.sign_in(&json!({"passkey": phone.sign(&other.challenge("login")?)}))?;
    ensure!(here["way"] == "passkey" && here["name"] == "operator", "{here}");
    ensure!(other.get("/v1/logins")?["logins"][0]["way"] == "passkey");
    // What was signed is good once, and only for what was given out.
    let anybody = Page::at(&hub);
    let signed = phone.sign(&anybody.challenge("login")?);
    ensure!(anybody.post("/v1/login", &json!({"passkey": signed}))?.status == 201);
    for passkey in [signed, phone.sign(&[7; 16]), phone.sign(&anybody.challenge("add")?)] {
        refused(&anybody.post("/v1/login", &json!({"passkey": passkey}))?, 401, "passkey")?;
    }
    let given = laptop_of(&page).sign(&anybody.challenge("login")?);
    refused(&anybody.post("/v1/login", &json!({"passkey": given}))?, 401, "passkey")?;
    let short = text(&listed["passkeys"][0], "passkey").to_owned();
    page.call("DELETE", &format!("/v1/passkeys/{short}"), &json!({}))?.taken()?;
    ensure!(page.call("DELETE", &format!("/v1/passkeys/{short}"), &json!({}))?.status == 404);
    let given = phone.sign(&anybody.challenge("login")?);
    refused(&anybody.post("/v1/login", &json!({"passkey": given}))?, 401, "passkey")?;
    let db = database::open(&hub.data_dir())?;
    let rows = database::audit(&db)?;
    for event in ["passkey.added", "passkey.removed"] {
        ensure!(rows.iter().filter(|line| line.event == event).count() == 1, "{event}");
    }
    hub.cli(&["audit", "verify"])?.well()?;
    Ok(())
}

/// A passkey that nobody has added.
fn laptop_of(page: &Page) -> Authenticator {
    Authenticator::at(&page.origin)
}

#[test]
fn a_held_message_goes_by_a_passkey_and_the_audit_proves_it_to_others() -> Result<()> {
    let (hub, page, mut phone) = stage(CONFIG)?;
    let engineer = hub.agent("engineer")?;
    let ((yes, first), (no, second)) = (held(&hub, &engineer, "One.")?, held(&hub, &engineer, "Two.")?);
    let card = page.get(&format!("/v1/approvals/{first}"))?;
    ensure!(card["web"]["may"] == true && card["web"]["passkeys"][0]["name"] == "phone", "{card}");
    ensure!(card["web"]["passkeys"][0]["credential"] == base64(&phone.credential), "{card}");
    let decided = page.decide(&mut phone, &first, "approve")?.taken()?;
    ensure!(
        decided["verdict"] == "approve" && decided["approvals"] == 1 && decided["quorum"] == 1,
        "{decided}"
    );
    engineer.ended(&yes, "sent")?;
    let decided = page.decide(&mut phone, &second, "deny")?.taken()?;
    ensure!(decided["state"] == "denied" && decided["approvals"] == 0, "{decided}");
    engineer.ended(&no, "denied")?;
    let arrived = hub.operator()?.arrived("team")?;
    ensure!(arrived.len() == 1, "{arrived:?}");
    let cards = page.get("/v1/approvals")?;
    ensure!(cards["decided"][0]["by"] == json!(["web:phone"]), "{cards}");
    // What is over is over.
    let late = page.post(&format!("/v1/approvals/{first}/challenge"), &json!({}))?;
    refused(&late, 409, "decided")?;

    let report = hub.cli(&["audit", "verify", "--json"])?.json()?;
    ensure!(report.to_string().contains("\"decisions\":2"), "{report}");
    let proof = hub.cli(&["audit", "prove", &yes])?.well()?;
    let file = hub.folder().path().join("proof.json");
    std::fs::write(&file, &proof)?;
    let file = file.to_str().context("a path")?;
    let told = hub.cli(&["audit", "check", file])?.well()?;
    ensure!(told.contains("approved") && told.contains("One.") && told.contains("by passkey 3059"), "{told}");
    std::fs::write(file, proof.replace("\"approve\"", "\"deny\""))?;
    ensure!(hub.cli(&["audit", "check", file])?.status != 0);
    Ok(())
}

#[test]
fn a_decision_that_is_not_the_passkeys_own_about_this_card_and_here_is_refused_and_told() -> Result<()> {
    let (hub, page, mut phone) = stage(CONFIG)?;
    let engineer = hub.agent("engineer")?;
    let ((id, first), (_, second)) = (held(&hub, &engineer, "One.")?, held(&hub, &engineer, "Two.")?);
    let signed = |phone: &mut Authenticator| page.decision(phone, &first, "approve");
    // Another verdict or document than was signed.
    let mut changed = signed(&mut phone)?;
    changed["verdict"] = "deny".into();
    refused(&page.give(&first, &changed)?, 403, "passkey")?;
    let mut changed = signed(&mut phone)?;
    changed["document"] = "0".repeat(64).into();
    refused(&page.give(&first, &changed)?, 403, "passkey")?;
    // For another card, and the number used up by that.
    let other = signed(&mut phone)?;
    refused(&page.give(&second, &other)?, 409, "nonce")?;
    refused(&page.give(&first, &other)?, 409, "nonce")?;
    let mut made_up = signed(&mut phone)?;
    made_up["nonce"] = base64(&[0; 16]).into();
    refused(&page.give(&first, &made_up)?, 409, "nonce")?;
    // Elsewhere, by nobody, by an unknown passkey, by a copy.
    phone.origin = "http://localhost:3000".into();
    refused(&page.decide(&mut phone, &first, "approve")?, 403, "passkey")?;
    phone.origin = format!("http://127.0.0.1:{}", hub.port());
    refused(&page.decide(&mut phone, &first, "approve")?, 403, "passkey")?;
    phone.origin.clone_from(&page.origin);
    for flags in [0, 1, 4] {
        phone.flags = flags;
        refused(&page.decide(&mut phone, &first, "approve")?, 403, "passkey")?;
    }
    phone.flags = 5;
    phone.rp_id = "evil.example".into();
    refused(&page.decide(&mut phone, &first, "approve")?, 403, "passkey")?;
    phone.rp_id = "localhost".into();
    let mut stranger = laptop_of(&page);
    refused(&page.decide(&mut stranger, &first, "approve")?, 403, "passkey")?;
    let counter = phone.counter;
    ensure!(page.decide(&mut phone, &second, "approve")?.status == 200);
    phone.counter = counter - 1;
    let back = page.decide(&mut phone, &first, "approve")?;
    refused(&back, 403, "passkey")?;
    ensure!(text(&back.body, "error").contains("counter went back"), "{back:?}");
    // An agent has no part in it, and a page of another site neither.
    let path = format!("/v1/approvals/{first}/challenge");
    ensure!(engineer.post(&path, &json!({}))?.status == 403);
    let foreign = [
        ("host", page.origin.trim_start_matches("http://")),
        ("cookie", page.cookie.as_str()),
        ("origin", "http://localhost:3000"),
    ];
    ensure!(page.hub.raw("POST", &path, &foreign, b"{}")?.status == 403);
    // A tool with the operator's token at an address where no passkey can be asked.
    refused(&hub.operator()?.post(&path, &json!({}))?, 409, "passkeys")?;
    ensure!(page.post(&format!("/v1/approvals/{}/challenge", "0".repeat(32)), &json!({}))?.status == 404);

    ensure!(hub.operator()?.message(&id)?["state"] == "held");
    let rows = database::audit(&database::open(&hub.data_dir())?)?;
    let why: Vec<&str> = rows
        .iter()
        .filter(|line| line.event == "decision.rejected")
        .map(|line| text(&line.detail, "why"))
        .collect();
    ensure!(why.len() == 10 && why.iter().any(|why| why.contains("another address")), "{why:?}");
    let nonces = rows.iter().filter(|line| line.event == "call.refused" && line.detail["reason"] == "nonce");
    ensure!(nonces.count() == 3);
    hub.cli(&["audit", "verify"])?.well()?;
    Ok(())
}

#[test]
fn where_passkeys_may_not_decide_they_sign_in_and_nothing_else() -> Result<()> {
    let (mut hub, mut page, mut phone) = stage(CONFIG)?;
    let engineer = hub.agent("engineer")?;
    let (id, request) = held(&hub, &engineer, "One.")?;
    let signed = page.decision(&mut phone, &request, "approve")?;
    hub.terminate()?;
    hub.configure(&CONFIG.replace(", \"web\"", ""))?;
    hub.run()?;
    let given = phone.sign(&page.challenge("login")?);
    page.cookie.clear();
    page.sign_in(&json!({"passkey": given}))?;
    let card = page.get(&format!("/v1/approvals/{request}"))?;
    ensure!(card["web"]["may"] == false && card["web"]["passkeys"] == json!([]), "{card}");
    refused(&page.post(&format!("/v1/approvals/{request}/challenge"), &json!({}))?, 403, "web")?;
    refused(&page.give(&request, &signed)?, 403, "web")?;
    ensure!(hub.operator()?.message(&id)?["state"] == "held");
    // Nor does what was signed count later: what was given out went with the process.
    hub.terminate()?;
    hub.configure(CONFIG)?;
    hub.run()?;
    refused(&page.give(&request, &signed)?, 409, "nonce")?;
    ensure!(page.decide(&mut phone, &request, "approve")?.status == 200);
    hub.cli(&["audit", "verify"])?.well()?;
    let wrong = CONFIG.replace("\"companion\", ", "");
    hub.terminate()?;
    hub.configure(&wrong)?;
    let told = hub.cli(&["check"])?;
    ensure!(told.status != 0 && told.stderr.contains("companions always may decide"), "{told:?}");
    hub.configure(CONFIG)?;
    hub.run()?;
    Ok(())
}

#[test]
fn the_rules_say_about_what_a_companion_decides_and_a_passkey_has_no_part_in_that() -> Result<()> {
    let rules = "allow = [\"local:*\"]\nby_companion = [\"local:boss\", \"local:bank\", \"person:owner\"]\nby_web = [\"local:bank\"]";
    let (hub, page, mut phone) = stage(&CONFIG.replace("allow = [\"local:*\"]", rules))?;
    let engineer = hub.agent("engineer")?;
    let tried = |to: &str| -> Result<Value> {
        let call = json!({"to": to, "message": "One.", "dryRun": true});
        engineer.post("/v1/messages", &call)?.taken()
    };
    ensure!(
        tried("local:boss")?["decided_by"] == "companion" && tried("local:bank")?["decided_by"] == "both"
    );
    ensure!(tried("local:team")?["decided_by"].is_null());
    let held = |to: &str| -> Result<(String, String)> {
        let id = text(&engineer.send(&json!({"to": to, "message": "One."}))?, "id").to_owned();
        let whole = hub.operator()?.get(&format!("/v1/messages/{id}"))?.taken()?;
        Ok((id, text(&whole, "request").to_owned()))
    };
    let (id, request) = held("local:boss")?;
    let card = page.get(&format!("/v1/approvals/{request}"))?;
    ensure!(card["decided_by"] == "companion" && card["web"]["may"] == false, "{card}");
    refused(&page.post(&format!("/v1/approvals/{request}/challenge"), &json!({}))?, 403, "web")?;
    ensure!(hub.operator()?.message(&id)?["state"] == "held");
    let (id, request) = held("local:bank")?;
    let decided = page.decide(&mut phone, &request, "approve")?.taken()?;
    ensure!(decided["state"] == "held" && decided["approvals"] == 1 && decided["quorum"] == 2, "{decided}");
    let whole = hub.operator()?.message(&id)?;
    ensure!(whole["state"] == "held" && whole["asked"]["problem"].is_string(), "{whole}");
    hub.cli(&["audit", "verify"])?.well()?;
    // Where passkeys do not decide, nobody could.
    let told = hub.config();
    let without = std::fs::read_to_string(&told)?.replace(", \"web\"]", "]");
    std::fs::write(&told, without)?;
    let told = hub.cli(&["check"])?;
    ensure!(told.status != 0 && told.stderr.contains("agents.engineer.by_web"), "{told:?}");
    Ok(())
}
