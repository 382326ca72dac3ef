//! The hub as a Debian package: apt verifies and fetches, dpkg replaces, and what is not well is replaced by what ran before.
//!
//! Nothing but the package itself is changed: apt may remove nothing, and installs one version that it has named before. A version that
//! is not newer is none that it takes.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tokio::time::sleep;

use super::{
    Kind,
    apply::Job,
    former,
    programs::{NotDone, Run},
    proof,
    report::Stage,
    request::Wished,
};

const APT: &str = "/usr/bin/apt-get";
const DPKG: &str = "/usr/bin/dpkg";
const PACKAGE: &str = "gatepost";
/// Where the guide has the source written down, in the two forms that apt reads.
const SOURCES: [&str; 2] =
    ["/etc/apt/sources.list.d/gatepost.sources", "/etc/apt/sources.list.d/gatepost.list"];
/// How long lists may take to be fetched.
const LISTS: Duration = Duration::from_mins(5);
/// How long the package may take to be fetched and installed.
const INSTALLING: Duration = Duration::from_mins(20);
/// How long others may keep dpkg's lock, as unattended upgrades do.
const LOCKED: Duration = Duration::from_mins(20);
/// Between two looks whether they still do.
const AGAIN: Duration = Duration::from_secs(5);
/// How long a look may take.
const LOOKING: Duration = Duration::from_secs(60);
/// How an answer of apt's without anything to do is told.
const NOTHING_NEWER: &str = "there is no newer version in the package lists of this machine";

/// Carries out a request.
pub(super) async fn update(job: &mut Job, wished: Option<&Wished>) -> Result<(), NotDone> {
    let before = proof::process().await?;
    let from = match installed().await? {
        Some(from) => from,
        None => return job.refuse("the package is not installed whole: see dpkg --audit"),
    };
    job.begin(Kind::Package, &from, before.is_some());
    if let Err(error) = lists().await {
        return job.refuse(&format!("the package lists cannot be fetched and verified: {error}"));
    }
    let to = match newest(wished).await {
        Ok(Some(to)) => to,
        Ok(None) => return job.refuse(NOTHING_NEWER),
        Err(error) => return job.refuse(&error.to_string()),
    };
    job.report.to = Some(to.clone());
    if let Err(error) = former::keep(&job.places.state).await {
        let why = format!("the version before cannot be kept for going back: {error}");
        return job.refuse(&why);
    }
    job.come_to(Stage::Fetching);
    let done = install(job, &to).await;
    settle(job, done.err(), before).await
}

/// Finishes what a helper before this one began, and did not end: it was killed, or the machine went off.
pub(super) async fn take_up(job: &mut Job) -> Result<(), NotDone> {
    // Ends what dpkg had begun; what it cannot end is judged by what is installed then.
    if let Err(error) = dpkg(&["--configure", "--pending"], &[]).await {
        tracing::warn!(%error, "dpkg cannot end what was begun");
    }
    match job.report.stage {
        Stage::GoingBack => {
            let why = job.report.why.clone().unwrap_or_default();
            go_back(job, &why).await
        }
        _ => settle(job, None, None).await,
    }
}

/// Judges what an installation has left. `error`: how apt failed, if it did. `before`: the hub's process until then.
async fn settle(job: &mut Job, error: Option<NotDone>, before: Option<u32>) -> Result<(), NotDone> {
    let (now, words) = (installed().await?, error.map(|error| error.to_string()));
    if now.is_some() && now == job.report.from {
        former::forget(&job.places.state);
        let why =
            words.unwrap_or_else(|| "it was cut off before anything was installed: ask for it again".into());
        return job.refuse(&why);
    }
    if now.is_none() || now != job.report.to {
        return go_back(job, &words.unwrap_or_else(|| "it was cut off while it was installed".into())).await;
    }
    if job.report.ran {
        job.come_to(Stage::Proving);
        if let Err(why) = proof::well(before).await {
            return go_back(job, &format!("it is not well: {why}")).await;
        }
    }
    former::forget(&job.places.state);
    job.come_to(Stage::Installed);
    Ok(())
}

