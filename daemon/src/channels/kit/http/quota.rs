//! What an answer's headers say of limits.
//!
//! Three families are read: the one that Discord documents, the fields of the IETF's draft in its present and in its older
//! form, and `Retry-After`. They are words from outside: at most [`MAX_QUOTAS`] of them count, no time is believed beyond
//! [`LONGEST`], and what does not make sense says nothing. An answer of 429 is judged by its adapter, which knows the
//! request; what is told from here is what holds beyond that.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::channels::limits::{Allowance, Scope};

/// The longest time that is believed. Queues keep messages for a day, and somebody who says "in ten years" made a mistake
/// that must not close a channel for good.
pub const LONGEST: Duration = Duration::from_hours(7 * 24);

/// Quotas of one answer that count.
const MAX_QUOTAS: usize = 8;

/// The longest text of Meta's header that is read, in bytes: it has up to 32 objects.
const MAX_USAGE: usize = 8 * 1024;

/// The longest name of a quota, in bytes. Discord's are hashes of 32.
const MAX_NAME: usize = 64;

/// Discord's family: <https://docs.discord.com/developers/topics/rate-limits#header-format>.
mod discord {
    pub(super) const LIMIT: &str = "x-ratelimit-limit";
    pub(super) const REMAINING: &str = "x-ratelimit-remaining";
    /// Seconds, with decimals.
    pub(super) const RESET_AFTER: &str = "x-ratelimit-reset-after";
    pub(super) const BUCKET: &str = "x-ratelimit-bucket";
    /// On 429 only: `user` and `shared` are the bucket's, `global` is all that the bot sends.
    pub(super) const SCOPE: &str = "x-ratelimit-scope";
    /// On 429 only, and only where it is true.
    pub(super) const GLOBAL: &str = "x-ratelimit-global";
}

/// Meta's: <https://developers.facebook.com/docs/graph-api/overview/rate-limiting#headers-2>.
mod meta {
    pub(super) const USAGE: &str = "x-business-use-case-usage";
    /// Until calls are taken again.
    pub(super) const MINUTES: &str = "estimated_time_to_regain_access";
}

/// The IETF's: <https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10>, and up to its sixth draft
/// three fields, <https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-06>.
mod ietf {
    pub(super) const NOW: &str = "ratelimit";
    pub(super) const POLICY: &str = "ratelimit-policy";
    pub(super) const REMAINING: &str = "ratelimit-remaining";
    /// Seconds from now.
    pub(super) const RESET: &str = "ratelimit-reset";
}

/// When to come back. Seconds or a date (RFC 9110 §10.2.3; Slack: <https://docs.slack.dev/apis/web-api/rate-limits>; Matrix:
/// <https://spec.matrix.org/v1.18/client-server-api/#rate-limiting>); for `limited` answers Discord's time until the reset
/// counts as well, which is the finer one.
pub fn retry_after(headers: &HeaderMap, limited: bool, now: SystemTime) -> Option<Duration> {
    let said =
        text(headers, RETRY_AFTER.as_str()).and_then(|value| seconds(value).or_else(|| date(value, now)));
    let reset = text(headers, discord::RESET_AFTER).filter(|_| limited).and_then(seconds);
    said.max(reset).max(regained(headers)).map(|after| after.min(LONGEST))
}

/// When a business may send again that has used up what Meta grants it: the longest of all that the header names, which is
/// JSON. It is there on other answers too, with 0.
fn regained(headers: &HeaderMap) -> Option<Duration> {
    let usage = text(headers, meta::USAGE).filter(|usage| usage.len() <= MAX_USAGE)?;
    let usage: Value = serde_json::from_str(usage).ok()?;
    let minutes = usage.as_object()?.values().filter_map(Value::as_array).flatten();
    let longest = minutes.filter_map(|one| one[meta::MINUTES].as_u64()).max()?;
    (longest > 0).then(|| Duration::from_secs(longest.saturating_mul(60)))
}

