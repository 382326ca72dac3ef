//! Signing in to the page: by a link or the token, from the page alone, for as long as the token stands.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{
        Client, SpawnedHub, TestHub,
        client::{Answer, text},
        eventually,
    },
    main_job::CONFIG,
};
use serde_json::{Value, json};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// The page in a browser at a hub.
struct Page {
    hub: Client,
    origin: String,
    cookie: String,
}

impl Page {
    /// Nobody is signed in.
    fn at(hub: Client) -> Self {
        let origin = hub.base().to_owned();
        Self { hub, origin, cookie: String::new() }
    }

    fn call(&self, method: &str, path: &str, more: &[(&str, &str)], body: &Value) -> Result<Answer> {
        let mut headers = vec![("user-agent", FIREFOX)];
        if !self.cookie.is_empty() {
            headers.push(("cookie", &self.cookie));
        }
        if method != "GET" && !more.iter().any(|(name, _)| *name == "origin") {
            headers.push(("origin", &self.origin));
        }
        headers.extend(more);
        let body = if method == "GET" { String::new() } else { body.to_string() };
        self.hub.raw(method, path, &headers, body.as_bytes())
    }

    fn get(&self, path: &str) -> Result<Answer> {
        self.call("GET", path, &[], &Value::Null)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.call("POST", path, &[], body)
    }

    /// Signs in, and keeps the cookie.
    fn sign_in(&mut self, credential: &Value) -> Result<Answer> {
        let answer = self.post("/v1/login", credential)?;
        if answer.status == 201 {
            self.cookie = cookie(&answer)?.split(';').next().unwrap_or_default().to_owned();
        }
        Ok(answer)
    }

    /// Opens an event stream on a connection of its own: the status, and the connection.
    fn stream(&self) -> Result<(u16, BufReader<TcpStream>)> {
        let address = self.origin.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        write!(stream, "GET /v1/events HTTP/1.1\r\nhost: {address}\r\ncookie: {}\r\n\r\n", self.cookie)?;
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).context("a status")?.parse()?;
        Ok((status, stream))
    }
}

/// What comes on a stream until the hub ends it.
fn until_its_end(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut heard = String::new();
    // Its last piece has no bytes (RFC 9112, 7.1).
    while !heard.ends_with("\r\n0\r\n") {
        ensure!(stream.read_line(&mut heard).context("the stream goes on")? > 0, "it broke off: {heard}");
    }
    Ok(heard)
}

fn cookie(answer: &Answer) -> Result<&str> {
    let found = answer.headers.iter().find(|(name, _)| name == "set-cookie");
    found.map(|(_, value)| value.as_str()).context("no cookie came")
}

fn code(operator: &Client) -> Result<String> {
    Ok(text(&operator.post("/v1/login/code", &json!({}))?.taken()?, "code").to_owned())
}

fn refused(answer: &Answer, status: u16, reason: &str) -> Result<()> {
    let cookie = answer.headers.iter().any(|(name, _)| name == "set-cookie");
    ensure!(answer.status == status && !cookie, "{answer:?}");
    ensure!(reason.is_empty() || text(&answer.body, "reason") == reason, "{answer:?}");
    Ok(())
}

