//! What a person's page reads of a hub: every answer has the members that `daemon/web/types.js` says, and each call its bounds.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail, ensure};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatepost_link::{decision::Verdict, document::Document};
use gatepost_tests::hub::{
    Client, SpawnedHub, TestHub,
    client::{Answer, text},
    database, eventually,
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]
hold = ["local:boss"]

[agents.courier]
allow = ["local:*"]
cross_context = "allow"
decorate = false

[agents.idle]
allow = []

[book]
kitchen = "local:kitchen"

[approval]
allow_software_companion = true
cards_per_hour = 3

[channels.local.home]
limit = 2000
"#;

/// Roles other than the operator's see none of it.
const FOR_OPERATORS: [(&str, &str); 16] = [
    ("GET", "/v1/approvals"),
    ("GET", "/v1/approvals/00000000000000000000000000000000"),
    ("POST", "/v1/approvals/00000000000000000000000000000000/challenge"),
    ("POST", "/v1/approvals/00000000000000000000000000000000/decision"),
    ("GET", "/v1/passkeys"),
    ("POST", "/v1/passkeys"),
    ("DELETE", "/v1/passkeys/0000000000000000"),
    ("GET", "/v1/agents"),
    ("POST", "/v1/agents/engineer/try"),
    ("POST", "/v1/agents/engineer/mute"),
    ("GET", "/v1/channels/guides"),
    ("GET", "/v1/channels/guides/telegram"),
    ("GET", "/v1/audit"),
    ("POST", "/v1/audit/verify"),
    ("GET", "/v1/figures"),
    ("GET", "/v1/settings"),
];

/// The shapes of `types.js`.
struct Shapes(String);

/// A member of a shape: its name, its type, and whether it may be left out.
type Member = (String, String, bool);

impl Shapes {
    fn read() -> Result<Self> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/web/types.js");
        Ok(Self(fs::read_to_string(file)?))
    }

    fn members(&self, shape: &str) -> Result<Vec<Member>> {
        if let Some((_, rest)) = self.0.split_once(&format!("@typedef {{object}} {shape}\n")) {
            let block = rest.split("*/").next().unwrap_or_default();
            return Ok(block.split("@property {").skip(1).filter_map(member).collect());
        }
        let end = format!("}}}} {shape}");
        let ends = |line: &&str| line.contains(&end) && line.contains("@typedef {{");
        let line = self.0.lines().find(ends).with_context(|| format!("types.js has no shape {shape}"))?;
        let inline =
            line.split_once("@typedef {{").context("a shape")?.1.split_once(&end).context("its end")?.0;
        let mut members = vec![];
        let (mut depth, mut from) = (0_i32, 0);
        for (at, c) in inline.char_indices().chain([(inline.len(), ',')]) {
            depth += i32::from("{(<".contains(c)) - i32::from("})>".contains(c));
            if c == ',' && depth == 0 {
                let (key, of) = inline[from..at].trim().split_once(": ").context("a member")?;
                members.push((key.trim_end_matches('?').into(), of.into(), key.ends_with('?')));
                from = at + 1;
            }
        }
        Ok(members)
    }

    /// That a value has what the shape says.
    fn fits(&self, value: &Value, shape: &str) -> Result<()> {
        for (key, of, optional) in self.members(shape)? {
            match value.get(&key) {
                None => ensure!(optional, "{key} is missing in a {shape}: {value}"),
                Some(Value::Null) => {
                    ensure!(of.split(" | ").any(|of| of == "null"), "{key} is null in a {shape}: {value}");
                }
                Some(member) => {
                    let is_right = match of.split(" | ").next().unwrap_or_default() {
                        "string" | "Hex" | "Bytes" | "State" | "PartState" => member.is_string(),
                        "Time" => member.as_str().is_some_and(|at| at.len() == 24 && at.ends_with('Z')),
                        "number" => member.is_number(),
                        "boolean" | "true" => member.is_boolean(),
                        list if list.ends_with("[]") => member.is_array(),
                        word if word.starts_with('"') => {
                            of.split(" | ").any(|word| word.trim_matches('"') == member)
                        }
                        _ => member.is_object() || member.is_array(),
                    };
                    ensure!(is_right, "{key} is no {of} in a {shape}: {value}");
                }
            }
        }
        Ok(())
    }

    /// The same of each in a list that is not empty.
    fn all_fit(&self, values: &Value, shape: &str) -> Result<()> {
        let values = values.as_array().with_context(|| format!("a list of {shape}"))?;
        ensure!(!values.is_empty(), "there is no {shape} to look at");
        values.iter().try_for_each(|value| self.fits(value, shape))
    }
}

