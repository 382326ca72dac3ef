//! The command line: what it prints, what it says beside, and its exit status.

use std::fs;
use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{
    Ended, INBOX, SpawnedHub, asks, client::text, free, gatepost, gatepost_to_a_full_disk,
};
use serde_json::{Value, json};

fn config() -> String {
    format!("{}{}{INBOX}limit = 200\n", free("shell", &["local:*"]), asks("engineer", &["local:*"]))
}

/// Checks a command that must not do well: its status, a word of what it says, and that it prints no result.
fn fails(ended: &Ended, status: i32, says: &str) -> Result<()> {
    ensure!(ended.status == status && ended.stderr.contains(says), "not {status}, {says:?}: {ended:?}");
    ensure!(ended.stdout.is_empty(), "{ended:?}");
    ensure!(!ended.stderr.contains("panicked"), "{ended:?}");
    Ok(())
}

fn texts(parts: &[Value]) -> Vec<&str> {
    parts.iter().map(|part| text(part, "text")).collect()
}

#[test]
fn a_token_is_shown_once_and_kept_nowhere_with_a_hub_and_without() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &config())?;
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
        fails(&hub.cli(&["agent", "revoke", "engineer"])?, 5, "has no token")?;
        for name in ["ghost", "porch"] {
            ensure!(hub.cli(&["agent", "revoke", name])?.status == 0);
        }
    }
    Ok(())
}

