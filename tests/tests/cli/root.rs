//! Root at a shell beside a hub that is another user's: what root makes and follows in that user's directory, whose configuration it
//! obeys, and whom it tells the operator's token. Only root can try it; for others there is nothing to see.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, gatepost, program::program},
    peers::free_port,
};

use super::configuration::fails;

/// A user that no machine has.
const USER: u32 = 61_234;

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A hub's directory as the package's service leaves it behind: its user's alone.
fn given_away(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            given_away(&path)?;
        }
        std::os::unix::fs::lchown(&path, Some(USER), Some(USER))?;
    }
    Ok(chown(folder, Some(USER), Some(USER))?)
}

fn are_all_its_owners(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        ensure!(path.symlink_metadata()?.uid() == USER, "{} is not the hub's own", path.display());
        if path.is_dir() && !path.is_symlink() {
            are_all_its_owners(&path)?;
        }
    }
    Ok(())
}

#[test]
fn what_root_does_in_the_hubs_directory_is_done_as_the_hubs_user() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let mut hub = SpawnedHub::start("[channels.local.home]\n")?;
    hub.terminate()?;
    let data = hub.data_dir();
    // Its user has to come there; what is on the way is nobody's secret.
    fs::set_permissions(hub.folder().path(), fs::Permissions::from_mode(0o755))?;
    given_away(&data)?;
    hub.cli(&["agent", "add", "courier"])?.well()?;
    hub.cli(&["agent", "list"])?.well()?;
    hub.cli(&["agent", "revoke", "courier"])?.well()?;
    hub.cli(&["audit", "verify"])?.well()?;
    let kept = hub.folder().path().join("kept");
    let kept = kept.to_str().context("a path")?;
    hub.cli(&["backup", kept])?.well()?;
    hub.cli(&["restore", kept, "--access", "keep"])?.well()?;
    are_all_its_owners(&data)?;
    fails(&hub.cli(&["run"])?, 1, "start the hub as that user")?;
    are_all_its_owners(&data)?;

    // A taken-over hub leaves links for root.
    let precious = hub.folder().path().join("precious");
    fs::write(&precious, "of the machine")?;
    for name in ["lock", "epoch.new", "epoch"] {
        let link = data.join(name);
        let kept = fs::read(&link).ok();
        let _ = fs::remove_file(&link);
        symlink(&precious, &link)?;
        let _ = hub.cli(&["agent", "list"])?;
        ensure!(fs::read(&precious)? == b"of the machine", "root followed the link {name}");
        // What is written anew has taken its place.
        let _ = fs::remove_file(&link);
        if let Some(kept) = kept {
            fs::write(&link, kept)?;
            chown(&link, Some(USER), Some(USER))?;
        }
    }
    ensure!(precious.metadata()?.uid() == 0);

    // One that a command would send to whoever it takes for the hub.
    let token = data.join("operator.token");
    fs::remove_file(&token)?;
    symlink(&precious, &token)?;
    fs::set_permissions(&precious, fs::Permissions::from_mode(0o600))?;
    fails(&hub.cli(&["queue", "list"])?, 1, "operator.token")?;
    // A pipe in the place of the lock is not waited for.
    fs::remove_file(data.join("lock"))?;
    ensure!(Command::new("mkfifo").arg(data.join("lock")).status()?.success());
    ensure!(hub.cli(&["queue", "list"])?.status != 0 && hub.cli(&["agent", "list"])?.status != 0);
    fs::remove_file(data.join("lock"))?;

    // And what looks like a restore that was cut off, which would be ended where its link leads.
    let elsewhere = hub.folder().path().join("elsewhere");
    fs::create_dir(&elsewhere)?;
    fs::copy(data.join("gatepost.db"), data.join("gatepost.db.restored"))?;
    fs::create_dir(data.join("restored.keys"))?;
    fs::write(data.join("restored.keys/evil.service"), "[Service]")?;
    symlink(&elsewhere, data.join("replaced.part"))?;
    given_away(&data)?;
    let again = hub.folder().path().join("again");
    let again = again.to_str().context("a path")?;
    for command in [&["backup", again][..], &["agent", "list"], &["restore", "--access", "keep"]] {
        let _ = hub.cli(command)?;
        ensure!(fs::read_dir(&elsewhere)?.next().is_none(), "root followed a link at {command:?}");
    }
    Ok(())
}

