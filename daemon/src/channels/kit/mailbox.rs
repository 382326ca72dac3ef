//! Plain mailboxes: `ada@example.org`, and no other form in which mail could be asked for.
//!
//! Mail servers read more forms than this: `ada%example.org@relay.example.net` and `example.org!ada@home.test` are mailboxes
//! of example.org to a Postfix with its own defaults (`allow_percent_hack`, `swap_bangpath`:
//! <https://www.postfix.org/postconf.5.html>), as are source routes, comments and quoted local parts. A list of mailboxes would be
//! evaded by them, so what is not plain is nobody's address here, on any channel.

use super::phone;

/// RFC 5321 §4.5.3.1.1, in octets.
const MAX_LOCAL_PART: usize = 64;
/// RFC 5321 §4.5.3.1.3: a path has 256 octets, two of them for the angle brackets.
const MAX_ADDRESS: usize = 254;
/// RFC 1035 §2.3.4, in octets.
const MAX_LABEL: usize = 63;

/// The one spelling of a mailbox, or what to write instead.
///
/// Takes what every server takes for a mailbox: a dot-atom before the @ and a host name after it (RFC 5321 §4.1.2), in ASCII,
/// without the signs by which servers route. The domain becomes lower case; the local part is the receiving server's business
/// and stays as it is (§2.4). Quoted local parts and address literals are left out: they are rarer than the mistakes that look
/// like them.
pub(in crate::channels) fn canonical(address: &str) -> Result<String, &'static str> {
    let (local, domain) =
        address.rsplit_once('@').ok_or("an address has an @ in it, such as ada@example.org")?;
    if address.contains(['<', '>', '"', ',', ';', '(', ')', ':', '\\'])
        || address.contains(char::is_whitespace)
    {
        return Err(
            "give the plain address, such as ada@example.org, without a name, brackets, a route or a second address",
        );
    }
    if !address.is_ascii() {
        return Err("use ASCII; an international domain is written in its xn-- form");
    }
    if local.contains(['%', '!', '@']) {
        return Err(
            "% and ! before the @ are routes that mail servers follow to somebody else: write the mailbox itself, such as ada@example.org",
        );
    }
    // To a mail server a file, a program and an option.
    if local.starts_with(['/', '|', '-']) {
        return Err(
            "what stands before the @ must not begin with /, | or -: write the mailbox itself, such as ada@example.org",
        );
    }
    // RFC 5322 §3.2.3, atext.
    let atext = |b: u8| b.is_ascii_alphanumeric() || b"#$&'*+-/=?^_`{|}~".contains(&b);
    if local.len() > MAX_LOCAL_PART
        || address.len() > MAX_ADDRESS
        || !local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(atext))
    {
        return Err(
            "what stands before the @ must be letters, digits and #$&'*+-/=?^_`{|}~, with single dots between",
        );
    }
    // A number at its end makes an address literal of it, with brackets or without.
    let is_literal = domain.rsplit('.').next().is_some_and(|top| top.bytes().all(|b| b.is_ascii_digit()));
    if !is_domain(domain) || is_literal {
        return Err("what stands after the @ must be a host name, such as example.org, and no number");
    }
    Ok(format!("{local}@{}", domain.to_ascii_lowercase()))
}

/// The mailbox that a tagged address leads to on most servers: `ada@…` of `ada+shop@…`.
fn untagged(address: &str) -> Option<String> {
    let (local, domain) = address.rsplit_once('@')?;
    let (mailbox, _) = local.split_once('+').filter(|(mailbox, _)| !mailbox.is_empty())?;
    Some(format!("{mailbox}@{domain}"))
}

/// The mailbox at Google without its dots, which count for nothing there (<https://support.google.com/mail/answer/7436150>). All
/// spellings of one mailbox have it in common, so each holds all others by it.
fn undotted(address: &str) -> Option<String> {
    let (local, domain) = address.rsplit_once('@')?;
    let is_google = GOOGLE.iter().any(|google| google.eq_ignore_ascii_case(domain));
    (is_google && local.contains('.')).then(|| format!("{}@{domain}", local.replace('.', "")))
}

/// Google's two domains for the same mailboxes (<https://support.google.com/mail/answer/10313>).
const GOOGLE: &[&str] = &["gmail.com", "googlemail.com"];

/// Domains by which one provider knows the same mailboxes: Google's, Apple's
/// (<https://support.apple.com/102540>) and Proton's (<https://proton.me/support/pm-me-addresses>).
const SAME_MAILBOXES: &[&[&str]] = &[
    GOOGLE,
    &["icloud.com", "me.com", "mac.com"],
    &["proton.me", "protonmail.com", "protonmail.ch", "pm.me"],
];

/// Mailboxes whose entry of a `hold` list holds this one, too: the one that a tagged address leads to, Google's
/// without dots, and all of them at the other domains of their provider.
pub(in crate::channels) fn held_with(address: &str) -> Vec<String> {
    let mut all = vec![address.to_owned()];
    all.extend(untagged(address));
    let undotted: Vec<String> = all.iter().filter_map(|mailbox| undotted(mailbox)).collect();
    all.extend(undotted);
    let elsewhere: Vec<String> = all.iter().flat_map(|mailbox| elsewhere(mailbox)).collect();
    all.extend(elsewhere);
    all.split_off(1)
}

