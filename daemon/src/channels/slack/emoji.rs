//! Reactions by Slack's names of them.
//!
//! Slack names an emoji (`thumbsup`), agents often write it (👍). The ones that people react with are translated, every
//! other name goes as it is and Slack says whether it has it.

/// <https://github.com/iamcal/emoji-data>, Slack's own source of short names.
const NAMES: &[(&str, &str)] = &[
    ("👍", "+1"),
    ("👎", "-1"),
    ("❤", "heart"),
    ("✅", "white_check_mark"),
    ("❌", "x"),
    ("👀", "eyes"),
    ("🎉", "tada"),
    ("🙏", "pray"),
    ("🔥", "fire"),
    ("🚀", "rocket"),
    ("😂", "joy"),
    ("😄", "smile"),
    ("🙂", "slightly_smiling_face"),
    ("😢", "cry"),
    ("😮", "open_mouth"),
    ("😡", "rage"),
    ("🤔", "thinking_face"),
    ("👏", "clap"),
    ("👋", "wave"),
    ("💯", "100"),
    ("⭐", "star"),
    ("⚠", "warning"),
    ("⏳", "hourglass_flowing_sand"),
    ("❓", "question"),
    ("➕", "heavy_plus_sign"),
];

/// What Slack calls it.
pub(super) fn name(emoji: &str) -> &str {
    let plain = emoji.trim_matches(':');
    // The sign that asks for the colourful form is no part of the emoji.
    let bare = plain.trim_end_matches('\u{fe0f}');
    NAMES.iter().find(|(sign, _)| *sign == bare).map_or(plain, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_and_names_become_names() {
        for (given, named) in
            [("👍", "+1"), ("❤\u{fe0f}", "heart"), (":tada:", "tada"), ("parrot", "parrot"), ("🦜", "🦜")]
        {
            assert_eq!(name(given), named);
        }
    }
}
