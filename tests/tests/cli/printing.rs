//! What commands print: as filters, for a person and for a program, and where whoever reads it leaves before the end.
//!
//! Installed by `tests/run --setup-only`: an HTML parser.

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{
    Ended, SpawnedHub, client::text, gatepost, gatepost_to_a_full_disk, gatepost_without_a_reader,
};
use serde_json::{Value, json};

/// The operator may write to the inbox of the hub itself.
const CONFIG: &str =
    "[agents.shell]\nallow = [\"local:*\"]\ncross_context = \"allow\"\n[channels.local.home]\n";

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
fn a_reader_who_leaves_ends_no_command_and_changes_no_exit_status() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    let send = ["send", "--as-operator", "--to", "local:team", "--wait", "60", "--json", "Hello"];
    let receipt = hub.cli(&send)?.json()?;
    let id = text(&receipt, "id");
    let call = json!({"to": "local:team", "message": "From a tool"}).to_string();
    let (call, markdown) = (call.as_bytes(), "A sentence of some words. ".repeat(400));
    for (arguments, stdin) in [
        (&["queue", "list"][..], &b""[..]),
        (&["queue", "list", "--json"], b""),
        (&["queue", "show", id], b""),
        (&["queue", "show", id, "--json"], b""),
        (&["queue", "show", "m0"], b""),
        (&["local", "read"], b""),
        (&["local", "read", "--json"], b""),
        (&["audit", "show"], b""),
        (&["audit", "verify"], b""),
        (&["agent", "list"], b""),
        (&["companion", "list"], b""),
        (&["restore", "--list"], b""),
        (&["check"], b""),
        (&["init", "--print"], b""),
        (&["send", "--as-operator", "--to", "local:team", "--wait", "60", "Hello again"], b""),
        (&["send", "--as-operator", "--to", "local:team", "--dry-run", "Not yet"], b""),
        (&["send", "--as-operator", "--to", "nowhere:team", "Hello"], b""),
        (&["message", "--as-operator", "--wait", "60"], call),
        (&["render", "--channel", "telegram"], markdown.as_bytes()),
        (&["chunk", "--limit", "100"], markdown.as_bytes()),
        (&["--help"], b""),
        (&["sned"], b""),
    ] {
        let wanted = hub.cli_with(arguments, stdin, &[])?.status;
        for deaf in [false, true] {
            let ended = hub.cli_without_a_reader(arguments, stdin, deaf)?;
            ensure!(ended.status == wanted, "{arguments:?}, deaf {deaf}: not {wanted}: {ended:?}");
            ensure!(!ended.stderr.contains("panicked") && !ended.stderr.contains("pipe"), "{ended:?}");
        }
    }
    Ok(())
}

#[test]
fn a_command_does_its_work_to_the_end_for_nobody() -> Result<()> {
    let hub = SpawnedHub::start("[agents.engineer]\nallow = [\"local:*\"]\n")?;
    let added = hub.cli_without_a_reader(&["agent", "add", "engineer"], b"", true)?;
    ensure!(added.status == 0, "{added:?}");
    let listed = hub.cli(&["agent", "list"])?.well()?;
    ensure!(listed.contains("engineer"), "{listed}");
    let demo = gatepost_without_a_reader(&["demo", "--decide", "approve"], b"", true)?;
    ensure!(demo.status == 0, "{demo:?}");
    Ok(())
}

#[test]
fn a_hub_goes_on_when_nobody_reads_its_log() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), CONFIG)?;
    hub.lose_its_reader();
    hub.log_at("debug");
    hub.run()?;
    let sent = hub.cli(&["send", "--as-operator", "--to", "local:team", "--wait", "60", "Hello"])?.well()?;
    ensure!(sent.contains("1 of 1 parts sent"), "{sent}");
    hub.terminate()
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() -> Result<()> {
    let ended = gatepost_to_a_full_disk(&["init", "--print"])?;
    ensure!(ended.status == 1 && ended.stderr.contains("cannot write the result to stdout"), "{ended:?}");
    ensure!(!ended.stderr.contains("panicked"), "{ended:?}");
    Ok(())
}

#[test]
fn render_hides_a_spoiler_as_each_platform_does() -> Result<()> {
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
    Ok(())
}

#[test]
fn render_is_a_filter_from_markdown_to_parts() -> Result<()> {
    let markdown = "# Title\n\nSome **bold** text with a [link](https://hub.test).\n\n- one\n- two\n";
    let matrix = gatepost(&["render", "--channel", "matrix", "--json"], markdown.as_bytes(), &[])?.well()?;
    let matrix = lines(&matrix)?;
    ensure!(matrix.len() == 1 && matrix[0]["index"] == 0, "{matrix:?}");
    ensure!(text(&matrix[0], "html").contains("<strong>bold</strong>"), "{matrix:?}");
    ensure!(matrix[0]["units"] == text(&matrix[0], "text").chars().count(), "{matrix:?}");
    let html = gatepost_tests::peers::html_check(&[text(&matrix[0], "html")])?;
    ensure!(html.is_empty(), "{html:?}");

    let long = "A sentence of some words. ".repeat(40);
    let parts =
        gatepost(&["render", "--channel", "local", "--limit", "120", "--json"], long.as_bytes(), &[])?
            .well()?;
    let parts = lines(&parts)?;
    ensure!(parts.len() > 8, "{parts:?}");
    ensure!(parts.iter().all(|part| part["units"].as_u64().is_some_and(|units| units <= 120)), "{parts:?}");
    let joined = texts(&parts).join(" ");
    ensure!(joined.split_whitespace().eq(long.split_whitespace()), "{joined}");
    let blank = gatepost(&["render", "--channel", "local"], b"", &[])?;
    ensure!(blank.stderr.contains("nothing to send") && blank.status == 0 && blank.stdout.is_empty());

    fails(&gatepost(&["render", "--channel", "pigeon"], b"x", &[])?, 2, "there are local, email, matrix")?;
    fails(&gatepost(&["render", "--channel", "local"], b"ab\xff", &[])?, 2, "at byte 2")?;
    fails(&gatepost(&["render", "--channel", "local", "--limit", "3"], b"x", &[])?, 2, "at least")
}

