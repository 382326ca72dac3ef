//! Links: which URLs platforms accept, and what a reader sees of a URL.
//!
//! An approver always sees the whole URL, unless the label is the URL already. Whether a platform gets a real link or
//! `label (url)` depends on what it would make of the URL.

use std::ops::Range;

use crate::scan::find_not_visible_ascii;

/// A link. Its label is the text at `range`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) range: Range<usize>,
    pub(crate) url: String,
    pub(crate) kind: LinkKind,
    /// Whether the label contains `<`, `>` or `|`, which end a label in some notations.
    pub(crate) has_angle_or_bar: bool,
}

/// Which platforms make a link of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LinkKind {
    /// None: another scheme, or white space in the URL.
    Other,
    /// A person who is called by it, where a platform has that: see [`Link::person`].
    Mention,
    /// Most: a mail address, or a host name of a local network.
    Usual,
    /// All that have links: a host on the web.
    Web,
}

impl LinkKind {
    pub(crate) fn of(url: &str) -> Self {
        let may_have_space = find_not_visible_ascii(url.as_bytes()).is_some();
        if may_have_space && url.contains(char::is_whitespace) {
            return Self::Other;
        }
        if mentioned(url).is_some_and(is_id) {
            return Self::Mention;
        }
        match strip_scheme(url, "http://").or_else(|| strip_scheme(url, "https://")) {
            Some(rest) if is_public(rest) => Self::Web,
            Some(_) => Self::Usual,
            None => strip_scheme(url, "mailto:").map_or(Self::Other, |_| Self::Usual),
        }
    }
}

/// The scheme of an address that is a person's id: a link to it calls them, where the platform has that.
const MENTION: &str = "mention:";

/// The id in the address of a mention, whatever it looks like.
pub(crate) fn mentioned(url: &str) -> Option<&str> {
    strip_scheme(url, MENTION)
}

/// Whether an id has only signs that are no mark on any platform, and as many as the longest ids have, Matrix's.
fn is_id(id: &str) -> bool {
    let is_sign = |b: u8| b.is_ascii_alphanumeric() || b"@:._=+-/".contains(&b);
    (1..=255).contains(&id.len()) && id.bytes().all(is_sign)
}

/// The rest of a URL after `scheme`, which is compared regardless of case.
pub(crate) fn strip_scheme<'a>(url: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = url.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Whether a URL without its scheme names a host with a dot in it (or an IP address) and a valid port. Telegram's parser
/// drops all other links, or turns them into something else.
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
    let is_name_byte = |b: u8| !b.is_ascii() || b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    // Two dots in a row are an empty label; starting with a dot as the previous byte rejects an empty first label too.
    let (mut dots, mut previous) = (0, b'.');
    for b in name {
        let is_dot = *b == b'.';
        if !(is_name_byte(*b) || is_dot && previous != b'.') {
            return false;
        }
        (dots, previous) = (dots + usize::from(is_dot), *b);
    }
    dots > 0 && previous != b'.' && colon.is_none_or(|colon| is_port(&host[colon + 1..]))
}

fn is_port(port: &str) -> bool {
    port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl Link {
    /// Whether `label` is the URL itself, so that a reader sees where it leads.
    pub(crate) fn is_bare(&self, label: &str) -> bool {
        let is_id = |id: &str| {
            label
                .strip_suffix('>')
                .is_some_and(|label| label.trim_start_matches('<').trim_start_matches('@') == id)
        };
        is_bare(label, &self.url) || self.person().is_some_and(is_id)
    }

    /// The id of the person whom it calls.
    pub(crate) fn person(&self) -> Option<&str> {
        mentioned(&self.url).filter(|_| self.kind == LinkKind::Mention)
    }
}

fn is_bare(label: &str, url: &str) -> bool {
    url.is_empty() || label == url || url.strip_prefix("mailto:") == Some(label)
}

/// How a URL is written after its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlForm {
    /// `label (url)`, for readers.
    Round,
    /// `label <url>`, for approvers.
    Angle,
}

impl UrlForm {
    /// The URL to write after `label`, unless the label is the URL itself.
    pub(crate) fn after_label(self, label: &str, url: &str) -> Option<String> {
        (!is_bare(label, url)).then(|| self.written(url))
    }

    /// The URL as it follows a label, with a space and brackets.
    pub(crate) fn written(self, url: &str) -> String {
        let mut out = String::with_capacity(url.len() + 3);
        self.push(url, &mut out);
        out
    }

    pub(crate) fn push(self, url: &str, out: &mut String) {
        let [before, after] = match self {
            Self::Round => [" (", ")"],
            Self::Angle => [" <", ">"],
        };
        [before, url, after].into_iter().for_each(|piece| out.push_str(piece));
    }
}

/// The ranges of the URLs that platforms find in plain text by themselves.
pub(crate) fn bare_urls(text: &str) -> Vec<Range<usize>> {
    let mut urls: Vec<Range<usize>> = Vec::new();
    for separator in memchr::memmem::find_iter(text.as_bytes(), "://") {
        if urls.last().is_some_and(|last| separator < last.end) {
            continue;
        }
        let scheme = ["https", "http"].into_iter().find(|scheme| text[..separator].ends_with(scheme));
        let Some(scheme) = scheme else { continue };
        let rest = &text[separator..];
        // A bracket that closes one opened before the URL is not part of it.
        let mut depth = 0;
        let is_end = |c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth < 0 || c.is_whitespace() || "<>\\`|[]。！？、，；：".contains(c)
        };
        let end = rest.find(is_end).unwrap_or(rest.len());
        let end = rest[..end].trim_end_matches(|c| ".,:;!?)]}\"'*_~".contains(c)).len();
        urls.push(separator - scheme.len()..separator + end.max(1));
    }
    urls
}
