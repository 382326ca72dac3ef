//! What `gatepost init` writes, and what `check` and `run` say of a configuration.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Ended, SpawnedHub, client::text, gatepost, program::program, secret},
    mocks::MockServer,
    peers::free_port,
};
use serde_json::{Value, json};

/// Checks a command that must not do well: its status, a word of what it says, and that it prints no result.
pub(crate) fn fails(ended: &Ended, status: i32, says: &str) -> Result<()> {
    ensure!(ended.status == status && ended.stderr.contains(says), "not {status}, {says:?}: {ended:?}");
    ensure!(ended.stdout.is_empty(), "{ended:?}");
    ensure!(!ended.stderr.contains("panicked"), "{ended:?}");
    Ok(())
}

/// With what a command ends that is given a configuration that cannot be used.
fn unusable(command: &str) -> i32 {
    if command == "run" { 78 } else { 1 }
}

#[test]
fn init_writes_a_configuration_that_runs_and_never_overwrites_one() -> Result<()> {
    for full in [&[][..], &["--full"]] {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("gatepost.toml");
        let path = file.to_str().context("a path")?;
        let run = |arguments: &[&str]| gatepost(&[&["--config", path], arguments].concat(), b"", &[]);
        let init = [&["init"], full].concat();
        ensure!(run(&init)?.well()?.contains(path));
        let written = fs::read_to_string(&file)?;
        // Others may have the usual ports on this machine.
        let (http, broker) = (free_port()?, free_port()?);
        let at_home = written
            .replace("#: listen = \"127.", "listen = \"127.")
            .replace("listen = \"127.0.0.1:8787\"", &format!("listen = \"127.0.0.1:{http}\""))
            .replace("listen = \"127.0.0.1:1883\"", &format!("listen = \"127.0.0.1:{broker}\""));
        fs::write(&file, at_home)?;
        let checked = run(&["check"])?;
        ensure!(checked.status == 0 && checked.stdout.contains("ready"), "{checked:?}");
        fs::write(&file, &written)?;
        ensure!(run(&["check", "--offline"])?.status == 0);

        fs::write(&file, format!("{written}# mine\n"))?;
        fails(&run(&init)?, 1, "never overwritten")?;
        ensure!(fs::read_to_string(&file)?.ends_with("# mine\n"));
        ensure!(run(&[&init[..], &["--print"]].concat())?.well()? == written);
    }
    Ok(())
}

#[test]
fn a_hub_starts_with_the_short_configuration_and_delivers_to_its_own_inbox() -> Result<()> {
    let written = gatepost(&["init", "--print"], b"", &[])?.well()?;
    let lines: String = written
        .lines()
        .filter(|line| !line.starts_with("data_dir = ") && !line.starts_with("listen = "))
        .map(|line| format!("{line}\n"))
        .collect();
    // Addresses and the directory of its own stand in the same sections.
    let config = lines.replace("[hub]\n", "").replace("[broker]\n", "");
    let hub = SpawnedHub::start(&config)?;
    let token = hub.cli(&["agent", "add", "engineer"])?;
    ensure!(!token.stderr.contains("may not send anything"), "{token:?}");
    let sent = hub.cli(&["send", "--as-operator", "--to", "local:me", "--wait", "60", "Hello"])?.well()?;
    ensure!(sent.contains("sent to local:me"), "{sent}");
    let held = ["send", "--to", "local:me", "Hello"];
    let held = hub.cli_with(&held, b"", &[("GATEPOST_TOKEN", token.stdout.trim())])?.well()?;
    ensure!(held.contains("held to local:me"), "{held}");
    Ok(())
}

