//! Rendered parts judged by the libraries of the platforms that they are for.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// What a judge said of many parts.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How many parts it looked at: all of them.
    pub checked: usize,
    /// A line `part INDEX: WHY` for each reason against one.
    pub against: Vec<String>,
}

/// Has the judge of `channel` (`tests/peers/flavours/CHANNEL.py`) look at `parts`, in one process. Each is an object as
/// `gatepost render --json` prints it, with an `index` of its own.
///
/// # Errors
/// There is no such judge, what it stands on is not installed, or it could not judge.
pub fn judge(channel: &str, parts: &[Value]) -> Result<Verdict> {
    let script = super::file("flavours").join(channel).with_extension("py");
    ensure!(script.exists(), "there is no judge for {channel}");
    let mut judge = Command::new(super::python()?)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start the judge")?;
    let mut stdin = judge.stdin.take().expect("its standard input is a pipe");
    let lines: String = parts.iter().map(|part| format!("{part}\n")).collect();
    // Written beside the reading: a full pipe each way would stop both.
    let writer = thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = judge.wait_with_output()?;
    let written = writer.join().expect("the writer does not panic");
    let against = String::from_utf8(output.stderr)?;
    let summary = String::from_utf8(output.stdout)?;
    // 1 is its verdict; anything else is no verdict.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("{channel}.py failed ({}); `tests/run --setup-only` may mend it:\n{against}", output.status);
    }
    written?;
    let checked = summary.split(' ').next().and_then(|count| count.parse().ok());
    ensure!(
        checked == Some(parts.len()),
        "{channel}.py did not look at all of {} parts: {summary}",
        parts.len()
    );
    let against: Vec<String> = against.lines().map(str::to_owned).collect();
    ensure!(
        output.status.success() == against.is_empty() || parts.is_empty(),
        "{channel}.py gives no reason, or one without a refusal: {against:?}"
    );
    Ok(Verdict { checked: parts.len(), against })
}

/// All channels that have a judge.
pub const JUDGED: [&str; 4] = ["telegram", "slack", "discord", "googlechat"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_judge_is_named_and_answers_for_no_parts() {
        for channel in JUDGED {
            assert_eq!(judge(channel, &[]).unwrap(), Verdict { checked: 0, against: vec![] }, "{channel}");
        }
        assert!(judge("carrier-pigeon", &[]).is_err());
    }

    #[test]
    fn a_judge_that_cannot_judge_is_an_error_and_no_verdict() {
        for channel in JUDGED {
            let error = judge(channel, &[json!({"index": 0})]).unwrap_err();
            assert!(format!("{error:#}").contains("KeyError"), "{channel}: {error:#}");
        }
    }
}