#[test]
fn root_obeys_no_configuration_that_others_put_where_it_is() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("gatepost.toml");
    fs::write(&file, "[channels.local.home]\n")?;
    let checked = || {
        Command::new(program()?)
            .args(["check", "--offline"])
            .current_dir(folder.path())
            .output()
            .context("check")
    };
    ensure!(checked()?.status.success());
    chown(&file, Some(USER), Some(USER))?;
    let refused = checked()?;
    let says = String::from_utf8(refused.stderr)?;
    ensure!(!refused.status.success() && says.contains("was not looked at"), "{says}");
    let named = file.to_str().context("a path")?;
    ensure!(gatepost(&["--config", named, "check", "--offline"], b"", &[])?.status == 0);
    Ok(())
}

#[test]
fn whoever_takes_the_port_of_a_hub_that_is_away_hears_no_token() -> Result<()> {
    let mut hub = SpawnedHub::start("[channels.local.home]\n")?;
    hub.cli(&["queue", "list"])?.well()?;
    hub.kill()?;
    let squatter = TcpListener::bind(("127.0.0.1", hub.port()))?;
    squatter.set_nonblocking(true)?;
    for command in [&["queue", "list"][..], &["reload"], &["companion", "list"]] {
        fails(&hub.cli(command)?, 4, "no hub answers")?;
    }
    let mut heard = String::new();
    while let Ok((mut caller, _)) = squatter.accept() {
        caller.set_read_timeout(Some(Duration::from_millis(500)))?;
        let _ = caller.read_to_string(&mut heard);
    }
    // While it stops it keeps its directory, and its port is free already.
    drop(squatter);
    hub.run()?;
    let mut half = TcpStream::connect(("127.0.0.1", hub.port()))?;
    half.write_all(b"POST /v1/messages HTTP/1.1\r\nContent-Length: 9\r\n")?;
    ensure!(Command::new("kill").arg(hub.pid()?.to_string()).status()?.success());
    let deadline = Instant::now() + Duration::from_secs(20);
    let squatter = loop {
        match TcpListener::bind(("127.0.0.1", hub.port())) {
            Ok(squatter) => break squatter,
            Err(error) => ensure!(Instant::now() < deadline, "{error}"),
        }
    };
    squatter.set_nonblocking(true)?;
    ensure!(hub.cli(&["queue", "list"])?.status == 4);
    while let Ok((mut caller, _)) = squatter.accept() {
        caller.set_read_timeout(Some(Duration::from_millis(500)))?;
        let _ = caller.read_to_string(&mut heard);
    }
    drop(half);
    ensure!(heard.contains("/healthz"), "nothing was asked: {heard:?}");
    let token = fs::read_to_string(hub.data_dir().join("operator.token"))?;
    ensure!(!heard.contains(token.trim()) && !heard.to_lowercase().contains("authorization"), "{heard}");
    drop(squatter);
    Ok(())
}

#[test]
fn health_does_not_wait_for_what_cannot_get_better_and_tells_silence_from_a_no() -> Result<()> {
    let started = Instant::now();
    fails(
        &gatepost(&["--config", "/nonexistent/gatepost.toml", "health", "--wait", "60"], b"", &[])?,
        1,
        "gatepost init",
    )?;
    ensure!(started.elapsed() < Duration::from_secs(30));
    let port = free_port()?;
    let silent = TcpListener::bind(("127.0.0.1", port))?;
    let url = format!("http://127.0.0.1:{port}");
    fails(&gatepost(&["--hub", &url, "health"], b"", &[])?, 4, "did not answer")?;
    drop(silent);
    Ok(())
}