#[test]
fn check_finds_programs_that_cannot_be_run_and_a_directory_that_cannot_be_written() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("gatepost.toml");
    let here = |name: &str| folder.path().join(name).display().to_string();
    fs::write(here("plain"), "#!/bin/sh\n")?;
    let config = |hook: &str, data: &str| {
        format!(
            "[hub]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"{data}\"\n[broker]\nlisten = \"127.0.0.1:0\"\n\
             [channels.local.home]\n[hooks.h]\non = \"message_sending\"\ncommand = [\"{hook}\"]\n"
        )
    };
    let path = file.to_str().context("a path")?;
    for (hook, data, key, why) in [
        (here("gone"), "data", "hooks.h.command", "No such file"),
        (here("plain"), "data", "hooks.h.command", "chmod +x"),
        (here(""), "data", "hooks.h.command", "it is no program"),
        ("/bin/sh".into(), "plain/data", "hub.data_dir", "is no folder"),
    ] {
        fs::write(&file, config(&hook, data))?;
        let checked = gatepost(&["--config", path, "check"], b"", &[])?;
        let row = checked
            .stdout
            .lines()
            .find(|line| line.starts_with(key))
            .with_context(|| format!("{checked:?}"))?;
        ensure!(checked.status == 1 && row.contains("NOT READY") && row.contains(why), "{checked:?}");
        // Without a look at the machine the file is as it should be.
        ensure!(gatepost(&["--config", path, "check", "--offline"], b"", &[])?.status == 0);
    }
    fs::write(&file, config("/bin/sh", "new/data"))?;
    ensure!(gatepost(&["--config", path, "check"], b"", &[])?.status == 0);
    ensure!(!folder.path().join("new").exists(), "a check leaves nothing behind");
    // Switched off it is not needed.
    fs::write(&file, format!("{}enabled = false\n", config(&here("gone"), "data")))?;
    ensure!(gatepost(&["--config", path, "check"], b"", &[])?.status == 0);
    fs::write(&file, "[hub]\nlisten = \"127.0.0.1:1883\"\n")?;
    fails(
        &gatepost(&["--config", path, "check"], b"", &[])?,
        1,
        "broker.listen: hub.listen is 127.0.0.1:1883 already",
    )
}

#[test]
fn check_reads_the_root_of_the_companions_firmware_as_a_start_does() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("gatepost.toml");
    let path = file.to_str().context("a path")?;
    let check = |root: &std::path::Path| {
        fs::write(&file, format!("[updates]\nroot = {root:?}\n"))?;
        gatepost(&["--config", path, "check", "--offline"], b"", &[])
    };
    let checked = check(&gatepost_build::development::path())?;
    ensure!(checked.status == 0 && checked.stderr.contains("version 1 of the root"), "{checked:?}");
    fails(&check(&file)?, 1, "is not the file of a root that its own keys signed")?;
    fails(&check(&folder.path().join("gone"))?, 1, "updates.root: cannot read")
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
        ("[hub]\nlisten = \"everywhere\"\n", "gatepost.toml:2: "),
        (
            "[channels.matrix.work]\nhomeserver = \"http://127.0.0.1:1\"\ntoken = \"syt_secret\"\n",
            "gatepost.toml:3: channels.matrix.work.token: a secret is never written into the configuration",
        ),
        (
            "[hub]\n[broker]\nurl = \"mqtt://127.0.0.1\"\npassword = \"syt_secret\"\n",
            "gatepost.toml:4: broker.password: a secret is never written into the configuration",
        ),
        (
            "[voice]\ntoken = 12345\n",
            "gatepost.toml:2: voice.token: a secret is never written into the configuration: put it into a file of its own \
             and write token = \"file:secrets/voice\"",
        ),
        (
            "[channels.webhook.home]\nurl = \"http://127.0.0.1:1\"\nsecret = \"env:X\"\nold_secrets = [\"env:Y\", \"syt_secret\"]\n",
            "gatepost.toml:4: channels.webhook.home.old_secrets: a secret is never",
        ),
        (
            "[channels.telegram]\ntoken = \"env:TELEGRAM\"\n",
            "gatepost.toml:2: channels.telegram: an account needs a name: write [channels.telegram.home]",
        ),
        ("\n[channels.telegram]\n", "gatepost.toml:2: channels.telegram: an account needs a name"),
        ("[channels.pigeon.loft]\n", "unknown key `channels.pigeon`"),
        ("[agents\n", "gatepost.toml:1: "),
    ] {
        fs::write(&file, mistake)?;
        for command in ["check", "run"] {
            let ended = gatepost(&["--config", path, command], b"", &[])?;
            fails(&ended, unusable(command), says)?;
            ensure!(!ended.stderr.contains("syt_secret"), "{ended:?}");
        }
    }
    fails(&gatepost(&["--config", "/nonexistent/gatepost.toml", "run"], b"", &[])?, 78, "gatepost init")
}