#[test]
fn chunk_is_a_filter_from_text_to_pieces() -> Result<()> {
    let input = "first paragraph\n\nsecond paragraph, longer\n\nthird";
    let chunks = gatepost(&["chunk", "--limit", "25", "--json"], input.as_bytes(), &[])?.well()?;
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
            gatepost(&["chunk", "--limit", "100", "--unit", unit, "--json"], family.as_bytes(), &[])?
                .well()?;
        ensure!(lines(&chunks)?[0]["units"] == units, "{unit}: {chunks}");
    }
    let code = format!("```rust\n{}```\n", "let x = 1;\n".repeat(20));
    let chunks = gatepost(&["chunk", "--limit", "80", "--mode", "markdown", "--json"], code.as_bytes(), &[])?
        .well()?;
    for chunk in lines(&chunks)? {
        ensure!(text(&chunk, "text").matches("```").count() == 2, "{chunk}");
    }
    let page = ["chunk", "--mode", "page", "--columns", "10", "--rows", "2", "--json"];
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

#[test]
fn a_person_reads_parts_under_lines_that_say_how_full_they_are() -> Result<()> {
    let long = "A sentence of some words. ".repeat(300);
    let shown = gatepost(&["render", "--channel", "telegram"], long.as_bytes(), &[])?.well()?;
    let heads: Vec<&str> = shown.lines().filter(|line| line.starts_with("--- part")).collect();
    ensure!(heads.len() == 2 && heads[0].starts_with("--- part 1 of 2 · 4,"), "{heads:?}");
    ensure!(heads.iter().all(|head| head.ends_with(" of 4,096 UTF-16 units")), "{heads:?}");
    ensure!(
        shown.lines().nth(1).is_some_and(|line| line.starts_with("A sentence of some words. A ")),
        "{shown}"
    );
    let html = gatepost(&["render", "--channel", "telegram"], b"Some *tea*", &[])?.well()?;
    ensure!(html.ends_with("\nSome tea\n--- the same as HTML\nSome <i>tea</i>\n"), "{html}");
    let styles = gatepost(&["render", "--channel", "signal"], b"Some *tea*", &[])?.well()?;
    ensure!(styles.contains("\nSome tea\n--- its styles") && styles.ends_with(": 5 to 7\n"), "{styles}");
    let unlimited = gatepost(&["render", "--channel", "local"], b"Some *tea*", &[])?.well()?;
    ensure!(unlimited == "--- part 1 of 1 · 8 code points\nSome tea\n", "{unlimited}");
    let chunks = gatepost(&["chunk", "--limit", "25"], b"first paragraph\n\nsecond, longer paragraph", &[])?;
    let wanted = "--- chunk 1 of 2 · 15 of 25 UTF-16 units\nfirst paragraph\n\
                  --- chunk 2 of 2 · 24 of 25 UTF-16 units\nsecond, longer paragraph\n";
    ensure!(chunks.clone().well()? == wanted, "{chunks:?}");
    let page = ["chunk", "--mode", "page", "--columns", "10", "--rows", "2"];
    let pages = gatepost(&page, "wide 日本語 text\nthen more".as_bytes(), &[])?.well()?;
    let wanted =
        "--- page 1 of 2 · 2 of 2 lines\nwide 日本\n語 text\n--- page 2 of 2 · 1 of 2 lines\nthen more\n";
    ensure!(pages == wanted, "{pages}");
    Ok(())
}

#[test]
fn an_option_that_a_command_cannot_use_is_neither_in_its_help_nor_taken() -> Result<()> {
    for (command, unused, rest) in [
        (&["render"][..], &["--config", "--hub"][..], &["--channel", "local"][..]),
        (&["chunk"], &["--config", "--hub"], &["--limit", "25"]),
        (&["demo"], &["--config", "--hub"], &["--decide", "approve"]),
        (&["init"], &["--hub"], &["--print"]),
        (&["check"], &["--hub"], &[]),
        (&["audit", "show"], &["--hub"], &[]),
        (&["restore"], &["--hub"], &["--list"]),
        (&["backup"], &["--hub"], &["-"]),
    ] {
        for help in ["--help", "-h"] {
            let help = gatepost(&[command, &[help]].concat(), b"", &[])?.well()?;
            ensure!(!unused.iter().any(|option| help.contains(option)), "{command:?}: {help}");
        }
        for option in unused {
            let ended = gatepost(&[command, rest, &[option, "nowhere"]].concat(), b"x", &[])?;
            fails(&ended, 2, &format!("gatepost {} has no use for {option}", command[0]))?;
        }
    }
    let help = gatepost(&["queue", "list", "--help"], b"", &[])?.well()?;
    ensure!(help.contains("--config") && help.contains("--hub"), "{help}");
    Ok(())
}
