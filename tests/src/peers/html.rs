//! HTML judged by a parser that is not ours.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context as _, Result, bail, ensure};

/// What an independent HTML5 parser (parse5) finds wrong with each of `fragments`: parse errors, and tags that do not
/// nest or are not closed. Empty when all are well.
///
/// # Errors
/// The parser is not installed or failed itself.
pub fn html_check(fragments: &[&str]) -> Result<Vec<String>> {
    if !super::file("node_modules/parse5").exists() {
        bail!("parse5 is missing: run `tests/run --setup-only`");
    }
    let mut node = Command::new("node")
        .arg(super::file("html-check.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start node: run `tests/run --setup-only`")?;
    let mut stdin = node.stdin.take().expect("its standard input is a pipe");
    let mut lines = String::new();
    for fragment in fragments {
        lines.push_str(&serde_json::to_string(fragment)?);
        lines.push('\n');
    }
    // Written beside the reading: a full pipe each way would stop both.
    let writer = thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = node.wait_with_output()?;
    let written = writer.join().expect("the writer does not panic");
    ensure!(output.status.success(), "html-check.mjs failed: {}", output.status);
    written?;

    let verdicts = String::from_utf8(output.stdout)?;
    ensure!(verdicts.lines().count() == fragments.len(), "html-check.mjs did not answer for every fragment");
    let mut problems = Vec::new();
    for (line, fragment) in verdicts.lines().zip(fragments) {
        for problem in serde_json::from_str::<Vec<String>>(line)? {
            problems.push(format!("{problem} in {fragment:?}"));
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_html_has_no_problems() {
        let good = [
            "<b>a <i>b</i></b><br>&lt;&amp;",
            "",
            "<pre><code class=\"language-rust\">x\n</code></pre>",
            "🦀",
        ];
        assert_eq!(html_check(&good).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn html_that_a_browser_would_mend_is_a_problem() {
        for bad in [
            "<b>never closed",
            "closes nothing</i>",
            "<b><i>crossed</b></i>",
            "&nosuch;",
            "<a href='x' href='y'>z</a>",
        ] {
            let problems = html_check(&["<p>fine</p>", bad]).unwrap();
            assert!(!problems.is_empty(), "{bad} passed");
            assert!(problems.iter().all(|problem| problem.contains(&format!("in {bad:?}"))), "{problems:?}");
        }
    }

    #[test]
    fn a_megabyte_of_fragments_does_not_block() {
        let fragment = "<b>".repeat(3_000);
        let problems = html_check(&vec![fragment.as_str(); 100]).unwrap();
        assert_eq!(problems.len(), 300_000);
    }
}
