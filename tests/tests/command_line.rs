//! The command line: what it prints, what it says beside, and its exit status.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{Ended, SpawnedHub, client::text, gatepost};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.shell]
allow = ["local:*"]
cross_context = "allow"
decorate = false

[agents.engineer]
allow = ["local:*"]

[channels.local.home]
limit = 200
"#;

/// Checks a command that must not do well: its status, a word of what it says, and that it prints no result.
fn fails(ended: &Ended, status: i32, says: &str) -> Result<()> {
    ensure!(ended.status == status && ended.stderr.contains(says), "not {status}, {says:?}: {ended:?}");
    ensure!(ended.stdout.is_empty(), "{ended:?}");
    ensure!(!ended.stderr.contains("panicked"), "{ended:?}");
    Ok(())
}

/// JSON, an object a line.
fn lines(printed: &str) -> Result<Vec<Value>> {
    printed.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

fn texts(parts: &[Value]) -> Vec<&str> {
    parts.iter().map(|part| text(part, "text")).collect()
}

#[test]
fn init_writes_a_configuration_that_runs_and_never_overwrites_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("gatepost.toml");
    let path = file.to_str().context("a path")?;
    let run = |arguments: &[&str]| gatepost(&[&["--config", path], arguments].concat(), b"", &[]);
    ensure!(run(&["init"])?.well()?.contains(path));
    let written = fs::read_to_string(&file)?;
    let checked = run(&["check"])?;
    ensure!(checked.status == 0 && checked.stdout.contains("ready"), "{checked:?}");
    ensure!(run(&["check", "--offline"])?.status == 0);

    fs::write(&file, format!("{written}# mine\n"))?;
    fails(&run(&["init"])?, 1, "never overwritten")?;
    ensure!(fs::read_to_string(&file)?.ends_with("# mine\n"));
    ensure!(run(&["init", "--print"])?.well()? == written);
    Ok(())
}

#[test]
fn a_mistake_in_the_configuration_is_named_with_its_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("gatepost.toml");
    let path = file.to_str().context("a path")?;
    for (mistake, says) in [
        (
            "[agents.engineer]\ncross_contxt = \"hold\"\n",
            "gatepost.toml:2: unknown key `agents.engineer.cross_contxt`, did you mean `cross_context`?",
        ),
        ("[agents.engineer]\nallow = [\"local\"]\n", "\"local\" is not an allowlist entry"),
        ("[hub]\nlisten = \"everywhere\"\n", "line 2"),
        (
            "[channels.matrix.work]\nhomeserver = \"http://127.0.0.1:1\"\ntoken = \"syt_secret\"\n",
            "never written into the configuration",
        ),
        ("[channels.pigeon.loft]\n", "unknown key `channels.pigeon`"),
        ("[agents\n", "line 1"),
    ] {
        fs::write(&file, mistake)?;
        for command in ["check", "run"] {
            let ended = gatepost(&["--config", path, command], b"", &[])?;
            fails(&ended, 1, says)?;
            ensure!(!ended.stderr.contains("syt_secret"), "{ended:?}");
        }
    }
    fails(&gatepost(&["--config", "/nonexistent/gatepost.toml", "run"], b"", &[])?, 1, "gatepost init")
}

#[test]
fn a_channel_that_is_not_ready_fails_the_check_and_says_why() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let token = folder.path().join("token");
    fs::write(&token, "syt_nothing\n")?;
    let nobody = gatepost_tests::peers::free_port()?;
    let file = folder.path().join("gatepost.toml");
    let config = format!(
        "[channels.local.home]\n[channels.matrix.work]\nhomeserver = \"http://127.0.0.1:{nobody}\"\ntoken = \"file:{}\"\n",
        token.display()
    );
    fs::write(&file, config)?;
    let path = file.to_str().context("a path")?;
    let checked = gatepost(&["--config", path, "check"], b"", &[])?;
    ensure!(checked.status == 1 && checked.stderr.contains("not every channel is ready"), "{checked:?}");
    ensure!(checked.stdout.contains("NOT READY") && checked.stdout.contains("cannot connect"), "{checked:?}");
    let checked = gatepost(&["--config", path, "check", "--json"], b"", &[])?;
    let rows: Vec<Value> = serde_json::from_str(&checked.stdout)?;
    let ready: Vec<_> = rows.iter().map(|row| (text(row, "channel"), row["ready"] == true)).collect();
    ensure!(ready == [("local", true), ("matrix", false)] && checked.status == 1, "{checked:?}");
    ensure!(rows.iter().all(|row| row["mode"] == "direct"), "nobody stands in between: {rows:?}");
    ensure!(
        !checked.stdout.contains("syt_nothing") && !checked.stderr.contains("syt_nothing"),
        "{checked:?}"
    );
    fs::remove_file(token)?;
    fails(&gatepost(&["--config", path, "check"], b"", &[])?, 1, "cannot read the secret")
}