#[test]
fn a_channel_that_is_not_ready_fails_the_check_and_says_why() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let token = folder.path().join("token");
    fs::write(&token, "syt_nothing\n")?;
    set_mode(&token, 0o600)?;
    let nobody = free_port()?;
    let file = folder.path().join("gatepost.toml");
    let config = format!(
        "[hub]\nlisten = \"127.0.0.1:0\"\n[broker]\nlisten = \"127.0.0.1:0\"\n\
         [channels.local.home]\n[channels.matrix.work]\nhomeserver = \"http://127.0.0.1:{nobody}\"\ntoken = \"file:{}\"\n",
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
fn what_a_check_says_of_hearing_is_the_running_hubs_word() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let token = secret(folder.path(), "token", "correct-horse-battery")?;
    let mut hub = SpawnedHub::start(&format!(
        "[channels.webhook.door]\nreceive = true\nproof = \"token\"\nproof_secrets = [{token}]\n"
    ))?;
    let posted =
        hub.anybody(Some("correct-horse-battery")).post("/v1/hooks/door", &json!({"message": "Rain"}))?;
    ensure!(posted.status == 202, "{posted:?}");
    let checked = hub.cli(&["check", "--json"])?;
    let rows: Vec<Value> = serde_json::from_str(&checked.stdout)?;
    let door = rows.iter().find(|row| row["channel"] == "webhook").context("the account")?;
    ensure!(
        text(door, "as").contains("/v1/hooks/door, last 20") && door["hearing"]["ready"] == true,
        "{door}"
    );
    hub.terminate()?;
    let checked = hub.cli(&["check"])?;
    ensure!(checked.stdout.contains("hears once the hub runs"), "{checked:?}");
    ensure!(!checked.stdout.contains("nothing since"), "{checked:?}");
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

/// A hub at rest in a folder that everybody can pass, with a secret beside its configuration.
fn with_a_secret() -> Result<(SpawnedHub, std::path::PathBuf)> {
    let folder = tempfile::tempdir()?;
    let secret = folder.path().join("secrets/hook");
    fs::create_dir(folder.path().join("secrets"))?;
    fs::write(&secret, "s3cret-of-the-hook\n")?;
    set_mode(folder.path(), 0o755)?;
    set_mode(&folder.path().join("secrets"), 0o755)?;
    let config = "[channels.ntfy.home]\nurl = \"http://127.0.0.1:1\"\ntoken = \"file:secrets/hook\"\n";
    Ok((SpawnedHub::at_rest(folder.into(), config)?, secret))
}

#[test]
fn a_secret_that_everybody_can_read_is_refused_with_the_command_that_mends_it() -> Result<()> {
    let (mut hub, secret) = with_a_secret()?;
    set_mode(&secret, 0o644)?;
    let mend = format!("chmod 600 {}", secret.display());
    for command in [&["check", "--offline"][..], &["run"]] {
        let ended = hub.cli(command)?;
        fails(&ended, unusable(command[0]), &mend)?;
        ensure!(!ended.stderr.contains("s3cret"), "{ended:?}");
    }
    // As it says, and the hub starts.
    let mended = std::process::Command::new("sh").args(["-c", &mend]).status()?;
    ensure!(mended.success() && hub.cli(&["check", "--offline"])?.status == 0);
    hub.run()?;
    hub.terminate()?;
    // A folder that others cannot pass keeps what is in it.
    set_mode(&secret, 0o644)?;
    set_mode(secret.parent().context("a folder")?, 0o700)?;
    ensure!(hub.cli(&["check", "--offline"])?.status == 0);
    Ok(())
}

#[test]
fn a_secret_of_another_owners_group_is_a_warning_of_check_and_of_the_log() -> Result<()> {
    let (mut hub, secret) = with_a_secret()?;
    set_mode(&secret, 0o640)?;
    let quiet = hub.cli(&["check", "--offline"])?;
    // Of root's files the group was chosen by somebody.
    if fs::metadata(&secret)?.uid() == 0 {
        ensure!(quiet.status == 0 && !quiet.stderr.contains("chmod"), "{quiet:?}");
        std::os::unix::fs::chown(&secret, Some(65_534), Some(65_534))?;
    }
    let warning = format!("the group of {0} can read the secret in it: chmod 600 {0}", secret.display());
    let warned = hub.cli(&["check", "--offline"])?;
    ensure!(warned.status == 0 && warned.stderr.contains(&format!("warning: {warning}")), "{warned:?}");
    hub.run()?;
    ensure!(hub.log()?.contains(&warning), "{}", hub.log()?);
    hub.terminate()
}

#[test]
fn a_secret_that_is_not_there_is_made_by_the_command_that_is_printed() -> Result<()> {
    let (hub, secret) = with_a_secret()?;
    fs::remove_dir_all(secret.parent().context("a folder")?)?;
    let ended = hub.cli(&["check", "--offline"])?;
    fails(&ended, 1, "(make it, end with Ctrl-D: ")?;
    let start = ended.stderr.find("(umask 077").context("a command")?;
    let command = ended.stderr[start..].split_inclusive("hook)").next().context("its end")?;
    let mut made = std::process::Command::new("sh");
    let mut made = made.args(["-c", command]).stdin(std::process::Stdio::piped()).spawn()?;
    std::io::Write::write_all(&mut made.stdin.take().context("stdin")?, b"s3cret\n")?;
    ensure!(made.wait()?.success(), "{command}");
    ensure!(fs::metadata(&secret)?.permissions().mode() & 0o777 == 0o600);
    ensure!(hub.cli(&["check", "--offline"])?.status == 0);
    Ok(())
}

#[test]
fn an_entry_for_a_channel_without_an_account_is_a_warning() -> Result<()> {
    let config = "[agents.engineer]\nallow = [\"local:*\", \"slack:C0123ABC\", \"telegrm:-100\", \"*\"]\n\
                  hold = [\"email:*\"]\n[channels.local.home]\n";
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), config)?;
    let checked = hub.cli(&["check"])?;
    ensure!(checked.status == 0, "{checked:?}");
    let warnings = [
        "agents.engineer.allow: \"slack:C0123ABC\": there is no account on slack: add [channels.slack.home]",
        "agents.engineer.allow: \"telegrm:-100\": there is no channel \"telegrm\", did you mean \"telegram\"?",
        "agents.engineer.hold: \"email:*\": there is no account on email: add [channels.email.home]",
    ];
    // After the five lines of addresses and folders.
    for (warning, line) in warnings.into_iter().zip([7, 7, 8]) {
        let wanted = format!("gatepost.toml:{line}: {warning}");
        ensure!(checked.stderr.contains(&wanted), "{wanted}: {checked:?}");
    }
    ensure!(!checked.stderr.contains("\"local:*\":"), "{checked:?}");
    hub.run()?;
    let log = hub.log()?;
    ensure!(warnings.iter().all(|warning| log.contains(warning)), "{log}");
    hub.terminate()
}