#[test]
fn messages_go_out_from_the_shell_and_can_be_looked_at() -> Result<()> {
    let hub = SpawnedHub::start(&config())?;
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
    let twice = br#"{"to": "local:team", "message": "Hello", "to": "local:ann"}"#;
    fails(&hub.cli_with(&["message", "--as-operator"], twice, &[])?, 2, "the key \"to\" twice on stdin")?;
    fails(&hub.cli_with(&["message", "--as-operator"], b"\xff", &[])?, 2, "not UTF-8")?;
    fails(&hub.cli_with(&["send", "--as-operator", "--to", "local:team"], b"\xff", &[])?, 2, "not UTF-8")?;
    fails(&hub.cli(&["send", "--as-operator", "--to", "pigeon:ann", "Hello"])?, 1, "there is no channel")?;
    fails(
        &hub.cli(&["send", "--as-operator", "--channel", "pigeon", "--to", "ann", "Hello"])?,
        1,
        "there is no channel",
    )?;
    fails(&hub.cli(&["send", "--as-operator", "--to", "local:team", ""])?, 1, "is missing or empty")?;

    let listed = hub.cli(&["queue", "list", "--json"])?.json()?;
    let ids: Vec<&str> =
        listed.as_array().context("a list")?.iter().map(|message| text(message, "id")).collect();
    ensure!(ids.len() == 3 && ids[0] == text(&made, "id") && ids[1] == text(&receipt, "id"), "{listed}");
    let table = hub.cli(&["queue", "list", "--limit", "1"])?.well()?;
    ensure!(table.lines().count() == 2 && table.starts_with("ID") && table.contains(ids[0]), "{table}");
    ensure!(hub.cli(&["queue", "list", "--state", "held", "--json"])?.json()? == json!([]));
    fails(&hub.cli(&["queue", "list", "--state", "lost"])?, 2, "possible values: accepted")?;
    let shown = hub.cli(&["queue", "show", ids[1], "--json"])?.json()?;
    ensure!(
        shown["id"] == ids[1] && shown["parts"].as_array().is_some_and(|parts| parts.len() == 3),
        "{shown}"
    );
    let shown = hub.cli(&["queue", "show", ids[1]])?.well()?;
    ensure!(shown.contains("--- part 3 ---") && shown.contains("agent: shell"), "{shown}");
    fails(&hub.cli(&["queue", "show", "m0"])?, 5, "no such message")?;
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
    let hub = SpawnedHub::start(&config())?;
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
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &config())?;
    fails(&hub.cli(&["send", "--as-operator", "--to", "local:team", "Hello"])?, 4, "gatepost run")?;
    hub.run()?;
    hub.terminate()?;
    for command in [
        &["send", "--as-operator", "--to", "local:team", "Hello"][..],
        &["queue", "list"],
        &["local", "read"],
    ] {
        let ended = hub.cli(command)?;
        fails(&ended, 4, "start it with: gatepost run")?;
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
        &["queue", "list", "--limit", "1001"],
        &["queue", "list", "--state", "nope"],
        &["queue", "purge", "--state", "nope"],
        &["queue", "purge", "--state", "held"],
        &["queue", "purge", "--older-than", "yesterday"],
        &[
            "queue",
            "settle",
            "m00000000000000000000000000000000",
            "--arrived",
            "--not-arrived",
            "--reason",
            "seen",
        ],
        &["render", "--channel", "nope"],
        &["render", "--channel", "local", "--tables", "nope"],
        &["chunk", "--limit", "9", "--unit", "nope"],
        &["chunk", "--limit", "9", "--mode", "nope"],
        &["send", "--as-operator", "--to", "local:team", "--wait", "long", "Hello"],
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
fn each_kind_of_failure_has_an_exit_status_of_its_own() -> Result<()> {
    let config = "[agents.shell]\nallow = [\"local:*\"]\nhold = [\"local:boss\"]\ncross_context = \"allow\"\n\
                  [channels.local.home]\n";
    let mut hub = SpawnedHub::start(config)?;
    let send = |to: &str, wait: &str| {
        hub.cli(&["send", "--as-operator", "--to", to, "--wait", wait, "--json", "Hello"])
    };
    ensure!(send("local:team", "60")?.status == 0);
    let held = send("local:boss", "1")?;
    ensure!(held.status == 3, "{held:?}");
    let held: Value = serde_json::from_str(&held.stdout)?;
    ensure!(held["state"] == "held", "{held}");
    ensure!(send("pigeon:ann", "0")?.status == 1);
    let no_such = "m00000000000000000000000000000000";
    for command in [
        &["queue", "show", no_such][..],
        &["queue", "cancel", no_such],
        &["queue", "retry", no_such],
        &["queue", "settle", no_such, "--arrived", "--reason", "seen"],
        &["queue", "purge", no_such],
        &["companion", "rename", "nobody", "hall"],
        &["companion", "revoke", "nobody"],
        &["agent", "revoke", "nobody"],
    ] {
        let ended = hub.cli(command)?;
        fails(&ended, 5, "gatepost: ").with_context(|| format!("{command:?}"))?;
    }
    // What is already over is a refusal, and no unknown id.
    let cancelled = hub.cli(&["queue", "cancel", text(&held, "id"), "--json"])?.json()?;
    ensure!(cancelled["state"] == "cancelled", "{cancelled}");
    fails(&hub.cli(&["queue", "cancel", text(&held, "id")])?, 1, "conflict")?;
    hub.terminate()?;
    fails(&hub.cli(&["queue", "show", no_such])?, 4, "no hub answers")?;
    let help = gatepost(&["--help"], b"", &[])?.well()?;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in ["3 with --wait", "4 no hub answers", "5 there is no such message"] {
        ensure!(help.contains(says), "{help}");
    }
    Ok(())
}

#[test]
fn a_purge_says_the_same_in_its_help_and_its_error() -> Result<()> {
    let wanted = "gatepost queue purge [OPTIONS] <ID|--state <STATE>|--older-than <TIME>>";
    let help = gatepost(&["queue", "purge", "--help"], b"", &[])?.well()?;
    ensure!(help.contains(wanted), "{help}");
    let error = gatepost(&["queue", "purge"], b"", &[])?;
    fails(&error, 2, "<ID|--state <STATE>|--older-than <TIME>>")?;
    let hub = SpawnedHub::start(&config())?;
    for state in ["held", "lost"] {
        let refused = hub.cli(&["queue", "purge", "--state", state])?;
        fails(&refused, 2, "possible values: sent, ")?;
    }
    let sent = hub.cli(&["send", "--as-operator", "--to", "local:team", "--wait", "60", "Hello"])?;
    ensure!(sent.status == 0, "{sent:?}");
    let purged = hub.cli(&["queue", "purge", "--state", "sent", "--json"])?.json()?;
    ensure!(purged == json!({"purged": 1}), "{purged}");
    Ok(())
}

#[test]
fn every_time_in_a_listing_is_written_in_one_way() -> Result<()> {
    /// Members that are times, wherever they are.
    fn times(value: &Value, into: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    if ["at", "made", "deadline", "ended_before"].contains(&name.as_str())
                        || name.ends_with("_at")
                    {
                        into.push((name.clone(), value.clone()));
                    }
                    times(value, into);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| times(value, into)),
            _ => {}
        }
    }
    let hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("engineer")?;
    let report = json!({"agent": "engineer", "channel": "local", "peer": "ann", "text": "How is it?"});
    let operator = hub.operator()?;
    let turn = operator.post("/v1/inbound", &report)?.body;
    let call = json!({"to": "current", "message": "Well.", "context": text(&turn, "context")});
    agent.post("/v1/messages?wait=60", &call)?;
    let mut found = vec![];
    times(&turn, &mut found);
    for path in ["/v1/messages", "/v1/transcript?agent=engineer", "/v1/local", "/v1/agents", "/v1/inbox"] {
        let listed = operator.get(path)?.body;
        ensure!(listed["ok"] == true, "{path}: {listed}");
        times(&listed, &mut found);
    }
    // What a purge leaves in the audit has a time, too.
    let other = json!({"to": "local:ann", "message": "Another."});
    let last = operator.post("/v1/messages?wait=60", &other)?.body;
    let purged = hub.cli(&["queue", "purge", text(&last, "id"), "--json"])?.json()?;
    ensure!(purged["purged"] == 1, "{purged}");
    let audit = hub.cli(&["audit", "show", "--json"])?.json()?;
    let purges =
        audit.as_array().into_iter().flatten().filter(|entry| entry["detail"]["ended_before"].is_string());
    ensure!(purges.count() == 1, "{audit}");
    for command in [
        &["queue", "list", "--json"][..],
        &["local", "read", "--json"],
        &["agent", "list", "--json"],
        &["audit", "show", "--json"],
        &["restore", "--list", "--json"],
    ] {
        let before = found.len();
        times(&hub.cli(command)?.json()?, &mut found);
        ensure!(found.len() > before, "{command:?} has no time");
    }
    let form = |time: &str| {
        let digits = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>();
        digits == "0000-00-00T00:00:00.000Z"
    };
    for (name, value) in &found {
        ensure!(value.is_null() || value.as_str().is_some_and(form), "{name}: {value}");
    }
    for command in [&["queue", "list"][..], &["agent", "list"], &["audit", "show"], &["local", "read"]] {
        let table = hub.cli(command)?.well()?;
        ensure!(table.contains("Z") && !table.contains(".000Z"), "{table}");
    }
    Ok(())
}