/// How many more requests the platform takes, of what and for how long.
pub fn allowances(headers: &HeaderMap, limited: bool, now: SystemTime) -> Vec<Allowance> {
    let mut found = Vec::new();
    if limited && is_global(headers) {
        found.extend(retry_after(headers, limited, now).map(|lasts| Allowance::none(Scope::Account, lasts)));
    } else {
        found.extend(of_bucket(headers));
    }
    found.extend(of_quotas(headers));
    found.retain(|allowance| !allowance.lasts.is_zero());
    found.truncate(MAX_QUOTAS);
    for allowance in &mut found {
        allowance.lasts = allowance.lasts.min(LONGEST);
        allowance.quota = allowance.quota.chars().take(MAX_NAME).filter(char::is_ascii_graphic).collect();
    }
    found
}

fn is_global(headers: &HeaderMap) -> bool {
    text(headers, discord::GLOBAL) == Some("true") || text(headers, discord::SCOPE) == Some("global")
}

/// One route's bucket in one conversation: what Discord calls a top-level resource is the channel here.
fn of_bucket(headers: &HeaderMap) -> Option<Allowance> {
    let number = |name| text(headers, name)?.parse::<u32>().ok();
    let left = number(discord::REMAINING)?;
    Some(Allowance {
        scope: Scope::Chat,
        quota: text(headers, discord::BUCKET).unwrap_or_default().to_owned(),
        left: left.min(number(discord::LIMIT).unwrap_or(left)),
        lasts: seconds(text(headers, discord::RESET_AFTER)?)?,
    })
}

/// The IETF's quotas. Whom one is counted for is the server's secret; all that uses one token is a safe guess.
fn of_quotas(headers: &HeaderMap) -> Vec<Allowance> {
    let policies = items(headers, ietf::POLICY);
    let of = |name: &str| policies.iter().find(|policy| policy.name == name);
    let mut found = Vec::new();
    for quota in items(headers, ietf::NOW) {
        let policy = of(&quota.name);
        // A quota may count other things than requests, such as bytes.
        let counts = policy.and_then(|policy| policy.get("qu")).is_none_or(|unit| unit == "requests");
        let lasts = quota.get("t").or_else(|| policy?.get("w")).and_then(seconds);
        let left = quota.get("r").and_then(|left| left.parse().ok());
        if let (true, Some(left), Some(lasts)) = (counts, left, lasts) {
            found.push(Allowance { scope: Scope::Account, quota: quota.name, left, lasts });
        }
    }
    if found.is_empty() {
        let left = text(headers, ietf::REMAINING).and_then(|left| left.parse().ok());
        let lasts = text(headers, ietf::RESET).and_then(seconds);
        if let (Some(left), Some(lasts)) = (left, lasts) {
            found.push(Allowance { scope: Scope::Account, quota: String::new(), left, lasts });
        }
    }
    found
}

/// An item of a structured list with its parameters: `"name";r=50;t=30` (RFC 9651, as far as these fields go).
struct Item {
    name: String,
    parameters: Vec<(String, String)>,
}

impl Item {
    fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn items(headers: &HeaderMap, name: &str) -> Vec<Item> {
    let lists = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lists
        .flat_map(|list| split(list, ','))
        .take(MAX_QUOTAS)
        .map(|item| {
            let mut pieces = split(item, ';').into_iter();
            let bare = |text: &str| text.trim().trim_matches('"').to_owned();
            let name = pieces.next().map(bare).unwrap_or_default();
            let parameters = pieces.take(MAX_QUOTAS).filter_map(|piece| {
                let (key, value) = piece.split_once('=')?;
                Some((key.trim().to_owned(), bare(value)))
            });
            Item { name, parameters: parameters.collect() }
        })
        .collect()
}

/// At every `at` that is not within quotation marks.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c| {
        quoted ^= c == '"';
        c == at && !quoted
    })
    .collect()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// A time in seconds, maybe with decimals; never a negative one, and none that no clock could count.
fn seconds(text: &str) -> Option<Duration> {
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    if text.is_empty() || !text.chars().all(digits) {
        return None;
    }
    let seconds: f64 = text.parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST))
}