#[test]
fn a_token_is_shown_once_and_kept_nowhere_with_a_hub_and_without() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), CONFIG)?;
    for running in [false, true] {
        if running {
            hub.run()?;
        }
        let added = hub.cli(&["agent", "add", "engineer"])?;
        ensure!(added.stderr.contains("one time") && added.status == 0, "{added:?}");
        let token = added.stdout.trim();
        ensure!(token.len() == 3 + 64 && token.starts_with("gp_"), "{added:?}");
        fails(&hub.cli(&["agent", "add", "engineer"])?, 1, "has a token already")?;
        fails(&hub.cli(&["agent", "add", "no such/name"])?, 1, "is not a name")?;
        let ghost = hub.cli(&["agent", "add", "ghost", "--role", "agent", "--json"])?;
        ensure!(ghost.stderr.contains("[agents.ghost]"), "{ghost:?}");
        let ghost = ghost.json()?;
        ensure!(ghost["role"] == "agent" && text(&ghost, "token").starts_with("gp_"), "{ghost}");
        ensure!(hub.cli(&["agent", "add", "porch", "--role", "bridge"])?.status == 0);

        let listed = hub.cli(&["agent", "list", "--json"])?.json()?;
        let names: Vec<(&str, &str)> = listed
            .as_array()
            .context("a list")?
            .iter()
            .map(|one| (text(one, "name"), text(one, "role")))
            .filter(|(name, _)| *name != "operator")
            .collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        ensure!(sorted == [("engineer", "agent"), ("ghost", "agent"), ("porch", "bridge")], "{names:?}");
        let table = hub.cli(&["agent", "list"])?.well()?;
        ensure!(table.starts_with("NAME") && table.contains("engineer"), "{table}");
        ensure!(!listed.to_string().contains(token) && !table.contains(token));
        let mut paths = vec![hub.data_dir()];
        while let Some(path) = paths.pop() {
            if path.is_dir() {
                let inside = fs::read_dir(path)?.map(|file| Ok(file?.path()));
                paths.extend(inside.collect::<Result<Vec<_>>>()?);
                continue;
            }
            let bytes = fs::read(&path)?;
            let found = bytes.windows(token.len()).any(|window| window == token.as_bytes());
            ensure!(!found, "{} holds the token", path.display());
        }
        if running {
            let agent = hub.anybody(Some(token));
            ensure!(agent.queue()?.is_empty());
            ensure!(hub.cli(&["agent", "revoke", "engineer"])?.status == 0);
            ensure!(agent.get("/v1/messages")?.status == 401, "a revoked token counts");
        } else {
            ensure!(hub.cli(&["agent", "revoke", "engineer"])?.status == 0);
        }
        fails(&hub.cli(&["agent", "revoke", "engineer"])?, 1, "has no token")?;
        for name in ["ghost", "porch"] {
            ensure!(hub.cli(&["agent", "revoke", name])?.status == 0);
        }
    }
    Ok(())
}