#[test]
fn what_waits_for_its_platform_says_so_as_a_reason() -> Result<()> {
    let hub = SpawnedHub::start(
        "[agents.engineer]\nallow = [\"ntfy:*\"]\ncross_context = \"allow\"\n[channels.ntfy.home]\nurl = \"http://127.0.0.1:1\"\n",
    )?;
    let agent = hub.agent("engineer")?;
    let sent = agent.post("/v1/messages?wait=1", &json!({"to": "ntfy:door", "message": "Hello"}))?.body;
    let id = text(&sent, "id");
    let until = Instant::now() + Duration::from_secs(30);
    let waiting = loop {
        // Every answer that is read is looked through for an error, too.
        let receipt = agent.message(id)?;
        if !text(&receipt["parts"][0], "reason").is_empty() {
            break receipt;
        }
        ensure!(Instant::now() < until, "no attempt was made: {receipt}");
        thread::sleep(Duration::from_millis(50));
    };
    ensure!(waiting["ok"] == true && waiting["parts"][0].get("error").is_none(), "{waiting}");
    let shown = hub.cli(&["queue", "show", id, "--json"])?.json()?;
    ensure!(text(&shown["parts"][0], "reason").contains("cannot connect"), "{shown}");
    let listed = hub.cli(&["queue", "list", "--json"])?.json()?;
    ensure!(listed[0].get("error").is_none_or(Value::is_null), "{listed}");
    Ok(())
}

#[test]
fn channels_are_listed_and_their_setup_is_shown_without_a_hub() -> Result<()> {
    let bare = |arguments: &[&str]| gatepost(arguments, b"", &[]);
    let listed = bare(&["channels"])?.well()?;
    ensure!(listed == bare(&["channels", "list"])?.well()?, "{listed}");
    ensure!(listed.lines().count() == 14 && listed.contains("telegram    a bot\n"), "{listed}");
    for arguments in [&["channels", "--json"][..], &["channels", "list", "--json"]] {
        let rows = bare(arguments)?.json()?;
        let rows = rows.as_array().context("a list")?;
        ensure!(rows.len() == 13, "{rows:?}");
        for row in rows {
            ensure!(!text(row, "account").is_empty(), "{row}");
            let shown = bare(&["channels", "setup", text(row, "channel")])?.well()?;
            ensure!(
                shown.starts_with(&format!("{}: {}\n=", text(row, "channel"), text(row, "account"))),
                "{shown}"
            );
            ensure!(shown.contains(&format!("\n    [channels.{}.", text(row, "channel"))), "{shown}");
            ensure!(!shown.contains("```"), "{shown}");
        }
    }
    ensure!(bare(&["channels", "setup", "Telegram"])?.status == 0);
    fails(
        &bare(&["channels", "setup", "telegarm"])?,
        2,
        "did you mean telegram? Try: gatepost channels setup telegram",
    )?;
    fails(&bare(&["channels", "setup", "pigeon"])?, 2, "there are local, email, matrix")
}