/// A page that an operator has signed in to by a code, and the operator.
fn signed_in(fixture: &TestHub) -> Result<(Page, Client)> {
    let (mut page, operator) = (Page::at(fixture.anybody(None)?), fixture.operator()?);
    page.sign_in(&json!({"code": code(&operator)?}))?.taken()?;
    Ok((page, operator))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_signs_in_once_with_the_operators_rights_and_the_audit_tells_it() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (mut page, operator) = (Page::at(fixture.anybody(None)?), fixture.operator()?);
    refused(&page.get("/v1/login")?, 401, "")?;
    let code = code(&operator)?;
    let answer = page.sign_in(&json!({"code": code}))?;
    let given = cookie(&answer)?;
    let port = fixture.hub()?.address().port();
    let expected = "; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000";
    ensure!(given.starts_with(&format!("gatepost-{port}=")) && given.ends_with(expected), "{given}");
    let here = answer.taken()?;
    for (member, value) in [("name", "operator"), ("way", "code"), ("version", env!("CARGO_PKG_VERSION"))] {
        ensure!(here[member] == value, "{member}: {here}");
    }
    ensure!(here["approvers"] == json!(["companion"]) && here["passkeys"]["possible"] == false, "{here}");
    ensure!(here["seq"].as_i64() > Some(0) && text(&here, "now").ends_with('Z'), "{here}");
    ensure!(!page.cookie.contains(text(&here, "login")), "the id is the cookie");
    // The same shows at every load, and the cookie lasts anew.
    let shown = page.get("/v1/login")?;
    ensure!(cookie(&shown)?.starts_with(&page.cookie) && shown.body["login"] == here["login"], "{shown:?}");
    // It may what the operator may.
    page.get("/v1/agents")?.taken()?;
    page.post("/v1/agents", &json!({"name": "tom", "role": "agent"}))?.taken()?;
    let sent = page.post("/v1/messages?wait=30", &json!({"to": "local:ann", "message": "Hello."}))?;
    ensure!([200, 202, 400].contains(&sent.status), "{sent:?}");
    // The code is used up, by whoever tries it next.
    let mut other = Page::at(fixture.anybody(None)?);
    refused(&other.sign_in(&json!({"code": code}))?, 401, "code")?;
    let passkey =
        json!({"credential": "AQ", "client_data": "AQ", "authenticator_data": "AQ", "signature": "AQ"});
    refused(&other.sign_in(&json!({"passkey": passkey}))?, 401, "passkey")?;
    let (begun, refusals) = (fixture.audit("login.began")?, fixture.audit("call.refused")?);
    ensure!(begun.len() == 1 && begun[0].actor == "operator:operator", "{begun:?}");
    ensure!(begun[0].detail["browser"] == "Firefox on Linux", "{begun:?}");
    ensure!(refusals.iter().any(|line| line.detail["reason"] == "code"), "{refusals:?}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operators_token_signs_in_and_nobody_elses() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let mut page = Page::at(fixture.anybody(None)?);
    let (agent, operator) = (fixture.agent("engineer").await?, fixture.operator()?);
    refused(&page.sign_in(&json!({"token": agent.token()}))?, 401, "token")?;
    refused(&page.sign_in(&json!({"token": ""}))?, 401, "token")?;
    refused(&agent.post("/v1/login/code", &json!({}))?, 403, "role")?;
    for wrong in
        [json!({}), json!({"code": 5}), json!({"code": "a", "token": "b"}), json!("code"), json!(null)]
    {
        ensure!(page.sign_in(&wrong)?.status == 400, "{wrong}");
    }
    page.sign_in(&json!({"token": format!(" {}\n", operator.token())}))?.taken()?;
    ensure!(page.get("/v1/login")?.taken()?["way"] == "token");
    // A token has no login.
    refused(&operator.get("/v1/login")?, 404, "")?;
    refused(&operator.raw("DELETE", "/v1/login", &[], b"{}")?, 404, "")?;
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_a_token_and_a_cookie_is_refused_whoever_they_are() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (page, operator) = signed_in(&fixture)?;
    let agent = fixture.agent("engineer").await?;
    let wrong = fixture.anybody(Some("gp_00"))?;
    for client in [&operator, &agent, &wrong] {
        refused(&client.raw("GET", "/v1/whoami", &[("cookie", &page.cookie)], &[])?, 400, "credentials")?;
        let body = json!({"token": operator.token()}).to_string();
        let headers = [("cookie", page.cookie.as_str()), ("origin", page.origin.as_str())];
        refused(&client.raw("POST", "/v1/login", &headers, body.as_bytes())?, 400, "credentials")?;
    }
    page.get("/v1/whoami")?.taken()?;
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_page_acts_by_a_login() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (page, operator) = signed_in(&fixture)?;
    let agent = json!({"name": "evil", "role": "operator"});
    let port_beside = "http://127.0.0.1:1";
    for origin in ["http://evil.example", "https://evil.example", "null", port_beside] {
        refused(&page.call("POST", "/v1/agents", &[("origin", origin)], &agent)?, 403, "origin")?;
        refused(
            &page.call("DELETE", "/v1/agents/operator", &[("origin", origin)], &json!({}))?,
            403,
            "origin",
        )?;
        // Nor does it sign somebody in, as whom they do not know.
        let login = json!({"token": operator.token()});
        refused(
            &Page::at(fixture.anybody(None)?).call("POST", "/v1/login", &[("origin", origin)], &login)?,
            403,
            "origin",
        )?;
    }
    let cookie = ("cookie", page.cookie.as_str());
    refused(&page.hub.raw("POST", "/v1/agents", &[cookie], agent.to_string().as_bytes())?, 403, "origin")?;
    for kind in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"] {
        let form = page.call("POST", "/v1/agents", &[("content-type", kind)], &agent)?;
        refused(&form, 403, "origin")?;
    }
    for site in ["cross-site", "same-site"] {
        refused(&page.call("GET", "/v1/agents", &[("sec-fetch-site", site)], &Value::Null)?, 403, "origin")?;
    }
    page.call("GET", "/v1/agents", &[("sec-fetch-site", "same-origin")], &Value::Null)?.taken()?;
    // Agents' protocol is not for browsers at all.
    refused(&page.post("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))?, 403, "login")?;
    let names = operator.get("/v1/agents")?.taken()?.to_string();
    ensure!(!names.contains("evil") && names.contains("operator"), "{names}");
    ensure!(page.post("/v1/agents", &json!({"name": "good", "role": "agent"}))?.status == 201);
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_are_listed_and_each_can_be_ended() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (mut page, operator) = signed_in(&fixture)?;
    let (other, _) = signed_in(&fixture)?;
    let listed = page.get("/v1/logins")?.taken()?;
    let logins = listed["logins"].as_array().context("logins")?;
    let own: Vec<_> = logins.iter().filter(|one| one["this_one"] == true).collect();
    ensure!(logins.len() == 2 && own.len() == 1 && own[0]["browser"] == "Firefox on Linux", "{listed}");
    ensure!(
        own[0]["from"] == "127.0.0.1" && text(own[0], "expires_at") > text(own[0], "seen_at"),
        "{listed}"
    );
    ensure!(!listed.to_string().contains(page.cookie.split('=').nth(1).context("a cookie")?), "{listed}");
    let others = logins.iter().find(|one| one["this_one"] == false).context("the other")?;
    let path = format!("/v1/logins/{}", text(others, "login"));
    let (status, mut stream) = other.stream()?;
    ensure!(status == 200, "{status}");
    page.call("DELETE", &path, &[], &json!({}))?.taken()?;
    refused(&other.get("/v1/login")?, 401, "")?;
    refused(&page.call("DELETE", &path, &[], &json!({}))?, 404, "")?;
    // Its stream hears of nothing more.
    let heard = until_its_end(&mut stream)?;
    ensure!(!heard.contains("login.ended"), "{heard}");

    // Signing in anew ends the one before; signing out takes the cookie back.
    let before = page.cookie.clone();
    page.sign_in(&json!({"code": code(&operator)?}))?.taken()?;
    ensure!(before != page.cookie, "another cookie");
    let gone = Page { cookie: before, ..Page::at(fixture.anybody(None)?) };
    refused(&gone.get("/v1/login")?, 401, "")?;
    let out = page.call("DELETE", "/v1/login", &[], &json!({}))?;
    ensure!(out.status == 200 && cookie(&out)?.ends_with("Path=/; Max-Age=0"), "{out:?}");
    refused(&page.get("/v1/agents")?, 401, "")?;
    let ended = fixture.audit("login.ended")?;
    let why: Vec<_> = ended.iter().map(|line| text(&line.detail, "why")).collect();
    ensure!(why == ["ended", "signed out", "signed out"], "{why:?}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_goes_with_its_token_and_with_a_month_of_rest() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let operator = fixture.operator()?;
    let second = operator.post("/v1/agents", &json!({"name": "second", "role": "operator"}))?.taken()?;
    let second = fixture.anybody(Some(text(&second, "token")))?;
    let mut page = Page::at(fixture.anybody(None)?);
    page.sign_in(&json!({"code": code(&second)?}))?.taken()?;
    let waiting = code(&second)?;
    let (_, mut stream) = page.stream()?;
    ensure!(page.get("/v1/whoami")?.taken()?.to_string().contains("second"), "whose it is");
    operator.raw("DELETE", "/v1/agents/second", &[], b"{}")?.taken()?;
    refused(&page.get("/v1/agents")?, 401, "")?;
    refused(&Page::at(fixture.anybody(None)?).sign_in(&json!({"code": waiting}))?, 401, "code")?;
    let heard = until_its_end(&mut stream)?;
    ensure!(!heard.contains("token.revoked"), "{heard}");

    let (page, _) = signed_in(&fixture)?;
    let id = page.get("/v1/login")?.taken()?;
    let age = "UPDATE logins SET seen_at = seen_at - 2591000000 WHERE id = ?";
    fixture.write(age, text(&id, "login")).await?;
    // Nearly a month; and being used, it stays.
    page.get("/v1/login")?.taken()?;
    fixture.write(age, text(&id, "login")).await?;
    page.get("/v1/login")?.taken()?;
    fixture
        .write("UPDATE logins SET seen_at = seen_at - 2592000000 WHERE id = ?", text(&id, "login"))
        .await?;
    refused(&page.get("/v1/login")?, 401, "")?;
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_ten_failures_nobody_signs_in_from_there_for_a_while() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let operator = fixture.operator()?;
    let (mut page, code) = (Page::at(fixture.anybody(None)?), code(&operator)?);
    for attempt in 0..10 {
        let wrong = if attempt % 2 == 0 {
            json!({"code": "AAAAAAAAAAAAAAAAAAAAAA"})
        } else {
            json!({"token": "gp_0"})
        };
        refused(&page.sign_in(&wrong)?, 401, "")?;
    }
    let late = page.sign_in(&json!({"code": code}))?;
    refused(&late, 429, "attempts")?;
    ensure!(late.headers.iter().any(|(name, _)| name == "retry-after"), "{late:?}");
    // Others are not kept out: tokens, and whoever comes from elsewhere, as a proxy on this machine says.
    operator.get("/v1/agents")?.taken()?;
    let elsewhere = [("x-forwarded-for", "192.0.2.9")];
    ensure!(page.call("POST", "/v1/login", &elsewhere, &json!({"code": code}))?.status == 201);
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_login_has_streams_of_its_own() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (page, operator) = signed_in(&fixture)?;
    let (other, _) = signed_in(&fixture)?;
    let open: Vec<_> = (0..8).map(|_| page.stream()).collect::<Result<_>>()?;
    ensure!(open.iter().all(|(status, _)| *status == 200), "{open:?}");
    ensure!(page.stream()?.0 == 429, "the ninth");
    ensure!(other.stream()?.0 == 200, "another login");
    let heard = operator.listen(None)?;
    drop((open, heard));
    eventually("a place is free", || Ok((page.stream()?.0 == 200).then_some(())))?;
    fixture.stop().await;
    Ok(())
}

#[test]
fn neither_a_link_nor_a_cookie_is_in_the_log_the_audit_or_the_database() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), CONFIG)?;
    hub.log_at("trace");
    hub.run()?;
    let link = hub.cli(&["open"])?.well()?;
    let code = link.trim().split_once("/#in=").context("a link")?.1.to_owned();
    ensure!(link.starts_with(&format!("http://localhost:{}/#in=", hub.port())), "{link}");
    let mut page = Page::at(hub.anybody(None));
    page.sign_in(&json!({"code": code}))?.taken()?;
    page.get("/v1/agents")?.taken()?;
    refused(&page.sign_in(&json!({"code": code}))?, 401, "code")?;
    refused(
        &page.call("POST", "/v1/agents", &[("origin", "http://evil.example")], &json!({}))?,
        403,
        "origin",
    )?;
    page.call("DELETE", "/v1/login", &[], &json!({}))?.taken()?;
    hub.terminate()?;
    let (log, audit) = (hub.log()?, hub.cli(&["audit", "show", "--json"])?.well()?);
    ensure!(log.contains(" TRACE ") && audit.contains("login.began"), "{audit}");
    let secret = page.cookie.split('=').nth(1).context("a cookie")?;
    let database = std::fs::read(hub.data_dir().join("gatepost.db"))?;
    for (what, secret) in [("the code", code.as_str()), ("the cookie", secret)] {
        ensure!(secret.len() >= 22, "{secret}");
        for (place, text) in [("log", &log), ("audit", &audit)] {
            let line = text.lines().find(|line| line.contains(secret));
            ensure!(line.is_none(), "{what} is in the {place}: {line:?}");
        }
        ensure!(
            !database.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()),
            "{what} is in the database"
        );
    }
    Ok(())
}