/// Puts back what ran before. The hub uses the database as its successor has left it, as an older program can.
async fn go_back(job: &mut Job, why: &str) -> Result<(), NotDone> {
    job.end(Stage::GoingBack, why);
    let package = former::place(&job.places.state);
    let file = package.display().to_string();
    let put = ["--force-confdef", "--force-confold", "--install", file.as_str()];
    // `preinst` refuses an older version otherwise.
    let mut put = dpkg(&put, &[("GATEPOST_DOWNGRADE", "1")]).await;
    if put.is_ok() && job.report.ran {
        put = proof::restart().await;
    }
    let well = match put {
        Ok(()) if job.report.ran => proof::well(None).await,
        Ok(()) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    match well {
        Ok(()) => {
            former::forget(&job.places.state);
            job.end(Stage::WentBack, why);
        }
        Err(also) => {
            let why = format!(
                "{why}; and going back did not make it well: {also}. See journalctl -u gatepost; the version before is {file}"
            );
            job.end(Stage::Failed, &why);
        }
    }
    Ok(())
}

/// Runs dpkg, once nobody else has its lock: unlike apt it does not wait for one.
async fn dpkg(arguments: &[&str], more: &[(&str, &str)]) -> Result<(), NotDone> {
    let until = Instant::now() + LOCKED;
    loop {
        let ended = Run { more, ..Run::new(DPKG, arguments, INSTALLING) }.done().await;
        match ended {
            Err(error) if is_locked(&error) && Instant::now() < until => sleep(AGAIN).await,
            ended => return ended.map(drop),
        }
    }
}

/// `dpkg: error: dpkg frontend lock was locked by another process with pid 1872`, or the status database.
fn is_locked(error: &NotDone) -> bool {
    matches!(error, NotDone::Failed(_, words) if words.contains("lock was locked by another process"))
}

/// The version that is installed whole.
async fn installed() -> Result<Option<String>, NotDone> {
    let show = ["--show", "--showformat=${db:Status-Status} ${Version}", PACKAGE];
    let said = Run::new("/usr/bin/dpkg-query", &show, LOOKING).done().await?;
    Ok(said.trim().strip_prefix("installed ").map(str::to_owned))
}

/// Fetches the package lists: of the hub's own source alone, if it is where the guide has it, so that others' do not matter.
async fn lists() -> Result<(), NotDone> {
    let own = SOURCES.iter().find(|path| Path::new(path).is_file());
    let own = own.map(|path| format!("Dir::Etc::SourceList={path}"));
    // Otherwise apt goes on with the lists that it had, and says so to nobody.
    let mut arguments = vec!["-q", "-o", "APT::Update::Error-Mode=any", "-o", "DPkg::Lock::Timeout=120"];
    if let Some(own) = &own {
        arguments.extend(["-o", own, "-o", "Dir::Etc::SourceParts=-", "-o", "APT::Get::List-Cleanup=0"]);
    }
    arguments.push("update");
    Run::new(APT, &arguments, LISTS).done().await.map(drop)
}

/// What `apt-get install` gets in any case.
const INSTALL: [&str; 13] = [
    "-q",
    "-y",
    "--only-upgrade",
    "--no-remove",
    "--no-install-recommends",
    "-o",
    "Dpkg::Options::=--force-confdef",
    "-o",
    "Dpkg::Options::=--force-confold",
    "-o",
    "Dpkg::Use-Pty=0",
    "-o",
    "DPkg::Lock::Timeout=120",
];

/// The version that apt would install, if it would.
async fn newest(wished: Option<&Wished>) -> Result<Option<String>, NotDone> {
    let package =
        wished.map_or_else(|| PACKAGE.to_owned(), |wished| format!("{PACKAGE}={}", wished.of_package()));
    let arguments = [&INSTALL[..], &["--simulate", "install", &package]].concat();
    let said = Run::new(APT, &arguments, LOOKING).done().await?;
    Ok(said.lines().find_map(would_install).map(str::to_owned))
}

/// The version in a line of a simulation: `Inst gatepost [0.1.0-1] (0.2.0-1 Gatepost:stable [amd64])`.
fn would_install(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("Inst gatepost ")?.split_once('(')?;
    rest.split([' ', ')']).next().filter(|version| !version.is_empty())
}

async fn install(job: &mut Job, version: &str) -> Result<(), NotDone> {
    let package = format!("{PACKAGE}={version}");
    let arguments = [&INSTALL[..], &["-o", "APT::Status-Fd=1", "install", &package]].concat();
    let watched = Run::new(APT, &arguments, INSTALLING).watched(|line| {
        if let Some((stage, percent)) = progress(line) {
            job.progress(stage, percent);
        }
    });
    watched.await.map(drop)
}

/// How far apt is by a line of its status: `pmstatus:gatepost:40.0000:Unpacking gatepost (amd64)`
/// (<https://salsa.debian.org/apt-team/apt/-/blob/main/README.progress-reporting>).
fn progress(line: &str) -> Option<(Stage, u8)> {
    let mut parts = line.split(':');
    let stage = match parts.next()? {
        "dlstatus" => Stage::Fetching,
        "pmstatus" => Stage::Installing,
        _ => return None,
    };
    let percent: f64 = parts.nth(1)?.parse().ok()?;
    // A float that fits no integer becomes the nearest that does.
    Some((stage, (percent.clamp(0.0, 100.0)) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_others_is_told_from_what_no_waiting_mends() {
        let failed = |words: &str| NotDone::Failed("dpkg".into(), words.into());
        for who in ["dpkg frontend lock", "dpkg status database lock"] {
            assert!(is_locked(&failed(&format!(
                "dpkg: error: {who} was locked by another process with pid 1"
            ))));
        }
        assert!(!is_locked(&failed("dpkg: error: cannot access archive: No such file or directory")));
    }

    #[test]
    fn apts_words_are_read() {
        assert_eq!(
            would_install("Inst gatepost [0.1.0-1] (0.2.0-1 Gatepost:stable [amd64])"),
            Some("0.2.0-1")
        );
        assert_eq!(would_install("Inst gatepost (0.2.0-1)"), Some("0.2.0-1"));
        for none in [
            "Inst gatepost-extra (1 x)",
            "Conf gatepost (0.2.0-1 x)",
            "Inst gatepost",
            "Inst gatepost ()",
            "",
        ] {
            assert_eq!(would_install(none), None, "{none}");
        }
        assert_eq!(progress("dlstatus:1:33.5:Retrieving file 1 of 1"), Some((Stage::Fetching, 33)));
        assert_eq!(progress("pmstatus:gatepost:140:Unpacking"), Some((Stage::Installing, 100)));
        assert_eq!(progress("pmstatus:gatepost:NaN:Unpacking"), Some((Stage::Installing, 0)));
        for none in ["pmerror:gatepost:1:no", "pmstatus:", "Unpacking gatepost", ""] {
            assert_eq!(progress(none), None, "{none}");
        }
    }
}
