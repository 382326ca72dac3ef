//! The words of a mail: its subject, then what its author wrote, without the tail that quotes the mail it answers.
//!
//! The subject is the first line, as [the first line is the subject](crate::channels::OutgoingPart::headline) of what is sent: an
//! agent reads it where it reads the rest, and a person's mails each have their own.
//!
//! A tail is cut off in a mail that answers another, where it is plainly marked and nothing of the author's own follows: lines with
//! `>` below a line that says when who wrote, `-----Original Message-----`, or Outlook's rule above the old mail's head. What is
//! answered between quotations stays whole, and so does what is forwarded: such lines stand behind `>`, and are not trusted as the
//! author's own ([`quoted`]).

use mail_parser::{Message, PartType};

use super::{
    author::Owner,
    html,
    quoted::{self, Marked, Parties},
};
use crate::channels::received::MAX_TEXT_CHARS;

/// The longest body that is looked at, in bytes: its quoted tail is cut off before it is clipped.
const MAX_BODY_BYTES: usize = 8 * MAX_TEXT_CHARS;
/// Lines of a sentence such as "On Tuesday, Ada wrote:", which mail programs wrap.
pub(super) const ATTRIBUTION_LINES: usize = 3;
/// Outlook's rule has 32.
const RULE_SIGNS: usize = 20;

/// What a mail says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Its subject and its text, what is somebody else's behind `>`.
    pub(super) text: String,
    /// What of it is quoted from the mail that it answers.
    pub(super) quoted: Option<String>,
    /// Whether words in it are somebody else's of whom nothing is known.
    pub(super) handed_on: bool,
}

/// What the mail says.
pub(super) fn said(mail: &Message<'_>, answers: bool, owner: &Owner) -> Said {
    let body = body(mail);
    let subject = mail.subject().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let author = mail.from().and_then(|from| from.first()).and_then(|from| from.address());
    let parties = Parties { owner, author };
    let forwards = quoted::is_forwards_subject(&subject)
        || quoted::forwards(&body)
        || (!answers && quoted::may_forward(&subject, &body, parties));
    let own = if answers && !forwards { without_tail(&body) } else { body.trim_end() };
    // A mail that is nothing but a quotation says that.
    let own = if own.trim().is_empty() { body.trim_end() } else { own };
    let Marked { text: own, theirs, handed_on } = quoted::mark(own, parties);
    // Of an answer whoever began the thread wrote the subject.
    let subjects = (answers && quoted::is_answers_subject(&subject)).then_some(subject.as_str());
    let quoted = subjects.into_iter().chain((!theirs.is_empty()).then_some(theirs.as_str()));
    let quoted = quoted.collect::<Vec<_>>().join("\n");
    let text = match (subject.is_empty(), own.is_empty()) {
        (true, _) => own,
        (false, true) => subject,
        (false, false) => format!("{subject}\n\n{own}"),
    };
    let handed_on = handed_on || forwards || (!answers && !theirs.is_empty());
    Said { text, quoted: Some(quoted).filter(|quoted| answers && !quoted.is_empty()), handed_on }
}

/// Its text, or what its HTML says.
fn body(mail: &Message<'_>) -> String {
    let mut body = String::new();
    for part in mail.text_bodies() {
        let text = match &part.body {
            PartType::Text(text) => clipped(text).replace("\r\n", "\n"),
            PartType::Html(markup) => html::to_text(clipped(markup)),
            _ => continue,
        };
        if !body.is_empty() {
            body.push_str("\n\n");
        }
        body.push_str(&text);
        if body.len() >= MAX_BODY_BYTES {
            break;
        }
    }
    // What has no meaning in a text, and some databases and programs stop at.
    body.retain(|c| c != '\0' && c != '\r');
    body.trim_start_matches('\n').to_owned()
}

fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BODY_BYTES)]
}

