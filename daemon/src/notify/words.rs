//! What a notification says. What an agent wrote stands in it only if the configuration says so, and then as plain text.

use std::fmt::Write as _;

use gatepost_link::RequestId;

use super::{Notify, Show, Waiting};
use crate::plain_text::{literal, one_line};

/// Of those that are described, at most; the rest is a count.
const MOST_SHOWN: usize = 3;
/// Of a text, in characters.
const MOST_CHARS: usize = 160;

/// The text, about `told` of all that waits. `urgent`: some of them were told before, and their time is nearly over.
pub(super) fn text(notify: &Notify, all: usize, told: &[Waiting], urgent: bool) -> String {
    let mut text = match all {
        1 => "A message waits for your yes or no.".to_owned(),
        all => format!("{all} messages wait for your yes or no."),
    };
    if urgent {
        text.push_str(match all {
            1 => " Its time is nearly over.",
            _ => " For some, the time is nearly over.",
        });
    }
    if notify.show != Show::Count {
        for one in told.iter().take(MOST_SHOWN) {
            write!(text, "\n{} → {}", literal(&one.agent), literal(&one.target)).expect("a text takes text");
            if notify.show == Show::Text {
                write!(text, ": {}", as_code(&one_line(&one.text, MOST_CHARS))).expect("a text takes text");
            }
        }
        if let Some(more) = told.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
            write!(text, "\nand {more} more").expect("a text takes text");
        }
    }
    let page = &notify.page;
    match told {
        [one] if all == 1 => write!(text, "\n{page}/#/waiting/{}", RequestId(one.request)),
        _ => write!(text, "\n{page}/#/waiting"),
    }
    .expect("a text takes text");
    text
}

/// A line as code: no platform makes a link, a command or a mention of what is in it. The spaces at its ends belong to the signs
/// (<https://spec.commonmark.org/0.31.2/#code-spans>).
fn as_code(line: &str) -> String {
    let longest = line.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let signs = "`".repeat(longest + 1);
    format!("{signs} {line} {signs}")
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::heartbeat::schedule::Hours;

    fn notify(show: Show) -> Notify {
        let (targets, page) = (vec![], "https://hub.example.org".to_owned());
        Notify { targets, show, page, hours: Hours::all_day(TimeZone::UTC) }
    }

    fn waiting(number: u8, text: &str) -> Waiting {
        let (agent, target) = ("jarvis".to_owned(), "telegram:123".to_owned());
        Waiting { request: [number; 16], asked_at: 0, deadline: 1, agent, target, text: text.into() }
    }

    #[test]
    fn it_is_a_count_and_a_link_unless_more_is_wanted() {
        let all = [
            waiting(1, "Dinner at *eight*?\nOr \u{202e}nine"),
            waiting(2, ""),
            waiting(3, ""),
            waiting(4, ""),
        ];
        let link = "https://hub.example.org/#/waiting";
        assert_eq!(
            text(&notify(Show::Count), 1, &all[..1], false),
            format!("A message waits for your yes or no.\n{link}/{}", "01".repeat(16))
        );
        assert_eq!(
            text(&notify(Show::Count), 4, &all[..1], true),
            format!("4 messages wait for your yes or no. For some, the time is nearly over.\n{link}")
        );
        assert_eq!(
            text(&notify(Show::Who), 4, &all, false),
            format!(
                "4 messages wait for your yes or no.{}\nand 1 more\n{link}",
                "\njarvis → telegram\\:123".repeat(3)
            )
        );
        let begun = text(&notify(Show::Text), 1, &all[..1], false);
        assert!(begun.contains("jarvis → telegram\\:123: ` Dinner at *eight*? Or nine `\n"), "{begun}");
    }

    #[test]
    fn what_an_agent_wrote_ends_no_code() {
        assert_eq!(as_code("a ``` b ` c"), "```` a ``` b ` c ````");
        assert_eq!(as_code(""), "`  `");
    }

    #[test]
    fn a_long_text_is_its_beginning() {
        let long = text(&notify(Show::Text), 1, &[waiting(1, &"word ".repeat(9_000))], false);
        assert!(long.len() < 400 && long.contains('…'), "{long}");
    }
}
