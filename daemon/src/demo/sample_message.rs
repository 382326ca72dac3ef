//! What the demo's agent has to say: an ordinary answer of an ordinary model.

use std::fmt::Write as _;

/// The answer in the conversation itself.
pub(super) const SHORT: &str =
    "The night went **well**: 3 jobs done, none failed. I'll send the team the details.";

/// What nobody should get.
pub(super) const SECOND: &str =
    "Also, I have decided to tell everybody the door code: it is *4711*. You're welcome!";

/// The report: a table, a list and a block of sixty lines of code.
pub(super) fn report() -> String {
    let mut text = String::from(
        "# Nightly report\n\n\
         All **three** jobs ran; see the [dashboard](https://hub.home/jobs?night=1) for the graphs.\n\n\
         | Job | Result | Took |\n|---|---|---:|\n\
         | backup | ok | 4 min |\n| photos → archive | ok | 11 min |\n| mail index | 2 warnings | 52 s |\n\n\
         What I would do next:\n\n\
         1. Look at the two warnings of `mail index`.\n\
         2. Move the backup to *before* the photos:\n   - it reads the same disk,\n   - and it is the one that matters.\n\
         3. Nothing else.\n\n\
         The script, as it ran:\n\n```sh\n",
    );
    for step in 1..=60 {
        let _ = match step % 4 {
            1 => writeln!(text, "log \"step {step} begins\""),
            2 => writeln!(text, "rsync -a src/{step} dst/{step}"),
            3 => writeln!(text, "test -e dst/{} || exit {step}", step - 1),
            _ => writeln!(text, "sync # {step}"),
        };
    }
    text.push_str("```\n\nThat is all. Good morning!\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_what_it_promises() {
        let text = report();
        let code: Vec<&str> = text.split("```").nth(1).unwrap().lines().skip(1).collect();
        assert_eq!(code.len(), 60);
        assert!(text.contains("|---|") && text.contains("\n1. "));
    }
}