/// `type} name` or `type} [name] words`, the type with braces of its own.
fn member(text: &str) -> Option<Member> {
    let mut depth = 1_i32;
    let end = text.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        (depth == 0).then_some(at)
    })?;
    let name = text[end + 1..].split_whitespace().next()?;
    let optional = name.starts_with('[');
    Some((name.trim_matches(['[', ']']).into(), text[..end].trim_matches(['(', ')']).into(), optional))
}

fn get(client: &Client, path: &str) -> Result<Value> {
    client.get(path)?.taken()
}

fn is_refused(answer: &Answer, status: u16) -> Result<()> {
    ensure!(answer.status == status && answer.body["ok"] == false, "{answer:?}");
    ensure!(
        !text(&answer.body, "hint").is_empty() && answer.kind == "application/problem+json",
        "{answer:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_page_reads_has_the_members_that_it_wants() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (shapes, operator) = (Shapes::read()?, fixture.operator()?);
    for (path, member) in [("approvals", "waiting"), ("messages", "messages"), ("turns", "turns")] {
        ensure!(get(&operator, &format!("/v1/{path}"))?[member] == json!([]), "{path} of an empty hub");
    }
    let (engineer, courier) = (fixture.agent("engineer").await?, fixture.agent("courier").await?);
    let sent = courier.send_and_wait(&json!({"to": "local:ann", "message": "\n**Tea** at four?"}))?;
    let held =
        engineer.send(&json!({"to": "local:team", "message": "The build is **green**.\n\nMore follows."}))?;
    let denied = engineer.send(&json!({"to": "local:team", "message": "May I?"}))?;
    ensure!(held["state"] == "held" && denied["state"] == "held", "{held} {denied}");
    eventually("the companion has the card", || {
        let listed = get(&operator, "/v1/companions")?;
        Ok(listed["companions"][0]["shows"].is_string().then_some(()))
    })?;
    fixture.decide(Verdict::Approve).await?;
    fixture.decide(Verdict::Deny).await?;
    engineer.ended(text(&denied, "id"), "denied")?;
    engineer.ended(text(&held, "id"), "sent")?;
    let open = engineer.send(&json!({"to": "kitchen", "message": "Milk?"}))?;
    let later = engineer.send(&json!({"to": "kitchen", "message": "Bread?"}))?;
    operator.heard("courier", "ann")?;
    let sessions = get(&operator, "/v1/sessions?agent=courier")?;
    let session = text(&sessions["sessions"][0], "session").replace(':', "%3A").replace('/', "%2F");
    let transcript = format!("sessions/transcript?agent=courier&session={session}");

    for (path, member, shape) in [
        ("approvals", "", "Approvals"),
        ("approvals", "waiting", "ApprovalRow"),
        ("approvals", "later", "ApprovalRow"),
        ("approvals", "decided", "ApprovalRow"),
        ("messages", "", "Messages"),
        ("messages", "messages", "Summary"),
        ("sessions", "sessions", "Session"),
        (transcript.as_str(), "lines", "SessionLine"),
        ("local?last=9", "arrived", "Arrived"),
        ("agents", "agents", "AgentView"),
        ("channels?fresh=true", "channels", "Ready"),
        ("channels/guides/telegram", "", "ChannelGuide"),
        ("companions", "companions", "Companion"),
        ("updates", "", "Updates"),
        ("audit", "", "Audit"),
        ("audit", "rows", "AuditRow"),
        ("figures", "", "Figures"),
        ("figures", "buckets", "Bucket"),
        ("settings", "", "Settings"),
        ("settings", "sections", "SettingsSection"),
    ] {
        let answer = get(&operator, &format!("/v1/{path}"))?;
        let checked = match member {
            "" => shapes.fits(&answer, shape),
            member => shapes.all_fit(&answer[member], shape),
        };
        checked.with_context(|| format!("GET /v1/{path}"))?;
    }
    for id in [&sent, &held, &open, &later] {
        let whole = get(&operator, &format!("/v1/messages/{}", text(id, "id")))?;
        shapes.fits(&whole, "Whole")?;
        shapes.all_fit(&whole["parts"], "PartReceipt")?;
    }
    let settings = get(&operator, "/v1/settings")?;
    for section in settings["sections"].as_array().context("sections")? {
        section["keys"]
            .as_array()
            .context("keys")?
            .iter()
            .try_for_each(|key| shapes.fits(key, "SettingsKey"))?;
    }
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_shown_as_it_was_signed_with_why_and_with_what_would_change_that() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (shapes, operator) = (Shapes::read()?, fixture.operator()?);
    let (engineer, bridge) = (fixture.agent("engineer").await?, fixture.bridge("porch").await?);
    let context = bridge.heard("engineer", "kitchen")?;
    let words = "# Build\n\nIt is **green**: [log](https://hub.test/log).";
    let held = engineer.send(&json!({"to": "local:team", "message": words, "context": context}))?;
    let boss = engineer.send(&json!({"to": "local:boss", "message": "A raise?"}))?;

    let request = |id: &Value| -> Result<String> {
        let whole = get(&operator, &format!("/v1/messages/{}", text(id, "id")))?;
        Ok(text(&whole, "request").to_owned())
    };
    let card = get(&operator, &format!("/v1/approvals/{}", request(&held)?))?;
    shapes.fits(&card, "ApprovalRow")?;
    shapes.fits(&card, "ApprovalView")?;
    shapes.all_fit(&card["parts"], "PartView")?;
    shapes.all_fit(&card["companions"], "AskedCompanion")?;
    let stored = database::approval(&fixture.database()?, text(&held, "id"))?;
    ensure!(
        URL_SAFE_NO_PAD.decode(text(&card, "document"))? == stored.document,
        "other bytes than are signed"
    );
    let document = Document::decode(&stored.document).map_err(|error| anyhow::anyhow!("{error}"))?;
    ensure!(card["line"] == "# Build" && card["origin_name"] == "kitchen" && card["targets"] == 1, "{card}");
    ensure!(text(&card, "why").starts_with("it leaves its conversation, local:kitchen"), "{card}");
    ensure!(card["toml"] == "[agents.engineer]\ncross_context = \"allow\"\n", "{card}");
    ensure!(card["web"]["may"] == false && text(&card["web"], "because").contains("companions"), "{card}");
    let part = &card["parts"][0];
    ensure!(part["limit"] == 2000 && part["units"].as_u64() > Some(10), "{part}");
    // The inbox has no formatting: what is seen there is what is sent.
    ensure!(
        part["looks"][0]["style"] == json!([]) && text(&part["looks"][0], "text").contains("green"),
        "{part}"
    );
    let row = card["audit_row"].as_i64().context("the row of the head")?;
    let rows = get(&operator, &format!("/v1/audit?after={}&limit=1", row - 1))?;
    ensure!(rows["rows"][0]["hash"] == document.audit_head.to_string(), "{rows}");
    let screen = &card["screen"];
    let lines: Vec<&str> =
        screen["lines"].as_array().context("lines")?.iter().filter_map(Value::as_str).collect();
    ensure!(lines.len() == 8 && lines[0].starts_with(&format!("1/{} request", screen["pages"])), "{screen}");
    ensure!(lines[1].starts_with("agent: engineer") && lines[7].starts_with("next"), "{screen}");

    let asked = engineer.post("/v1/questions", &json!({"question": "Deploy **2.4**?"}))?.taken()?;
    let question = get(&operator, &format!("/v1/approvals/{}", request(&asked)?))?;
    ensure!(
        question["kind"] == "question" && question["to"] == "" && question["toml"].is_null(),
        "{question}"
    );
    ensure!(
        question["parts"][0]["limit"] == 0 && text(&question, "line").starts_with("Deploy"),
        "{question}"
    );

    // Under `hold`, crossing alone would change nothing.
    let card = get(&operator, &format!("/v1/approvals/{}", request(&boss)?))?;
    let toml =
        "[agents.engineer]\nallow = [\"local:*\", \"local:boss\"]\nhold = []\ncross_context = \"allow\"\n";
    ensure!(card["toml"] == toml && text(&card, "why").ends_with("local:boss is under `hold`"), "{card}");

    for name in ["00000000000000000000000000000000", "x", "%2e%2e", &"0".repeat(64)] {
        is_refused(&operator.get(&format!("/v1/approvals/{name}"))?, 404)?;
    }
    ensure!(engineer.message(text(&held, "id"))?["request"].is_null(), "an agent is told of no request");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_found_by_filter_text_and_cursor_and_by_their_agent_alone() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let operator = fixture.operator()?;
    let (courier, engineer) = (fixture.agent("courier").await?, fixture.agent("engineer").await?);
    for n in 1..=5 {
        courier.send_and_wait(&json!({"to": "local:ann", "message": format!("Parcel {n} of 5")}))?;
    }
    engineer.send(&json!({"to": "kitchen", "message": "Crème, 100 %"}))?;
    let found = |client: &Client, query: &str| -> Result<(Vec<String>, Value)> {
        let answer = get(client, &format!("/v1/messages?{query}"))?;
        let lines = answer["messages"].as_array().context("messages")?.iter();
        Ok((lines.map(|one| text(one, "line").to_owned()).collect(), answer["next"].clone()))
    };
    ensure!(found(&operator, "q=parcel%203")?.0 == ["Parcel 3 of 5"]);
    ensure!(found(&operator, "q=CR%C3%88ME")?.0 == ["Crème, 100 %"]);
    ensure!(found(&operator, "q=kitchen&state=held,ready")?.0.len() == 1);
    ensure!(found(&operator, "agent=courier&channel=local")?.0.len() == 5);
    ensure!(found(&operator, "channel=email")?.0.is_empty());
    let (first, next) = found(&operator, "state=sent&limit=2")?;
    ensure!(first == ["Parcel 5 of 5", "Parcel 4 of 5"], "{first:?}");
    let (second, next) =
        found(&operator, &format!("state=sent&limit=3&before={}", next.as_str().context("next")?))?;
    ensure!(second.len() == 3 && next.is_null(), "{second:?} {next}");
    ensure!(
        found(&engineer, "agent=courier")?.0 == ["Crème, 100 %"],
        "an agent sees its own, whatever it asks for"
    );
    for query in ["state=sent,gone", "state=", "before=x", "before=-1", "limit=1001"] {
        is_refused(&operator.get(&format!("/v1/messages?{query}"))?, 400)?;
    }
    is_refused(&operator.get(&format!("/v1/messages?q={}", "x".repeat(201)))?, 400)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_says_what_the_rules_say_and_leaves_nothing() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let operator = fixture.operator()?;
    fixture.agent("guest").await?;
    let attempt = |agent: &str, body: Value| operator.post(&format!("/v1/agents/{agent}/try"), &body);
    for (agent, body, verdict) in [
        ("engineer", json!({"to": "local:team"}), "hold"),
        ("engineer", json!({"to": "local:team", "origin": "local:team"}), "allow"),
        ("engineer", json!({"to": "local:boss", "origin": "local:boss"}), "allow"),
        ("engineer", json!({"to": "local:boss", "origin": "local:team"}), "hold"),
        ("courier", json!({"to": "local:team", "message": "Tea?"}), "allow"),
        ("engineer", json!({"to": "email:x@example.org"}), "deny"),
        ("idle", json!({"to": "local:team"}), "deny"),
        ("guest", json!({"to": "local:team"}), "deny"),
    ] {
        let said = attempt(agent, body.clone())?.taken()?;
        ensure!(said["verdict"] == verdict && !text(&said, "reason").is_empty(), "{agent} {body}: {said}");
        ensure!(said["ok"] == (verdict != "deny"), "{said}");
    }
    is_refused(&attempt("nobody", json!({"to": "local:team"}))?, 404)?;
    for body in [
        json!({}),
        json!({"to": ""}),
        json!({"to": "local:a", "origin": "nowhere"}),
        json!({"to": "local:a", "as": 1}),
    ] {
        is_refused(&attempt("engineer", body)?, 400)?;
    }
    ensure!(operator.queue()?.is_empty() && fixture.arrived("team")?.is_empty(), "nothing was sent");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_about_a_muted_agent_until_that_is_over() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let operator = fixture.operator()?;
    let engineer = fixture.agent("engineer").await?;
    let mute = |agent: &str, seconds: Value| {
        operator.post(&format!("/v1/agents/{agent}/mute"), &json!({"seconds": seconds}))
    };
    let until = mute("engineer", json!(3600))?.taken()?;
    let agent = |name: &str| -> Result<Value> {
        let listed = get(&operator, "/v1/agents")?;
        let found =
            listed["agents"].as_array().context("agents")?.iter().find(|one| one["name"] == name).cloned();
        found.with_context(|| format!("{name} in {listed}"))
    };
    ensure!(agent("engineer")?["muted_until"] == until["muted_until"] && until["muted_until"].is_string());
    let held = engineer.send(&json!({"to": "local:team", "message": "Hello?"}))?;
    ensure!(held["ok"] == true && held["state"] == "held", "{held}");
    ensure!(text(&held, "reason").contains("nobody is asked yet, since engineer is muted until"), "{held}");
    let all = get(&operator, "/v1/approvals")?;
    ensure!(all["waiting"] == json!([]) && all["later"][0]["asks_at"] == until["muted_until"], "{all}");
    ensure!(mute("engineer", json!(0))?.taken()?["muted_until"].is_null());
    fixture.decide(Verdict::Approve).await?;
    engineer.ended(text(&held, "id"), "sent")?;
    ensure!(agent("engineer")?["muted_until"].is_null() && agent("engineer")?["cards"] == 1);
    ensure!(fixture.audit("agent.muted")?.len() == 1 && fixture.audit("agent.unmuted")?.len() == 1);
    is_refused(&mute("nobody", json!(60))?, 404)?;
    for seconds in [json!(86_401), json!(-1), json!("1h"), json!(1.5)] {
        is_refused(&mute("engineer", seconds)?, 400)?;
    }
    let idle = agent("idle")?;
    ensure!(
        idle["created_at"].is_null() && idle["configured"] == true && idle["allow"] == json!([]),
        "{idle}"
    );
    fixture.audit_is_whole().await
}

#[test]
fn an_agent_is_muted_at_the_command_line_whether_the_hub_runs_or_not() -> Result<()> {
    let mut hub = SpawnedHub::start(CONFIG)?;
    let muted = |hub: &SpawnedHub| -> Result<bool> {
        let listed = get(&hub.operator()?, "/v1/agents")?;
        let found =
            listed["agents"].as_array().context("agents")?.iter().find(|one| one["name"] == "engineer");
        Ok(found.context("engineer")?["muted_until"].is_string())
    };
    let told = hub.cli(&["agent", "mute", "engineer", "--for", "1h"])?;
    ensure!(
        told.status == 0 && told.stderr.contains("nobody is asked about messages of engineer until"),
        "{told:?}"
    );
    ensure!(muted(&hub)?);
    hub.terminate()?;
    hub.cli(&["agent", "mute", "engineer", "--end"])?.well()?;
    for (wrong, status) in [
        (&["agent", "mute", "engineer"][..], 2),
        (&["agent", "mute", "engineer", "--for", "1h", "--end"], 2),
        (&["agent", "mute", "engineer", "--for", "25h"], 2),
        (&["agent", "mute", "nobody", "--for", "1h"], 5),
    ] {
        let told = hub.cli(wrong)?;
        ensure!(told.status == status, "{wrong:?}: {told:?}");
    }
    hub.run()?;
    ensure!(!muted(&hub)?);
    // Who has no token is no line of the list of those who have one.
    let listed = hub.cli(&["agent", "list", "--json"])?.json()?;
    ensure!(listed.as_array().context("a list")?.iter().all(|one| one["created_at"].is_string()), "{listed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_is_read_filtered_exported_and_checked_and_a_fault_is_named() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let operator = fixture.operator()?;
    let courier = fixture.agent("courier").await?;
    let sent = courier.send_and_wait(&json!({"to": "local:ann", "message": "Tea?"}))?;
    let id = text(&sent, "id");
    let rows = |query: &str| -> Result<Vec<String>> {
        let answer = get(&operator, &format!("/v1/audit?{query}"))?;
        let rows = answer["rows"].as_array().context("rows")?.iter();
        Ok(rows.map(|row| text(row, "event").to_owned()).collect())
    };
    let happened = ["message.sent", "message.sending", "message.ready", "message.accepted"];
    ensure!(rows(&format!("message={id}"))? == happened);
    ensure!(rows("event=message")? == happened && rows("event=message.sent")?.len() == 1);
    ensure!(
        rows("event=messag")?.is_empty() && rows("actor=agent:courier")?.contains(&"message.accepted".into())
    );
    let all = get(&operator, "/v1/audit?limit=1000")?;
    ensure!(all["rows"][0]["seq"] == all["newest"] && all["next"].is_null(), "{all}");
    for query in ["format=xml", "limit=1001", "after=x", "before=-1", "by=me"] {
        is_refused(&operator.get(&format!("/v1/audit?{query}"))?, 400)?;
    }
    let file = operator.get("/v1/audit?format=jsonl")?;
    ensure!(file.kind == "application/jsonl", "{file:?}");
    let lines = file.body.as_str().context("lines")?.lines().count();
    ensure!(lines as u64 >= all["newest"].as_u64().context("newest")?, "{lines} lines");

    let report = verified(&operator)?;
    ensure!(report["faults"] == json!([]) && report["rows"].as_u64() >= all["newest"].as_u64(), "{report}");
    fixture.write("UPDATE audit SET actor = 'agent:mallory' WHERE event = ?", "message.sent").await?;
    let report = verified(&operator)?;
    ensure!(report["faults"].to_string().contains("was changed"), "{report}");
    Ok(())
}

/// What a check of the audit ends with.
fn verified(operator: &Client) -> Result<Value> {
    let answer = operator.post("/v1/audit/verify", &json!({}))?;
    ensure!(answer.kind == "text/event-stream", "{answer:?}");
    let stream = answer.body.as_str().context("a stream")?;
    let report = stream.split("event: report\ndata: ").nth(1).and_then(|rest| rest.lines().next());
    Ok(serde_json::from_str(report.with_context(|| stream.to_owned())?)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_an_attachment_but_for_pictures_and_has_no_rights() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let operator = fixture.operator()?;
    let courier = fixture.agent("courier").await?;
    let upload = |bytes: &[u8]| -> Result<String> {
        let headers = [("content-type", "application/octet-stream")];
        Ok(text(&courier.raw("POST", "/v1/files", &headers, bytes)?.body, "file").to_owned())
    };
    for (bytes, kind, how) in [
        // A picture of bytes that this client can read.
        (&b"GIF89a\x01\0\x01\0\0\0\0;"[..], "image/gif", "inline"),
        (b"<!doctype html><script>alert(1)</script>", "application/octet-stream", "attachment"),
        (
            b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>",
            "application/octet-stream",
            "attachment",
        ),
        (b"plain words", "application/octet-stream", "attachment"),
    ] {
        let answer = operator.get(&format!("/v1/files/{}", upload(bytes)?))?;
        let header = |name: &str| {
            let found = answer.headers.iter().find(|(known, _)| known == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        ensure!(answer.status == 200 && answer.kind == kind, "{answer:?}");
        ensure!(header("content-disposition").starts_with(how), "{kind}: {answer:?}");
        ensure!(header("content-security-policy").contains("sandbox"), "{answer:?}");
        ensure!(header("x-content-type-options") == "nosniff", "{answer:?}");
        ensure!(header("content-length") == bytes.len().to_string(), "{answer:?}");
    }
    for name in [&"0".repeat(64), "x", "..%2Fgatepost.db"] {
        is_refused(&operator.get(&format!("/v1/files/{name}"))?, 404)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_say_what_holds_and_nothing_secret_and_guides_are_those_of_the_channels() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let operator = fixture.operator()?;
    let settings = get(&operator, "/v1/settings")?;
    let key = |section: &str, key: &str| -> Option<Value> {
        let section = settings["sections"].as_array()?.iter().find(|one| one["section"] == section)?;
        section["keys"].as_array()?.iter().find(|one| one["key"] == key).cloned()
    };
    let cards = key("approval", "cards_per_hour").context("the key")?;
    ensure!(cards["value"] == "3" && cards["origin"] == "file" && cards["line"].is_number(), "{cards}");
    let ttl = key("hub", "ttl").context("a default")?;
    ensure!(ttl["origin"] == "default" && ttl["value"] == "\"24h\"" && ttl["line"].is_null(), "{ttl}");
    let guides = get(&operator, "/v1/channels/guides")?;
    let telegram =
        guides["guides"].as_array().context("guides")?.iter().any(|one| one["channel"] == "telegram");
    ensure!(telegram, "{guides}");
    let guide = get(&operator, "/v1/channels/guides/telegram")?;
    ensure!(text(&guide, "guide").contains("[channels.telegram."), "TOML to copy: {guide}");
    is_refused(&operator.get("/v1/channels/guides/pigeon")?, 404)?;

    let agent = fixture.agent("engineer").await?;
    for (method, path) in FOR_OPERATORS {
        let body: &[u8] = if method == "POST" { b"{}" } else { b"" };
        is_refused(&agent.raw(method, path, &[], body)?, 403)?;
        is_refused(&fixture.anybody(None)?.raw(method, path, &[], body)?, 401)?;
    }
    // Of a file an agent has what it was told of: any other is not there for it.
    let file = format!("/v1/files/{}", "0".repeat(64));
    is_refused(&agent.get(&file)?, 404)?;
    is_refused(&fixture.anybody(None)?.get(&file)?, 401)?;
    if get(&operator, "/v1/figures")?["buckets"].as_array().map(Vec::len) != Some(288) {
        bail!("a day has 288 steps of five minutes");
    }
    Ok(())
}