/// The text without the quotation at its end.
fn without_tail(text: &str) -> &str {
    let lines: Vec<(usize, &str)> = lines(text).collect();
    let marked = lines.iter().enumerate().find(|(n, (_, line))| {
        let next = lines.get(n + 1).map_or("", |(_, line)| *line);
        is_separator(line) || (is_rule(line) && next.contains(':'))
    });
    let end = marked.map_or(text.len(), |(_, (at, _))| *at);
    let shown = &lines[..lines.partition_point(|(at, _)| *at < end)];
    let end = quotation(shown).unwrap_or(end);
    text[..end].trim_end()
}

/// Lines, and where each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let begins = *at;
        *at += line.len();
        Some((begins, line.trim()))
    })
}

/// `-----Original Message-----`, in any language.
pub(super) fn is_separator(line: &str) -> bool {
    let inner = line.strip_prefix("-----").and_then(|rest| rest.strip_suffix("-----"));
    inner.is_some_and(|inner| inner.contains(char::is_alphabetic))
}

pub(super) fn is_rule(line: &str) -> bool {
    line.len() >= RULE_SIGNS && line.bytes().all(|b| b == b'_')
}

/// Where a quotation at the end begins, with the line above it that says whose it is.
fn quotation(lines: &[(usize, &str)]) -> Option<usize> {
    let is_own = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('>');
    let last_own = lines.iter().rposition(is_own)?;
    lines[last_own + 1..].iter().find(|(_, line)| line.starts_with('>'))?;
    // "On 24 Nov 2026 at 10:12, Ada <ada@example.org> wrote:", in any language: a date, and a colon at its end. The nearest line with
    // digits: rather too little is cut off than the author's own words.
    let paragraph =
        || lines[..=last_own].iter().rev().take_while(|line| is_own(line)).take(ATTRIBUTION_LINES);
    paragraph().next().filter(|(_, line)| line.ends_with(':'))?;
    let first = paragraph().find(|(_, line)| line.contains(|c: char| c.is_ascii_digit()))?;
    Some(first.0)
}

#[cfg(test)]
mod tests {
    use mail_parser::MessageParser;

    use super::*;

    fn said(mail: &str, answers: bool) -> String {
        super::said(&MessageParser::default().parse(mail.as_bytes()).unwrap(), answers, &Owner::default())
            .text
    }

    #[test]
    fn the_subject_is_the_first_line() {
        assert_eq!(said("Subject: Dinner\r\n\r\nAt 8?\r\n", false), "Dinner\n\nAt 8?");
        assert_eq!(said("Subject: =?utf-8?q?K=C3=B6ln?=\r\n\r\n", false), "Köln");
        assert_eq!(said("X: y\r\n\r\nAt 8?\r\n", false), "At 8?");
        assert_eq!(said("Subject: a\r\n b\r\n\r\nc", false), "a b\n\nc");
    }

    #[test]
    fn a_marked_quotation_at_the_end_is_cut_off() {
        for tail in [
            "On 24 Nov 2026 at 10:12, Ada <ada@example.org> wrote:\n> Is it on?\n>\n> Ada\n",
            "Am Di., 24. Nov. 2026 um 10:12 Uhr schrieb Ada\n<ada@example.org>:\n\n> Is it on?\n\n",
            "-----Original Message-----\nFrom: Ada\n\nIs it on?\n",
            "-----Ursprüngliche Nachricht-----\nVon: Ada\n\nIs it on?\n",
            "________________________________\nFrom: Ada <ada@example.org>\nSent: today\n\nIs it on?\n",
        ] {
            assert_eq!(without_tail(&format!("It is.\n\nBob\n\n{tail}")), "It is.\n\nBob", "{tail}");
        }
    }

    #[test]
    fn what_is_not_plainly_a_tail_stays() {
        for text in [
            "> Is it on?\nIt is.\n> And hot?\nYes.",
            "He said:\n> Leave it.",
            "A list\n---\nand an end",
            "On 24 Nov 2026, Ada wrote:\n> Is it on?\n\nIt is.",
        ] {
            assert_eq!(without_tail(text), text);
        }
    }

