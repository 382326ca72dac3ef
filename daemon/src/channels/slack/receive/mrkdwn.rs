//! Slack's text as people see it: what stands in `<` and `>` is a reference, and three signs are escaped
//! (<https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages>).

use crate::channels::received::Event;

/// The text of an event as people see it. `name` says what a person is called.
pub(super) fn plain_words(event: &mut Event, name: impl Fn(&str) -> Option<String>) {
    if let Event::Message(words) | Event::Edit(words) = event {
        words.text = plain(&words.text, &name);
    }
}

/// The people whom a text calls. In what somebody typed `<` is escaped, so none of these is pretended.
pub(super) fn people(text: &str) -> impl Iterator<Item = &str> {
    references(text).filter_map(|reference| {
        let person = reference.strip_prefix('@')?;
        Some(person.split_once('|').map_or(person, |(id, _)| id))
    })
}

fn references(text: &str) -> impl Iterator<Item = &str> {
    text.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0))
}

fn plain(text: &str, name: impl Fn(&str) -> Option<String>) -> String {
    let mut pieces = text.split('<');
    let mut plain = unescaped(pieces.next().unwrap_or_default());
    for piece in pieces {
        match piece.split_once('>') {
            Some((reference, rest)) => {
                plain.push_str(&shown(reference, &name));
                plain.push_str(&unescaped(rest));
            }
            // Slack writes none that has no end.
            None => {
                plain.push('<');
                plain.push_str(&unescaped(piece));
            }
        }
    }
    plain
}

/// A reference as people see it.
fn shown(reference: &str, name: impl Fn(&str) -> Option<String>) -> String {
    let (what, label) = reference.split_once('|').unwrap_or((reference, ""));
    let label = Some(unescaped(label)).filter(|label| !label.is_empty());
    let bare = |label: String| label.trim_start_matches(['@', '#']).to_owned();
    let (sign, rest) = match what.chars().next() {
        Some(sign @ ('@' | '#' | '!')) => (sign, &what[1..]),
        _ => return link(&unescaped(what), label),
    };
    match sign {
        '@' => format!("@{}", name(rest).or(label).map_or_else(|| rest.to_owned(), bare)),
        '#' => format!("#{}", label.map_or_else(|| rest.to_owned(), bare)),
        // A group of people, a date, or everybody.
        _ => match (rest.strip_prefix("subteam^"), label) {
            (Some(group), label) => format!("@{}", label.map_or_else(|| group.to_owned(), bare)),
            (None, Some(label)) if rest.starts_with("date^") => label,
            (None, label) => format!("@{}", label.map_or_else(|| rest.to_owned(), bare)),
        },
    }
}

/// An address, and what stands for it where that says more.
fn link(address: &str, label: Option<String>) -> String {
    match label {
        Some(label) if address == label || address.ends_with(&format!("://{label}")) => label,
        Some(label) if ["mailto:", "tel:"].iter().any(|kind| address.strip_prefix(kind) == Some(&label)) => {
            label
        }
        Some(label) => format!("{label} ({address})"),
        None => address.to_owned(),
    }
}

fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    // The sign itself comes last, or what somebody wrote of an escape would become one.
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_as(text: &str) -> String {
        plain(text, |id| (id == "U012AB3CD").then(|| "Ann".to_owned()))
    }

    #[test]
    fn a_text_is_as_people_see_it() {
        for (came, seen) in [
            ("Tea &amp; cake &lt;now&gt;", "Tea & cake <now>"),
            ("&amp;lt;", "&lt;"),
            ("<@U012AB3CD> and <@U099>", "@Ann and @U099"),
            ("<@U099|ben>", "@ben"),
            ("<#C012AB3CD|general> <#C012AB3CD|> <#C012AB3CD>", "#general #C012AB3CD #C012AB3CD"),
            ("<https://a.test/?x=1&amp;y=2|the page>", "the page (https://a.test/?x=1&y=2)"),
            ("<https://a.test/>", "https://a.test/"),
            ("<http://a.test|a.test>", "a.test"),
            ("<mailto:ann@a.test|ann@a.test>", "ann@a.test"),
            ("<!here> <!channel|channel> <!everyone>", "@here @channel @everyone"),
            ("<!subteam^S012AB3CD|@cooks> <!subteam^S012AB3CD>", "@cooks @S012AB3CD"),
            ("<!date^1392734382^{date}|18 February>", "18 February"),
            ("a < b", "a < b"),
            ("<", "<"),
            ("<>", ""),
            ("*bold* `code`", "*bold* `code`"),
        ] {
            assert_eq!(shown_as(came), seen, "{came}");
        }
    }

    #[test]
    fn who_types_a_mention_calls_nobody() {
        let called = |text| people(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(called("<@U1|a> <@U2> <#C1>"), ["U1", "U2"]);
        assert_eq!(called("&lt;@U1&gt; @U2 <@U3"), Vec::<String>::new());
    }
}