/// A hub at rest that reads its allowlists from a file of this text.
fn with_lists(lists: &str) -> Result<(SpawnedHub, std::path::PathBuf)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("messaging.json");
    fs::write(&file, lists)?;
    let hub = SpawnedHub::at_rest(folder.into(), "[channels.local.home]\n")?;
    let config = fs::read_to_string(hub.config())?;
    fs::write(hub.config(), config.replacen("[hub]\n", "[hub]\nallowlists = \"messaging.json\"\n", 1))?;
    Ok((hub, file))
}

#[test]
fn an_agent_that_stands_twice_in_a_file_of_allowlists_is_refused_by_check_run_and_reload() -> Result<()> {
    let once = "{\n\"courier\": [\"local:ann\"]\n}\n";
    let twice = "{\n\"courier\": [\"local:ann\"],\n\"courier\": [\"*\"]\n}\n";
    let (mut hub, file) = with_lists(twice)?;
    let says =
        format!("{}:3: \"courier\": it is there already, on line 2: make one list of both", file.display());
    for command in [&["check", "--offline"][..], &["run"]] {
        fails(&hub.cli(command)?, unusable(command[0]), &says)?;
    }
    fs::write(&file, once)?;
    hub.run()?;
    let agent = hub.agent("courier")?;
    fs::write(&file, twice)?;
    fails(&hub.cli(&["reload"])?, 1, &says)?;
    // The old lists hold.
    let refused = agent.post("/v1/messages", &json!({"to": "local:bob", "message": "?"}))?;
    ensure!(refused.body["reason"] == "not_allowed", "{refused:?}");
    hub.terminate()
}

