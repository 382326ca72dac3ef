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

/// The sign that Slack's name stands for; the name between colons where it is none of these. A skin's tone is left out.
pub(super) fn sign(name: &str) -> String {
    let plain = name.split("::").next().unwrap_or(name);
    let plain = match plain {
        "thumbsup" => "+1",
        "thumbsdown" => "-1",
        plain => plain,
    };
    let known = NAMES.iter().find(|(_, known)| *known == plain);
    known.map_or_else(|| format!(":{plain}:"), |(sign, _)| (*sign).to_owned())
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

    #[test]
    fn a_reaction_is_a_sign_or_a_name_between_colons() {
        for (named, shown) in [
            ("+1", "👍"),
            ("thumbsup", "👍"),
            ("+1::skin-tone-3", "👍"),
            ("tada", "🎉"),
            ("hub", ":hub:"),
            ("", "::"),
        ] {
            assert_eq!(sign(named), shown);
        }
    }
}
