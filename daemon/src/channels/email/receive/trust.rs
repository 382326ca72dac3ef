//! Whether the mail server vouches for a sender: the topmost `Authentication-Results` that it signs with its own name (RFC 8601).
//!
//! Anybody can write any `From`, and any `Authentication-Results` too. A server takes those that bear its own name out of what
//! comes in (§5) and puts its own on top, so the first one with the configured name is its word, and no other is. What cannot be read
//! ends the search: it may be that one, with something of the sender's in it, and what stands below may be anybody's. DKIM is not verified
//! here: whoever does it beside the server, later and by a slower DNS, calls good mail forged.

use std::iter::Peekable;
use std::str::Chars;

/// Whether the first of these headers that this server wrote says that DMARC passed for this domain.
pub(super) fn passed(
    headers: impl Iterator<Item = impl AsRef<str>>,
    authserv_id: &str,
    domain: &str,
) -> bool {
    for header in headers {
        let header = header.as_ref();
        let Some(results) = Results::parse(header) else { return false };
        if results.server.eq_ignore_ascii_case(authserv_id) {
            // In quotes or behind a comment the name is the sender's, who wrote it so that the server does not know it.
            return begins_with(header, authserv_id) && results.dmarc_passed(domain);
        }
    }
    false
}

/// Whether a header has the name plainly, at its beginning.
fn begins_with(header: &str, name: &str) -> bool {
    header.trim_start().get(..name.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(name))
}

/// One header, without comments.
struct Results {
    server: String,
    /// Each method with its result and properties, as words.
    methods: Vec<Vec<String>>,
}

impl Results {
    fn parse(value: &str) -> Option<Self> {
        let mut clauses = clauses(value)?.into_iter();
        // Behind the name a version may stand, §2.2.
        let server = clauses.next()?.into_iter().next()?;
        Some(Self { server, methods: clauses.collect() })
    }

    /// One result of DMARC, and it is "pass", for this domain where it says which.
    fn dmarc_passed(&self, domain: &str) -> bool {
        let of = |words: &Vec<String>| words.first().and_then(|word| method(word)).map(str::to_owned);
        let mut results = self.methods.iter().filter_map(|words| Some((of(words)?, words)));
        let (Some((result, words)), None) = (results.next(), results.next()) else { return false };
        let from = words.iter().find_map(|word| property(word, "header.from"));
        result.eq_ignore_ascii_case("pass") && from.is_none_or(|from| from.eq_ignore_ascii_case(domain))
    }
}

/// The result in `dmarc=pass` or `dmarc/1=pass`.
fn method(word: &str) -> Option<&str> {
    let (method, result) = word.split_once('=')?;
    let name = method.split('/').next().unwrap_or(method);
    name.eq_ignore_ascii_case("dmarc").then_some(result)
}

fn property<'a>(word: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = word.split_once('=')?;
    key.eq_ignore_ascii_case(name).then_some(value)
}

/// What stands between semicolons, in words. Blanks around `=` and `/` are left out; what is quoted is part of a word and divides nothing,
/// for senders choose some of it. Nothing where a quotation or a comment does not end.
fn clauses(value: &str) -> Option<Vec<Vec<String>>> {
    let (mut clauses, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
    let mut rest = value.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '(' => comment(&mut rest)?,
            '"' => quoted(&mut rest, &mut word)?,
            ';' => {
                words.extend(ended(&mut word));
                clauses.push(std::mem::take(&mut words));
            }
            c if c.is_whitespace() => {
                while rest.next_if(|c| c.is_whitespace()).is_some() {}
                if !word.ends_with(['=', '/']) && rest.peek().is_none_or(|next| !"=/".contains(*next)) {
                    words.extend(ended(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    words.extend(ended(&mut word));
    clauses.push(words);
    Some(clauses)
}

fn ended(word: &mut String) -> Option<String> {
    Some(std::mem::take(word)).filter(|word| !word.is_empty())
}

/// The rest of a comment, which may hold others (RFC 5322 §3.2.2).
fn comment(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    let mut depth = 1_usize;
    while depth > 0 {
        match rest.next()? {
            '(' => depth += 1,
            ')' => depth -= 1,
            '\\' => drop(rest.next()),
            _ => {}
        }
    }
    Some(())
}

/// The rest of a quoted string, RFC 5322 §3.2.4.
fn quoted(rest: &mut Peekable<Chars<'_>>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '\\' => word.extend(rest.next()),
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(headers: &[&str]) -> bool {
        passed(headers.iter().copied(), "mx.hub.test", "example.org")
    }

    #[test]
    fn the_servers_own_pass_is_believed() {
        for header in [
            "mx.hub.test; dmarc=pass header.from=example.org",
            " MX.hub.test 1;\r\n\tspf=pass (sender is 1.2.3.4) smtp.mailfrom=ada@example.org;\r\n\tdmarc=pass (p=NONE sp=QUARANTINE dis=NONE) header.from=Example.org",
            "mx.hub.test; dkim=fail reason=\"bad; really\"; DMARC / 1 = Pass",
            "mx.hub.test; dmarc=pass",
        ] {
            assert!(passes(&[header]), "{header}");
        }
    }

    #[test]
    fn no_other_word_is_believed() {
        for header in [
            "",
            ";",
            "mx.evil.test; dmarc=pass header.from=example.org",
            "mx.hub.test; dmarc=fail header.from=example.org",
            "mx.hub.test; dmarc=none",
            "mx.hub.test; spf=pass; dkim=pass",
            "mx.hub.test; dmarc=pass header.from=evil.test",
            "mx.hub.test; dmarc=pass; dmarc=fail",
            "mx.hub.test; spf=pass (x; dmarc=pass) smtp.mailfrom=a@b",
            "mx.hub.test; spf=pass smtp.mailfrom=\"x; dmarc=pass\"@b",
            "mx.hub.test; spf=pass (\\); dmarc=pass",
            "mx.hub.test; spf=pass \"; dmarc=pass",
            "mx.hub.test.evil.test; dmarc=pass",
            "(mx.hub.test); dmarc=pass",
            "(x) mx.hub.test; dmarc=pass",
            "\"mx.hub.test\"; dmarc=pass",
        ] {
            assert!(!passes(&[header]), "{header}");
        }
    }

    #[test]
    fn only_the_topmost_with_the_servers_name_counts() {
        let (fails, passes_) = ("mx.hub.test; dmarc=fail", "mx.hub.test; dmarc=pass");
        assert!(!passes(&[fails, passes_]));
        assert!(passes(&[passes_, fails]));
        assert!(passes(&["filter.hub.test; spam=no", passes_]));
        let unread = "mx.hub.test; spf=pass (domain of \"eve(\"@evil.test designates it); dmarc=fail";
        assert!(!passes(&[unread, passes_]), "what cannot be read may be the server's own");
    }
}