#[test]
fn an_entry_that_matches_nothing_is_said_by_check_and_refused_if_it_was_to_hold() -> Result<()> {
    let (mut hub, file) = with_lists("{\n\"courier\": [\n\"local:ann\",\n\"local:x*\"\n]\n}\n")?;
    // The channel has no such address, and a hub does not start with it.
    let says = format!("{}:4: agents.courier.allow: \"local:x*\": ", file.display());
    for command in [&["check", "--offline"][..], &["run"]] {
        fails(&hub.cli(command)?, unusable(command[0]), &says)?;
    }
    fs::write(&file, "{\n\"courier\": [\n\"local:ann\",\n\"pigeon:x\"\n]\n}\n")?;
    let checked = hub.cli(&["check", "--offline"])?;
    let wanted =
        format!("warning: {}:4: agents.courier.allow: \"pigeon:x\": there is no channel", file.display());
    ensure!(checked.status == 0 && checked.stderr.contains(&wanted), "{wanted}: {checked:?}");
    hub.run()?;
    ensure!(hub.log()?.contains("\"pigeon:x\": there is no channel"), "{}", hub.log()?);
    let plain = fs::read_to_string(hub.config())?;
    fs::write(hub.config(), format!("{plain}[agents.courier]\nhold = [\"local:x*\"]\n"))?;
    let line = plain.lines().count() + 2;
    let says =
        format!("gatepost.toml:{line}: agents.courier.hold: \"*\" stands for any address only by itself");
    for command in [&["check", "--offline"][..], &["reload"], &["run"]] {
        fails(&hub.cli(command)?, unusable(command[0]), &says)?;
    }
    hub.terminate()
}

#[test]
fn an_address_that_its_channel_cannot_have_is_refused_by_check_as_by_run() -> Result<()> {
    for (lists, says) in [
        ("allow = [\"local:ann lee\"]", "local:ann lee"),
        ("hold = [\"local:ann#5\"]", "an entry names a whole conversation"),
        ("allow = [\"local:ann\"]\naccounts = { local = \"attic\" }", "attic"),
    ] {
        let config = format!("[channels.local.home]\n[agents.courier]\n{lists}\n");
        let hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &config)?;
        for command in [&["check", "--offline"][..], &["run"]] {
            let ended = hub.cli(command)?;
            fails(&ended, unusable(command[0]), says).context(command[0])?;
            ensure!(ended.stderr.contains("gatepost.toml:"), "{ended:?}");
        }
    }
    Ok(())
}

