//! What keeps Telegram from calling whoever has a name that an agent wrote.
//!
//! Its servers make a mention of every `@username` in a text by themselves (Bot API, `MessageEntity`, `mention`), and in a group it
//! notifies. So the zero-width space stands behind each `@` before such a name. Left as they are: code, in which nothing is found;
//! mail addresses, in which a letter stands before the `@`; and addresses of the web, which Telegram surely takes for one whole. The
//! rules are those of TDLib, which the Bot API runs on
//! (<https://github.com/tdlib/td/blob/master/td/telegram/MessageEntity.cpp>, `match_mentions`, `find_urls`).

use std::ops::Range;

use crate::document::{Attribute, Link, Text, TextStyle, bare_urls, strip_scheme};

use super::body::ZERO_WIDTH_SPACE;
use super::escape::{MAX_GROWTH, Replacement};

/// A word that is longer to either side of the `@` is taken for no mail address (RFC 5321, 4.5.3.1.3).
const MAX_ADDRESS_BYTES: usize = 254;

/// The styles of a word with a mail address: what is before it, the address, and what follows.
const MOST_STYLES: usize = 3;

/// A longer URL is not sought in a text: a message of Telegram's has no more characters.
const MAX_URL_BYTES: usize = 4096;

/// A host and each of its labels (RFC 1035, 2.3.4).
const MAX_HOST_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// The replacements in `text`, in order. A URL of more than `max_whole_bytes` may be cut, and so may a word of less.
pub(super) fn replacements(text: Text<'_>, max_whole_bytes: usize) -> Vec<Replacement> {
    let all = text.as_str();
    let mut ats = memchr::memchr_iter(b'@', all.as_bytes()).peekable();
    if ats.peek().is_none() {
        return Vec::new();
    }
    let urls = bare_urls(all).into_iter().filter(|url| url.len() <= max_whole_bytes.min(MAX_URL_BYTES));
    let mut urls = urls.peekable();
    let longest = MAX_ADDRESS_BYTES.min(max_whole_bytes / MAX_GROWTH);
    let calls = |at: &usize| {
        let at = *at;
        while urls.next_if(|url| url.end <= at).is_some() {}
        let is_name = all.as_bytes().get(at + 1).copied().is_some_and(is_name_byte);
        let url = urls.peek().filter(|url| url.start < at);
        is_name
            && !is_code(text, at)
            && !is_in_mail_address(text, at, longest)
            && !url.is_some_and(|url| is_in_path(text, url, at))
    };
    ats.filter(calls)
        .map(|at| Replacement { at, len: 1, before: "", instead: None, after: ZERO_WIDTH_SPACE })
        .collect()
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Whether the `@` and what follows are in the same code.
fn is_code(text: Text<'_>, at: usize) -> bool {
    let style = text.style_at(at);
    style.is_some_and(|style| style.has(Attribute::Code)) && style == text.style_at(at + 1)
}

/// Whether a letter stands before the `@` that is surely in the same part, and under the same marks.
fn is_in_mail_address(text: Text<'_>, at: usize, longest: usize) -> bool {
    let bytes = text.as_str().as_bytes();
    if at == 0 || !is_name_byte(bytes[at - 1]) || text.style_before(at) != text.style_at(at) {
        return false;
    }
    let until_space = |b: &&u8| !b.is_ascii_whitespace();
    let before = bytes[..at].iter().rev().take(longest + 1).take_while(until_space).count();
    let behind = bytes[at..].iter().take(longest + 1).take_while(until_space).count();
    // A word is cut for its length, and for its marks and links.
    let word = at - before..at + behind;
    let is_free = |link: &Link| link.is_bare(&text.as_str()[link.range.clone()]);
    let mut links = text.styles(word.clone()).filter_map(TextStyle::link);
    before <= longest
        && behind <= longest
        && text.styles(word).take(MOST_STYLES + 1).count() <= MOST_STYLES
        && links.all(|link| text.links().get(link).is_some_and(is_free))
}

/// Whether the `@` is in the path of a URL that Telegram finds, which then is a link as a whole.
fn is_in_path(text: Text<'_>, url: &Range<usize>, at: usize) -> bool {
    let all = text.as_str();
    let begins = all[..url.start].chars().next_back().is_none_or(|c| c.is_whitespace() || "(<".contains(c));
    let before = &all[url.start..at];
    let rest = strip_scheme(before, "https://").or_else(|| strip_scheme(before, "http://"));
    let Some((host, path)) = rest.and_then(|rest| rest.split_once('/')) else { return false };
    begins
        && is_host(host)
        && path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%/?=&+@".contains(&b))
        && text.run_before(at + 1).start <= url.start
}

/// Whether a host has a name that ends as those on the web do.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let last = host.rsplit_once('.').map(|(_, last)| last);
    host.len() <= MAX_HOST_BYTES
        && host.split('.').all(is_label)
        && last.is_some_and(|last| last.len() > 1 && last.bytes().all(|b| b.is_ascii_alphabetic()))
}