#[test]
fn messages_go_out_from_the_shell_and_can_be_looked_at() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    let sent = hub
        .cli(&[
            "send",
            "--as-operator",
            "--channel",
            "local",
            "--to",
            "team",
            "--wait",
            "60",
            "Hello *there*",
        ])?
        .well()?;
    ensure!(
        sent.contains(" sent to local:team, 1 of 1 parts sent") && sent.contains("confirmed local:"),
        "{sent}"
    );
    let long = "word ".repeat(100);
    let receipt = hub
        .cli_with(
            &["send", "--as-operator", "--to", "local:team", "--wait", "60", "--json", "-"],
            long.as_bytes(),
            &[],
        )?
        .json()?;
    ensure!(receipt["state"] == "sent" && receipt["sent"] == "3 of 3", "{receipt}");
    let dry = hub
        .cli(&["send", "--as-operator", "--to", "local:team", "--dry-run", "--json", "Not yet"])?
        .json()?;
    ensure!(
        dry["dry_run"] == true && dry["verdict"] == "allow" && dry["parts"][0]["shown"] == "Not yet",
        "{dry}"
    );
    ensure!(
        hub.cli(&["send", "--as-operator", "--to", "local:team", "--dry-run", "Not yet"])?
            .well()?
            .contains("\"verdict\"")
    );

    let call = json!({"platform": "local", "target": "team", "body": "From a tool"}).to_string();
    let made = hub.cli_with(&["message", "--as-operator", "--wait", "60"], call.as_bytes(), &[])?.json()?;
    ensure!(made["state"] == "sent" && made["ok"] == true, "{made}");
    let refused = hub.cli_with(&["message", "--as-operator"], br#"{"to": "local:team"}"#, &[])?;
    let problem: Value = serde_json::from_str(&refused.stdout)?;
    ensure!(
        refused.status == 1 && problem["code"] == "input_invalid" && problem["ok"] == false,
        "{refused:?}"
    );
    fails(&hub.cli_with(&["message", "--as-operator"], b"to: local:team", &[])?, 2, "not JSON")?;
    fails(&hub.cli_with(&["message", "--as-operator"], b"\xff", &[])?, 2, "not UTF-8")?;
    fails(&hub.cli_with(&["send", "--as-operator", "--to", "local:team"], b"\xff", &[])?, 2, "not UTF-8")?;
    fails(&hub.cli(&["send", "--as-operator", "--to", "pigeon:ann", "Hello"])?, 1, "No adapter registered")?;
    fails(
        &hub.cli(&["send", "--as-operator", "--channel", "pigeon", "--to", "ann", "Hello"])?,
        1,
        "No adapter registered",
    )?;
    fails(&hub.cli(&["send", "--as-operator", "--to", "local:team", ""])?, 1, "is missing or empty")?;

    let listed = hub.cli(&["queue", "list", "--json"])?.json()?;
    let ids: Vec<&str> =
        listed.as_array().context("a list")?.iter().map(|message| text(message, "id")).collect();
    ensure!(ids.len() == 3 && ids[0] == text(&made, "id") && ids[1] == text(&receipt, "id"), "{listed}");
    let table = hub.cli(&["queue", "list", "--limit", "1"])?.well()?;
    ensure!(table.lines().count() == 2 && table.starts_with("ID") && table.contains(ids[0]), "{table}");
    ensure!(hub.cli(&["queue", "list", "--state", "held", "--json"])?.json()? == json!([]));
    fails(&hub.cli(&["queue", "list", "--state", "lost"])?, 1, "no such state")?;
    let shown = hub.cli(&["queue", "show", ids[1], "--json"])?.json()?;
    ensure!(
        shown["id"] == ids[1] && shown["parts"].as_array().is_some_and(|parts| parts.len() == 3),
        "{shown}"
    );
    let shown = hub.cli(&["queue", "show", ids[1]])?.well()?;
    ensure!(shown.contains("--- part 3 ---") && shown.contains("agent: shell"), "{shown}");
    fails(&hub.cli(&["queue", "show", "m0"])?, 1, "no such message")?;
    fails(&hub.cli(&["queue", "show", "../agents"])?, 2, "not a message's id")?;

    let read = hub.cli(&["local", "read", "team", "--json"])?.json()?;
    let arrived =
        texts(read.as_array().context("a list")?).iter().map(ToString::to_string).collect::<Vec<_>>();
    ensure!(arrived.len() == 5 && arrived[0] == "Hello there" && arrived[4] == "From a tool", "{read}");
    let after = read[3]["seq"].to_string();
    let read = hub.cli(&["local", "read", "--after", &after])?.well()?;
    ensure!(read.contains("From a tool") && !read.contains("Hello"), "{read}");
    ensure!(hub.cli(&["local", "read", "nobody"])?.well()?.is_empty());
    Ok(())
}

