//! Links: where they lead, and what a reader is shown of that.
//!
//! What an approver sees of a link is its whole address, unless its label is that already; which platform gets it as a
//! link, rather than as `label (url)`, depends on what the platform would make of it.

use std::ops::Range;

use super::glance::first_unprintable;

/// A link; its label is the text at `range`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) range: Range<usize>,
    pub(super) url: String,
    /// Where it leads, as far as platforms care.
    pub(super) kind: LinkKind,
    /// Whether its label has a sign that ends a label in some notations.
    pub(super) has_angle: bool,
}

/// Which platforms make a link of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkKind {
    /// None: another scheme, or white space in it.
    Other,
    /// Most: an address for mail, or a host that only a house knows.
    Usual,
    /// All that have links: a host on the web.
    Web,
}

impl LinkKind {
    pub(super) fn of(url: &str) -> Self {
        let behind = |scheme| behind_scheme(url, scheme);
        let may_have_space = first_unprintable(url.as_bytes()).is_some();
        let has_space = may_have_space && url.contains(char::is_whitespace);
        if has_space {
            return Self::Other;
        }
        match behind("http://").or_else(|| behind("https://")) {
            Some(rest) if is_public(rest) => Self::Web,
            Some(_) => Self::Usual,
            None => behind("mailto:").map_or(Self::Other, |_| Self::Usual),
        }
    }
}

/// What is behind `scheme` in an address that begins with it, in any case of letters.
pub(super) fn behind_scheme<'a>(url: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = url.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Whether an address, from its host on, has a host with a dot in its name (or a number) and a port that there is. What
/// Telegram's own parser drops, or turns into something else, has not.
fn is_public(rest: &str) -> bool {
    let end = memchr::memchr3(b'/', b'?', b'#', rest.as_bytes()).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = &authority[memchr::memrchr(b'@', authority.as_bytes()).map_or(0, |at| at + 1)..];
    if let Some((_, port)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    }
    let bytes = host.as_bytes();
    let colon = memchr::memchr(b':', bytes);
    let name = &bytes[..colon.unwrap_or(bytes.len())];
    let is_sign = |b: u8| !b.is_ascii() || b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    // The sign before tells an empty label; there is none before the first, as if a dot were there.
    let (mut dots, mut before) = (0, b'.');
    for b in name {
        let is_dot = *b == b'.';
        if !(is_sign(*b) || is_dot && before != b'.') {
            return false;
        }
        (dots, before) = (dots + usize::from(is_dot), *b);
    }
    dots > 0 && before != b'.' && colon.is_none_or(|colon| is_port(&host[colon + 1..]))
}

fn is_port(port: &str) -> bool {
    port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// How a link's address is written behind its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// `label (url)`, for readers.
    Round,
    /// `label <url>`, for approvers.
    Angle,
}

impl Link {
    /// Whether `label` is the address itself, so that a reader sees where it goes.
    pub(super) fn is_bare(&self, label: &str) -> bool {
        is_bare(label, &self.url)
    }
}

fn is_bare(label: &str, url: &str) -> bool {
    url.is_empty() || label == url || url.strip_prefix("mailto:") == Some(label)
}

impl Links {
    /// What follows `label`, unless the label is the address itself.
    pub(super) fn address(self, label: &str, url: &str) -> Option<String> {
        (!is_bare(label, url)).then(|| self.written(url))
    }

    /// An address behind a label.
    pub(super) fn written(self, url: &str) -> String {
        let mut out = String::with_capacity(url.len() + 3);
        self.write(url, &mut out);
        out
    }

    pub(super) fn write(self, url: &str, out: &mut String) {
        let [before, behind] = match self {
            Self::Round => [" (", ")"],
            Self::Angle => [" <", ">"],
        };
        [before, url, behind].into_iter().for_each(|piece| out.push_str(piece));
    }
}