/// The paths of the commands that the help names, `queue list`.
fn commands(path: &[&str]) -> Result<Vec<String>> {
    let help = gatepost(&[path, &["--help"]].concat(), b"", &[])?.well()?;
    let Some((_, listed)) = help.split_once("\nCommands:\n") else { return Ok(vec![path.join(" ")]) };
    let names = listed.lines().take_while(|line| !line.is_empty()).filter_map(|line| {
        // What a command is stands on the same line, and goes on further to the right.
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then_some(name)
    });
    let mut found = vec![];
    for name in names {
        found.extend(commands(&[path, &[name]].concat())?);
    }
    Ok(found)
}

#[test]
fn shells_take_the_completions_and_the_man_page_has_every_command() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = gatepost(&["completions", shell], b"", &[])?.well()?;
        ensure!(script.contains("purge") && script.contains("older-than"), "{shell}: {script}");
        let file = folder.path().join(shell);
        fs::write(&file, script)?;
        if shell == "bash" {
            let read = std::process::Command::new("bash").arg("-n").arg(&file).output()?;
            ensure!(read.status.success() && read.stderr.is_empty(), "{read:?}");
        }
    }
    let help = gatepost(&["completions", "--help"], b"", &[])?.well()?;
    ensure!(help.contains("bash-completion/completions/gatepost"), "{help}");
    fails(&gatepost(&["completions", "tcsh"], b"", &[])?, 2, "tcsh")?;

    let commands = commands(&[])?;
    ensure!(commands.len() > 30 && commands.contains(&"queue settle".to_owned()), "{commands:?}");
    let page = gatepost(&["man"], b"", &[])?.well()?;
    let pages = folder.path().join("man1");
    gatepost(&["man", "--dir", pages.to_str().context("UTF-8")?], b"", &[])?.well()?;
    for command in commands {
        let heading = format!(".SH \"GATEPOST {}\"\n", command.to_uppercase());
        ensure!(page.matches(&heading).count() == 1, "{heading}");
        let file = pages.join(format!("gatepost-{}.1", command.replace(' ', "-")));
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        ensure!(text.contains("\"User Commands\"\n") && text.contains(" \"Gatepost "), "{text}");
    }
    ensure!(page.contains("Exit status:") && pages.join("gatepost.1").is_file(), "{page}");
    Ok(())
}

#[test]
fn the_usage_of_settle_says_that_one_of_two_options_is_needed() -> Result<()> {
    let settle = |options: &[&str]| {
        gatepost(&[&["queue", "settle", "m1", "--reason", "x"], options].concat(), b"", &[])
    };
    let help = gatepost(&["queue", "settle", "--help"], b"", &[])?.well()?;
    ensure!(help.contains("<--arrived|--not-arrived>"), "{help}");
    fails(&settle(&[])?, 2, "<--arrived|--not-arrived>")?;
    fails(&settle(&["--arrived", "--not-arrived"])?, 2, "cannot be used with")
}

#[test]
fn a_token_that_nobody_could_see_is_taken_back() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &config())?;
    let config = hub.config();
    let config = config.to_str().context("UTF-8")?.to_owned();
    for running in [false, true] {
        if running {
            hub.run()?;
        }
        for json in [&[][..], &["--json"]] {
            let add = [&["--config", &config, "agent", "add", "engineer"], json].concat();
            fails(&gatepost_to_a_full_disk(&add)?, 1, "nobody has seen the token, so it was revoked")?;
        }
        let listed = hub.cli(&["agent", "list"])?.well()?;
        ensure!(!listed.contains("engineer"), "{listed}");
    }
    ensure!(hub.cli(&["agent", "add", "engineer"])?.status == 0, "its name is free");
    Ok(())
}

#[test]
fn what_steers_a_terminal_is_shown_as_its_number() -> Result<()> {
    let hub = SpawnedHub::start(&config())?;
    let sly = "pay \u{1b}[2Jann\u{202e}gnp.exe\u{2066} שלום";
    let sent = ["send", "--as-operator", "--to", "local:team", "--wait", "60", "--json", "-"];
    let receipt = hub.cli_with(&sent, sly.as_bytes(), &[])?.json()?;
    let shown = hub.cli(&["queue", "show", text(&receipt, "id")])?.well()?;
    let read = hub.cli(&["local", "read"])?.well()?;
    for printed in [&shown, &read] {
        ensure!(printed.contains("ann<U+202E>gnp.exe<U+2066> שלום"), "{printed}");
        ensure!(!printed.contains(['\u{1b}', '\u{202e}', '\u{2066}']), "{printed:?}");
    }
    // A program gets it as it is.
    let read = hub.cli(&["local", "read", "--json"])?.json()?;
    ensure!(text(&read[0], "text").contains('\u{202e}'), "{read}");
    Ok(())
}