#[test]
fn an_agent_answers_what_was_said_at_the_shell() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    let agent = hub.agent("engineer")?;
    let said =
        hub.cli(&["local", "say", "--agent", "engineer", "--as", "ann", "How did the night go?"])?.well()?;
    let context = said.trim();
    ensure!(context.starts_with("gpc_"), "{said}");
    let call = json!({"to": "current", "message": "Well.", "context": context}).to_string();
    let as_agent = [("GATEPOST_TOKEN", agent.token())];
    let answer = hub.cli_with(&["message", "--wait", "60"], call.as_bytes(), &as_agent)?.json()?;
    ensure!(answer["state"] == "sent" && answer["to"] == "local:ann", "{answer}");
    // The context is the agent's, not the shell's.
    let refused = hub.cli_with(&["message", "--as-operator"], call.as_bytes(), &[])?;
    ensure!(refused.status == 1 && refused.stdout.contains("another agent"), "{refused:?}");
    ensure!(hub.cli(&["local", "read", "ann", "--json"])?.json()?.as_array().map(Vec::len) == Some(1));
    fails(&hub.cli(&["local", "say", "--agent", "eve", "--as", "ann", "Hello"])?, 1, "no agent \"eve\"")
}

#[test]
fn without_a_hub_a_command_says_how_to_start_one() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), CONFIG)?;
    fails(&hub.cli(&["send", "--as-operator", "--to", "local:team", "Hello"])?, 1, "gatepost run")?;
    hub.run()?;
    hub.terminate()?;
    for command in [
        &["send", "--as-operator", "--to", "local:team", "Hello"][..],
        &["queue", "list"],
        &["local", "read"],
    ] {
        let ended = hub.cli(command)?;
        fails(&ended, 1, "start it with: gatepost run")?;
        ensure!(ended.stderr.contains("no hub answers at http://127.0.0.1:"), "{ended:?}");
    }
    Ok(())
}

#[test]
fn wrong_arguments_are_usage_errors() -> Result<()> {
    for arguments in [
        &["sned"][..],
        &[],
        &["send"],
        &["send", "--as-operator", "--to"],
        &["queue", "list", "--limit", "many"],
        &["agent", "add", "x", "--role", "king"],
        &["chunk"],
        &["demo", "--decide", "maybe"],
    ] {
        let ended = gatepost(arguments, b"", &[])?;
        ensure!(
            ended.status == 2 && ended.stdout.is_empty() && !ended.stderr.is_empty(),
            "{arguments:?}: {ended:?}"
        );
    }
    let help = gatepost(&["--help"], b"", &[])?.well()?;
    ensure!(help.contains("demo") && help.contains("queue"), "{help}");
    ensure!(gatepost(&["--version"], b"", &[])?.well()?.starts_with("gatepost "));
    Ok(())
}

#[test]
fn render_is_a_filter_from_markdown_to_parts() -> Result<()> {
    let markdown = "# Title\n\nSome **bold** text with a [link](https://hub.test).\n\n- one\n- two\n";
    let matrix = gatepost(&["render", "--channel", "matrix"], markdown.as_bytes(), &[])?.well()?;
    let matrix = lines(&matrix)?;
    ensure!(matrix.len() == 1 && matrix[0]["index"] == 0, "{matrix:?}");
    ensure!(text(&matrix[0], "html").contains("<strong>bold</strong>"), "{matrix:?}");
    ensure!(matrix[0]["units"] == text(&matrix[0], "text").chars().count(), "{matrix:?}");
    let html = gatepost_tests::peers::html_check(&[text(&matrix[0], "html")])?;
    ensure!(html.is_empty(), "{html:?}");

    let hidden = b"It was ||the butler||, a || b.";
    for (channel, hides) in [
        ("discord", "It was ||the butler||, a \\|\\| b."),
        ("telegram", "It was <tg-spoiler>the butler</tg-spoiler>, a || b."),
        ("matrix", "<p>It was <span data-mx-spoiler>the butler</span>, a || b.</p>"),
        ("slack", "It was (spoiler) the butler, a || b."),
    ] {
        let part = lines(&gatepost(&["render", "--channel", channel, "--json"], hidden, &[])?.well()?)?;
        ensure!([&part[0]["text"], &part[0]["html"]].contains(&&json!(hides)), "{channel}: {part:?}");
        ensure!(!text(&part[0], "preview").contains("butler"), "{channel}: {part:?}");
    }

    let long = "A sentence of some words. ".repeat(40);
    let parts =
        gatepost(&["render", "--channel", "local", "--limit", "120", "--json"], long.as_bytes(), &[])?
            .well()?;
    let parts = lines(&parts)?;
    ensure!(parts.len() > 8, "{parts:?}");
    ensure!(parts.iter().all(|part| part["units"].as_u64().is_some_and(|units| units <= 120)), "{parts:?}");
    let joined = texts(&parts).join(" ");
    ensure!(joined.split_whitespace().eq(long.split_whitespace()), "{joined}");
    ensure!(gatepost(&["render", "--channel", "local"], b"", &[])?.well()?.lines().count() <= 1);

    fails(&gatepost(&["render", "--channel", "pigeon"], b"x", &[])?, 2, "there are local, email, matrix")?;
    fails(&gatepost(&["render", "--channel", "local"], b"ab\xff", &[])?, 2, "at byte 2")?;
    fails(&gatepost(&["render", "--channel", "local", "--limit", "3"], b"x", &[])?, 2, "at least")
}

