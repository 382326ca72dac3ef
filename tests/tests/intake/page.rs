//! The page is there where a browser takes it for safe, and the hub answers to no name but its own.

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{TestHub, client::text},
    main_job::CONFIG,
};

const PERSON: (&str, &str) = ("accept", "text/html,application/xhtml+xml");

fn header<'a>(answer: &'a gatepost_tests::hub::client::Answer, name: &str) -> &'a str {
    answer.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_comes_with_what_a_browser_may_do_with_it_and_is_sent_once() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let nobody = fixture.anybody(None)?;
    let page = nobody.get("/")?;
    ensure!(page.status == 200 && page.kind == "text/html; charset=utf-8", "{page:?}");
    ensure!(page.body.as_str().is_some_and(|page| page.contains("/web/app.js")), "{page:?}");
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; \
                  base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-cache"),
    ] {
        ensure!(header(&page, name) == value, "{name}: {page:?}");
    }
    let tag = header(&page, "etag");
    ensure!(tag.len() > 16, "{tag}");
    for (given, status) in
        [(tag.to_owned(), 304), (format!("\"x\", W/{tag}"), 304), ("\"x\"".to_owned(), 200)]
    {
        let again = nobody.raw("GET", "/", &[("if-none-match", &given)], &[])?;
        ensure!(again.status == status && header(&again, "etag") == tag, "{given}: {again:?}");
    }
    for (path, kind) in [
        ("/web/app.js", "text/javascript; charset=utf-8"),
        ("/web/page.css", "text/css; charset=utf-8"),
        ("/web/icons.svg", "image/svg+xml"),
        ("/web/icon.svg", "image/svg+xml"),
        ("/web/site.webmanifest", "application/manifest+json"),
    ] {
        let file = nobody.get(path)?;
        ensure!(file.status == 200 && file.kind == kind, "{path}: {}", file.kind);
        ensure!(header(&file, "content-security-policy") == policy, "{path}");
        ensure!(!file.body.to_string().contains("/**"), "{path} has its comments");
    }
    for path in ["/web/types.js", "/web/index.html", "/web/", "/web/..%2Fapp.js", "/web/%ff", "/web/x/app.js"]
    {
        let file = nobody.get(path)?;
        ensure!(file.status == 404 && text(&file.body, "code") == "not_found", "{path}: {file:?}");
    }
    ensure!(nobody.raw("POST", "/", &[], b"{}")?.status == 405);
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn where_somebody_could_listen_there_are_words_in_the_pages_place() -> Result<()> {
    let config = format!("[hub]\nhosts = [\"hub.example.org\"]\n{CONFIG}");
    let mut fixture = TestHub::start(&config).await?;
    let nobody = fixture.anybody(None)?;
    let (lan, name) = (("host", "192.0.2.7:8787"), ("host", "hub.example.org"));
    for by in [vec![lan], vec![name], vec![name, ("x-forwarded-proto", "http")]] {
        let program = nobody.raw("GET", "/web/app.js", &by, &[])?;
        ensure!(program.status == 403 && text(&program.body, "reason") == "insecure", "{by:?}: {program:?}");
        let person = nobody.raw("GET", "/", &[by, vec![PERSON]].concat(), &[])?;
        let words = person.body.as_str().context("words")?;
        ensure!(person.status == 403 && person.kind.starts_with("text/plain"), "{person:?}");
        ensure!(words.contains("ssh -L") && words.contains("[hub] hosts"), "{words}");
    }
    for by in [vec![name, ("x-forwarded-proto", "https")], vec![name, ("sec-fetch-site", "none")]] {
        ensure!(nobody.raw("GET", "/", &by, &[])?.status == 200, "{by:?}");
    }
    // What is no page is as it was.
    ensure!(fixture.operator()?.raw("GET", "/v1/agents", &[lan], &[])?.status == 200);
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_answered_under_a_name_that_is_not_the_hubs() -> Result<()> {
    let config = format!("[hub]\nhosts = [\"hub.example.org\", \"hub.lan:8787\"]\n{CONFIG}");
    let mut fixture = TestHub::start(&config).await?;
    let operator = fixture.operator()?;
    let calls = [
        ("GET", "/"),
        ("GET", "/web/app.js"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/v1/agents"),
        ("GET", "/v1/events"),
        ("POST", "/v1/agents"),
        ("POST", "/v1/login"),
        ("POST", "/v1/platform/whatsapp/home"),
        ("POST", "/v1/hooks/home"),
        ("POST", "/mcp"),
        ("GET", "/nowhere"),
    ];
    for (method, path) in calls {
        for host in ["evil.example", "localhost.evil.example:8787", "hub.lan:9"] {
            let body: &[u8] = if method == "POST" { b"{}" } else { b"" };
            let answer = operator.raw(method, path, &[("host", host)], body)?;
            ensure!(answer.status == 421 && text(&answer.body, "reason") == "host", "{path}: {answer:?}");
            ensure!(text(&answer.body, "hint").contains("[hub] hosts"), "{answer:?}");
        }
    }
    ensure!(fixture.audit("call.refused")?.len() >= calls.len(), "it stands in the audit");
    for host in
        ["hub.example.org", "HUB.example.org:443", "hub.lan:8787", "localhost", "[::1]:8787", "192.0.2.7"]
    {
        let answer = operator.raw("GET", "/v1/agents", &[("host", host)], &[])?;
        ensure!(answer.status == 200, "{host}: {answer:?}");
    }
    let person = operator.raw("GET", "/", &[("host", "evil.example"), PERSON], &[])?;
    ensure!(person.body.as_str().is_some_and(|words| words.contains("no name of this hub")), "{person:?}");
    fixture.stop().await;
    Ok(())
}