#[test]
fn a_name_of_the_address_book_that_leads_nowhere_is_said_by_check() -> Result<()> {
    let config = "[channels.local.home]\n[book]\nann = \"local:ann lee\"\nbob = \"email:bob@example.org\"\n";
    let hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), config)?;
    let checked = hub.cli(&["check", "--offline"])?;
    for says in [
        "gatepost.toml:8: book.ann: ",
        "gatepost.toml:9: book.bob: \"email:bob@example.org\": there is no account on email",
    ] {
        ensure!(checked.status == 0 && checked.stderr.contains(says), "{says}: {checked:?}");
    }
    Ok(())
}

#[test]
fn a_folder_to_attach_from_that_holds_what_is_not_the_agents_is_refused_by_check_run_and_reload() -> Result<()>
{
    let plain = "[channels.local.home]\n[agents.courier]\nallow = [\"local:*\"]\n";
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), plain)?;
    fs::create_dir(hub.folder().path().join("out"))?;
    hub.run()?;
    for (folder, says) in [
        ("/", "the agent could send it"),
        (".", "the hub's data is in"),
        ("data", "is the hub's data"),
        ("/etc", "of the system's"),
    ] {
        hub.configure(&format!("{plain}attach_from = \"{folder}\"\n"))?;
        for command in [&["check", "--offline"][..], &["reload"], &["run"]] {
            let ended = hub.cli(command)?;
            fails(&ended, unusable(command[0]), says).with_context(|| format!("{folder} {command:?}"))?;
            ensure!(ended.stderr.contains("gatepost.toml:9: agents.courier.attach_from: "), "{ended:?}");
        }
    }
    // The configuration as most people name it, from within its folder.
    hub.configure(&format!("{plain}attach_from = \"/etc/ssl\"\n"))?;
    let checked = std::process::Command::new(program()?)
        .args(["-c", "gatepost.toml", "check", "--offline"])
        .current_dir(hub.folder().path())
        .output()?;
    let says = String::from_utf8_lossy(&checked.stderr);
    ensure!(checked.status.code() == Some(1) && says.contains("is in /etc"), "{says}");
    hub.configure(&format!("{plain}attach_from = \"out\"\n"))?;
    hub.cli(&["reload"])?.well()?;
    let out = hub.folder().path().join("out").canonicalize()?;
    let checked = hub.cli(&["check", "--offline"])?;
    let says = format!("courier attaches files from {}", out.display());
    ensure!(checked.status == 0 && checked.stderr.contains(&says), "{checked:?}");
    set_mode(&out, 0o777)?;
    let checked = hub.cli(&["check", "--offline"])?;
    ensure!(checked.status == 0 && checked.stderr.contains("chmod o-w"), "{checked:?}");
    let agent = hub.agent("courier")?;
    // Who may write above the folder puts a link in its place: the running hub follows none.
    fs::remove_dir(&out)?;
    std::os::unix::fs::symlink("data", &out)?;
    let call = json!({"to": "local:ann", "message": "?", "attachments": [{"path": "operator.token"}]});
    let refused = agent.post("/v1/messages", &call)?;
    ensure!(refused.status == 502 && text(&refused.body, "error").contains("folder"), "{refused:?}");
    fails(&hub.cli(&["reload"])?, 1, "is the hub's data")?;
    hub.terminate()
}

#[test]
fn a_hub_that_still_listens_at_its_old_address_is_not_told_from_none_and_can_be_reached() -> Result<()> {
    let mut hub = SpawnedHub::start("[channels.local.home]\n")?;
    let written = fs::read_to_string(hub.config())?;
    let line = written.lines().find(|line| line.starts_with("listen = ")).context("an address")?;
    let old = line.trim_start_matches("listen = ").trim_matches('"').to_owned();
    let new = format!("127.0.0.1:{}", free_port()?);
    fs::write(hub.config(), written.replacen(&old, &new, 1))?;
    for command in [&["reload"][..], &["queue", "list"]] {
        let ended = hub.cli(command)?;
        fails(&ended, 4, &format!("no hub answers at http://{new}"))?;
        for says in ["still runs at its old address", "restart it", "--hub http://"] {
            ensure!(ended.stderr.contains(says), "{says}: {ended:?}");
        }
    }
    let there = format!("http://{old}");
    let reloaded = hub.cli(&["--hub", &there, "reload"])?.well()?;
    ensure!(reloaded.contains("at the next start") && reloaded.contains("hub.listen"), "{reloaded}");
    // Who names an address is told of no other.
    let elsewhere = format!("http://{new}");
    let ended = hub.cli(&["--hub", &elsewhere, "queue", "list"])?;
    fails(&ended, 4, "no hub answers at")?;
    ensure!(!ended.stderr.contains("--hub"), "{ended:?}");
    hub.terminate()
}