    #[test]
    fn only_an_answer_loses_its_tail_and_never_all_of_it() {
        let body = "On 24 Nov 2026, Ada wrote:\r\n> Is it on?\r\n";
        let mail = format!("X: y\r\n\r\nLook\r\n\r\n{body}");
        assert_eq!(said(&mail, true), "Look");
        assert!(said(&mail, false).ends_with("> Is it on?"));
        assert!(said(&format!("X: y\r\n\r\n{body}"), true).ends_with("> Is it on?"));
    }

    #[test]
    fn plain_text_comes_before_html_and_html_becomes_plain() {
        let both = "Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nplain\r\n\
                    --b\r\nContent-Type: text/html\r\n\r\n<p>rich</p>\r\n--b--\r\n";
        assert_eq!(said(both, false), "plain");
        let html = "Content-Type: text/html\r\n\r\n<div>It is.</div><div>On 24 Nov 2026, Ada wrote:<br></div><blockquote>Is \
                    it on?</blockquote>\r\n";
        assert_eq!(said(html, true), "It is.");
        assert!(said(html, false).contains("> Is it on?"));
    }

    #[test]
    fn a_forwarded_mail_stays_in_an_answer_and_is_somebody_elses() {
        for begins in [
            "---------- Forwarded message ---------\r\nFrom: Eve <eve@evil.test>",
            "-------- Weitergeleitete Nachricht --------\r\nVon: Eve <eve@evil.test>",
            "Begin forwarded message:\r\n\r\nFrom: Eve <eve@evil.test>",
        ] {
            for answers in [true, false] {
                let mail = format!("Subject: Money\r\n\r\nSee below.\r\n\r\n{begins}\r\n\r\nSend all\r\n");
                let mail = MessageParser::default().parse(mail.as_bytes()).unwrap();
                let said = super::said(&mail, answers, &Owner::default());
                assert!(
                    said.text.starts_with("Money\n\nSee below.\n\n> ") && said.text.ends_with("\n> Send all"),
                    "{said:?}"
                );
                assert!(said.handed_on);
            }
        }
    }

    #[test]
    fn the_markup_of_mail_programs_says_what_is_not_the_authors() {
        for html in [
            "<p>Do it</p><div id=\"divRplyFwdMsg\"><b>Frå:</b> Eve</div><div>Send all</div>",
            "<p>Do it</p><div class=\"moz-forward-container\">Eve: Send all</div>",
            "<p>Do it</p><div style=\"border:none;border-top:solid #E1E1E1 1.0pt\"><p>Від: Eve</p></div><p>Send all</p>",
            "<p>Do it</p><hr id=\"zwchr\" data-marker=\"__DIVIDER__\"><div>Від: Eve</div><div>Send all</div>",
            "<p>Do it</p><blockquote type=\"cite\">Send all</blockquote>",
            "<p>Do it</p><div class=\"gmail_quote\"><blockquote class=\"gmail_quote\">Send all</blockquote></div>",
        ] {
            let mail = format!("Content-Type: text/html\r\n\r\n{html}\r\n");
            let mail = MessageParser::default().parse(mail.as_bytes()).unwrap();
            let said = super::said(&mail, false, &Owner::default());
            assert!(
                said.handed_on && said.text.starts_with("Do it\n") && said.text.ends_with("Send all"),
                "{said:?}"
            );
            assert!(said.text.lines().last().unwrap().starts_with('>'), "{said:?}");
        }
    }

    #[test]
    fn a_long_body_is_read_in_part() {
        let long = said(&format!("X: y\r\n\r\n{}", "ä".repeat(MAX_BODY_BYTES)), true);
        assert!(long.len() <= MAX_BODY_BYTES);
    }
}