#[test]
fn chunk_is_a_filter_from_text_to_pieces() -> Result<()> {
    let input = "first paragraph\n\nsecond paragraph, longer\n\nthird";
    let chunks = gatepost(&["chunk", "--limit", "25"], input.as_bytes(), &[])?.well()?;
    let chunks = lines(&chunks)?;
    ensure!(texts(&chunks) == ["first paragraph", "second paragraph, longer", "third"], "{chunks:?}");
    for chunk in &chunks {
        let (start, end) = (chunk["range"][0].as_u64().unwrap_or(0), chunk["range"][1].as_u64().unwrap_or(0));
        ensure!(
            input.get(start as usize..end as usize).is_some_and(|slice| slice.contains(text(chunk, "text"))),
            "{chunk}"
        );
    }
    // One family: 7 code points, 11 UTF-16 units, 25 bytes, 1 grapheme cluster.
    let family = "👨‍👩‍👧‍👦";
    for (unit, units) in [("codepoints", 7), ("utf16", 11), ("bytes", 25), ("graphemes", 1)] {
        let chunks =
            gatepost(&["chunk", "--limit", "100", "--unit", unit], family.as_bytes(), &[])?.well()?;
        ensure!(lines(&chunks)?[0]["units"] == units, "{unit}: {chunks}");
    }
    let code = format!("```rust\n{}```\n", "let x = 1;\n".repeat(20));
    let chunks = gatepost(&["chunk", "--limit", "80", "--mode", "markdown"], code.as_bytes(), &[])?.well()?;
    for chunk in lines(&chunks)? {
        ensure!(text(&chunk, "text").matches("```").count() == 2, "{chunk}");
    }
    let page = ["chunk", "--mode", "page", "--columns", "10", "--rows", "2"];
    let pages = lines(&gatepost(&page, "wide 日本語 text\nthen more".as_bytes(), &[])?.well()?)?;
    let shown: Vec<_> = pages.iter().map(|page| (&page["lines"], &page["range"])).collect();
    let wanted = [(json!(["wide 日本", "語 text"]), json!([0, 20])), (json!(["then more"]), json!([20, 29]))];
    ensure!(shown == wanted.iter().map(|(lines, range)| (lines, range)).collect::<Vec<_>>(), "{pages:?}");
    fails(&gatepost(&["chunk", "--mode", "page", "--limit", "25"], b"x", &[])?, 2, "--columns")?;
    fails(&gatepost(&["chunk", "--columns", "10", "--rows", "2"], b"x", &[])?, 2, "--mode page")?;
    fails(&gatepost(&["chunk", "--columns", "10"], b"x", &[])?, 2, "--rows")?;
    fails(&gatepost(&["chunk", "--limit", "25"], b"\xc3\x28", &[])?, 2, "not UTF-8")?;
    fails(&gatepost(&["chunk", "--limit", "0"], b"x", &[])?, 2, "limit")?;
    fails(&gatepost(&["chunk", "--limit", "25", "--unit", "furlongs"], b"x", &[])?, 2, "furlongs")
}