#[test]
fn an_address_that_is_taken_is_seen_by_the_check() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), "[channels.local.home]\n")?;
    let other = TcpListener::bind(("127.0.0.1", hub.broker_port()))?;
    let checked = hub.cli(&["check"])?;
    let says = format!("ss -ltnp 'sport = :{}'", hub.broker_port());
    ensure!(checked.status == 1 && checked.stdout.contains("broker.listen"), "{checked:?}");
    ensure!(checked.stdout.contains("NOT READY") && checked.stdout.contains(&says), "{checked:?}");
    ensure!(!checked.stdout.contains("hub.listen"), "{checked:?}");
    ensure!(hub.cli(&["check", "--offline"])?.status == 0);
    drop(other);
    ensure!(hub.cli(&["check"])?.status == 0);
    hub.run()?;
    let beside = hub.cli(&["check"])?;
    ensure!(beside.status == 0 && beside.stderr.contains("the hub runs"), "{beside:?}");
    hub.terminate()
}

#[test]
fn a_check_asks_platforms_and_the_broker_alone_and_offline_nobody() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let token = folder.path().join("token");
    fs::write(&token, "1:token")?;
    let platform = MockServer::saying(json!({"ok": true, "result": {"id": 1, "username": "hub"}}))?;
    let (hook, voice, broker) =
        (MockServer::saying(json!({}))?, MockServer::saying(json!({}))?, TcpListener::bind("127.0.0.1:0")?);
    broker.set_nonblocking(true)?;
    let config = format!(
        "url = \"mqtt://{}\"\n[agents.courier]\nallow = [\"telegram:*\"]\n\
         [channels.telegram.home]\ntoken = \"file:{}\"\nbase_url = \"{}\"\n\
         [hooks.h]\non = \"message_sending\"\nurl = \"{}\"\n[voice]\nurl = \"{}\"\n",
        broker.local_addr()?,
        token.display(),
        platform.url(),
        hook.url(),
        voice.url(),
    );
    let hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), &config)?;
    // Nor by a proxy that stands in the environment.
    let proxy = MockServer::saying(json!({}))?;
    let environment = [("http_proxy", proxy.url()), ("https_proxy", proxy.url()), ("ALL_PROXY", proxy.url())];
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, url)| (*name, url.as_str())).collect();
    let checked = hub.cli_with(&["check", "--offline"], b"", &environment)?;
    ensure!(checked.status == 0, "{checked:?}");
    for (name, server) in [("platform", &platform), ("hook", &hook), ("voice", &voice), ("proxy", &proxy)] {
        ensure!(server.heard().is_empty(), "the {name} heard {:?}", server.heard());
    }
    ensure!(broker.accept().is_err(), "the broker was asked");
    // Asked on purpose, the platform answers; hooks and speech are nobody to be asked without a message.
    let checked = hub.cli(&["check"])?;
    ensure!(checked.stdout.contains("telegram") && !platform.heard().is_empty(), "{checked:?}");
    ensure!(broker.accept().is_ok(), "the broker was not asked: {checked:?}");
    for (name, server) in [("hook", &hook), ("voice", &voice)] {
        ensure!(server.heard().is_empty(), "the {name} heard {:?}", server.heard());
    }
    ensure!(!hub.data_dir().exists(), "a check leaves nothing behind");
    Ok(())
}