/// How long it is until a date.
fn date(text: &str, now: SystemTime) -> Option<Duration> {
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(SystemTime::from(date.timestamp()).duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        lines.iter().map(line).collect()
    }

    fn allowed(lines: &[(&'static str, &str)]) -> Vec<Allowance> {
        allowances(&headers(lines), false, SystemTime::UNIX_EPOCH)
    }

    fn quota(quota: &str, left: u32, lasts: Duration) -> Allowance {
        Allowance { scope: Scope::Account, quota: quota.into(), left, lasts }
    }

    #[test]
    fn a_time_to_come_back_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_400);
        let after = |text| retry_after(&headers(&[("retry-after", text)]), false, now);
        assert_eq!(after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(80 * SECOND));
        assert_eq!(after("Wed, 21 Oct 2009 07:28:00 GMT"), Some(Duration::ZERO));
        assert_eq!(after("120"), Some(120 * SECOND));
        assert_eq!(after("0.65"), Some(Duration::from_millis(650)));
        for nonsense in ["soon", "-1", "", "NaN", "inf", "1e3", "0x10", "1.2.3"] {
            assert_eq!(after(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn absurd_times_are_clamped_and_absurd_numbers_say_nothing() {
        let now = SystemTime::UNIX_EPOCH;
        for text in ["9999999999999999999999", "99999999", "Tue, 01 Jan 2999 00:00:00 GMT"] {
            assert_eq!(retry_after(&headers(&[("retry-after", text)]), false, now), Some(LONGEST), "{text}");
        }
        let long = [("ratelimit", "\"day\";r=0;t=99999999999999999999")];
        assert_eq!(allowed(&long), [quota("day", 0, LONGEST)]);
        assert_eq!(allowed(&[("ratelimit", "\"day\";r=-1;t=10"), ("ratelimit-remaining", "many")]), []);
        let name = "x".repeat(1_000);
        let many = (0..100).map(|_| format!("\"{name}\";r=1;t=1")).collect::<Vec<_>>().join(",");
        let found = allowed(&[("ratelimit", &many)]);
        assert!(found.len() <= MAX_QUOTAS && found.iter().all(|found| found.quota.len() <= MAX_NAME));
    }

    #[test]
    fn discords_bucket_is_of_the_conversation_and_its_global_limit_of_the_account() {
        let bucket = [
            ("x-ratelimit-limit", "5"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1470173023.123"),
            ("x-ratelimit-reset-after", "1.25"),
            ("x-ratelimit-bucket", "abcd1234"),
        ];
        let lasts = Duration::from_millis(1_250);
        let expected = Allowance { scope: Scope::Chat, quota: "abcd1234".into(), left: 0, lasts };
        assert_eq!(allowed(&bucket), [expected]);
        assert_eq!(allowed(&bucket[..3]), [], "without a time it says nothing");
        let now = SystemTime::UNIX_EPOCH;
        for global in [("x-ratelimit-global", "true"), ("x-ratelimit-scope", "global")] {
            let limited = headers(&[("retry-after", "65"), ("x-ratelimit-reset-after", "64.57"), global]);
            assert_eq!(allowances(&limited, true, now), [Allowance::none(Scope::Account, 65 * SECOND)]);
        }
        let shared = headers(&[("retry-after", "1"), ("x-ratelimit-scope", "shared"), bucket[3], bucket[1]]);
        assert_eq!(allowances(&shared, true, now)[0].scope, Scope::Chat);
        assert_eq!(retry_after(&shared, true, now), Some(lasts), "the finer one");
    }

    #[test]
    fn the_drafts_quotas_are_read_in_all_of_their_forms() {
        assert_eq!(
            allowed(&[("ratelimit", "\"burst\";r=5;t=30, \"day, or so\";r=900;pk=:YWJj:;t=3600")]),
            [quota("burst", 5, 30 * SECOND), quota("day,orso", 900, 3_600 * SECOND)]
        );
        // Without a time, the window that the policy names is the longest that it can take.
        assert_eq!(
            allowed(&[("ratelimit-policy", "\"burst\";q=100;w=60"), ("ratelimit", "burst;r=5")]),
            [quota("burst", 5, 60 * SECOND)]
        );
        let bytes =
            [("ratelimit-policy", "\"b\";q=9;qu=\"content-bytes\";w=60"), ("ratelimit", "\"b\";r=5;t=9")];
        assert_eq!(allowed(&bytes), [], "it counts no requests");
        assert_eq!(
            allowed(&[
                ("ratelimit-limit", "100, 100;w=10"),
                ("ratelimit-remaining", "50"),
                ("ratelimit-reset", "30")
            ]),
            [quota("", 50, 30 * SECOND)]
        );
        assert_eq!(allowed(&[("ratelimit", ";;;,,=\"")]), []);
    }
}