/// A mailbox at the other domains of its provider.
fn elsewhere(mailbox: &str) -> Vec<String> {
    let Some((local, domain)) = mailbox.rsplit_once('@') else { return Vec::new() };
    let is_here = |other: &str| other.eq_ignore_ascii_case(domain);
    let same = SAME_MAILBOXES.iter().find(|domains| domains.iter().any(|other| is_here(other)));
    let others = same.into_iter().flat_map(|domains| domains.iter()).filter(|other| !is_here(other));
    others.map(|other| format!("{local}@{other}")).collect()
}

/// Labels of letters, digits and inner hyphens, RFC 5321 §4.1.2.
pub(in crate::channels) fn is_domain(name: &str) -> bool {
    name.split('.').all(|label| {
        !label.is_empty()
            && label.len() <= MAX_LABEL
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// A person's number or mailbox, for platforms that know people by either: `+` and its digits, or the mailbox in lower case.
pub(in crate::channels) fn or_number(text: &str) -> Result<String, &'static str> {
    const NO_NUMBER: &str = "write the number as it is dialled from abroad, such as +4915112345678, without a 0, an 8 or a carrier's code behind its country's";
    if let Some(number) = text.strip_prefix('+') {
        return phone::digits(number).map(|digits| format!("+{digits}")).ok_or(NO_NUMBER);
    }
    let mailbox = canonical(text)?;
    match mailbox.rsplit_once('@') {
        Some((_, domain)) if domain.contains('.') => Ok(mailbox.to_lowercase()),
        _ => Err("write the whole domain, such as example.org"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        assert_eq!(canonical("Ada.Lovelace+x@Example.ORG").unwrap(), "Ada.Lovelace+x@example.org");
        assert_eq!(canonical("root@localhost").unwrap(), "root@localhost");
        assert_eq!(or_number("Ada@Example.ORG").unwrap(), "ada@example.org");
        assert_eq!(or_number("+49 151 1234-5678").unwrap(), "+4915112345678");
    }

    #[test]
    fn a_tagged_address_has_a_mailbox() {
        assert_eq!(untagged("ada+shop+x@example.org").as_deref(), Some("ada@example.org"));
        for other in ["ada@example.org", "+ada@example.org", "a.d.a@example.org"] {
            assert_eq!(untagged(other), None, "{other}");
        }
    }

    #[test]
    fn a_mailbox_is_held_by_every_domain_of_its_provider() {
        let held = held_with("ada+x@GoogleMail.com");
        for other in ["ada@GoogleMail.com", "ada@gmail.com", "ada+x@gmail.com"] {
            assert!(held.iter().any(|address| address == other), "{other}: {held:?}");
        }
        assert_eq!(held_with("ada@me.com"), ["ada@icloud.com", "ada@mac.com"]);
        assert_eq!(held_with("ada@example.org"), [""; 0]);
        assert_eq!(held_with("ada+x@example.org"), ["ada@example.org"]);
    }

    #[test]
    fn dots_count_for_nothing_at_google_and_there_alone() {
        for (entry, target) in [
            ("ann.bell@gmail.com", "annbell@gmail.com"),
            ("annbell@gmail.com", "a.n.n.bell@gmail.com"),
            ("ann.bell@gmail.com", "annb.ell@googlemail.com"),
            ("ann.bell@GMail.com", "an.nbell+shop@googlemail.com"),
        ] {
            let class = |address: &str| {
                let all = held_with(address).into_iter().chain([address.to_owned()]);
                all.map(|one| one.to_lowercase()).collect::<Vec<_>>()
            };
            let (entry_holds, target_is) = (class(entry), class(target));
            assert!(target_is.iter().any(|one| entry_holds.contains(one)), "{entry}, {target}");
        }
        assert_eq!(held_with("ann.bell@example.org"), [""; 0]);
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        for address in [
            "",
            "ada",
            "@example.org",
            "ada@",
            "Ada <ada@example.org>",
            "<ada@example.org>",
            "ada@example.org, bob@example.org",
            "ada@example.org\r\nBcc: eve@example.org",
            "a..b@example.org",
            ".a@example.org",
            "a.@example.org",
            "ada@-x.org",
            "ada@example..org",
            "ada@example.org.",
            "ada@.example.org",
            "ada@[127.0.0.1]",
            "ada@127.0.0.1",
            "ada@[IPv6:::1]",
            "ada@#2130706433",
            "ada@2130706433",
            "\"a b\"@example.org",
            "\"ada\"@example.org",
            "\"ada@example.org\"@home.test",
            "ada(comment)@example.org",
            "ada@example.org(comment)",
            "ada@(comment)example.org",
            "@relay.test:ada@example.org",
            "ada%example.org@relay.test",
            "example.org!ada@relay.test",
            "ada@example.org@relay.test",
            "ada\\@example.org@relay.test",
            "/anna@example.org",
            "|anna@example.org",
            "-anna@example.org",
            "mailto:anna@example.org",
            "anna%40example.org",
            "ädä@example.org",
            "ada@exämple.org",
            "ada＠example.org",
            "ada@example。org",
            "a@b@c d",
            "ada@example.org ",
        ] {
            assert!(canonical(address).is_err(), "{address:?}");
            assert!(or_number(address).is_err(), "{address:?}");
        }
        assert!(canonical(&format!("{}@example.org", "a".repeat(65))).is_err());
        assert!(canonical(&format!("a@{}", "a.".repeat(130))).is_err());
        assert!(or_number("anna@localhost").is_err());
    }
}
