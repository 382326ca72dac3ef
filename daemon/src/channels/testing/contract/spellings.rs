//! Addresses that are made, not listed: identities of each channel in any of the forms that a person or a program writes them in,
//! forms that are nobody's address, and addresses that no spelling tells the identity of.
//!
//! Each contract says how identities of its channel are made and spelt; here is what several of them are made of.

use std::sync::Arc;

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    strategy::{BoxedStrategy, Union, ValueTree as _},
    test_runner::TestRunner,
};

use super::{
    all,
    stage::{Script, Stage},
};
use crate::channels::Adapter;

/// One identity, and how it may be written.
#[derive(Debug, Clone)]
pub(crate) struct Spelt {
    /// In all of these forms it is this one to everything: one verdict, one lane, one message.
    pub(crate) same: Vec<String>,
    /// These may reach the same person: a `hold` on any form of it holds them, and the other way around.
    pub(crate) held: Vec<String>,
}

/// A way to a platform that answers nothing, and what may be written to it.
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) channel: &'static str,
    pub(crate) account: Arc<dyn Adapter>,
    /// Its place, for as long as it is needed.
    pub(crate) _stage: Stage,
    /// Identities that their spelling tells.
    pub(crate) spelt: BoxedStrategy<Spelt>,
    /// Addresses whose identity it does not tell, where there are any.
    pub(crate) unknown: Option<BoxedStrategy<String>>,
}

/// Each way to each platform.
pub(crate) fn written() -> impl Iterator<Item = Written> {
    all().map(|contract| {
        let stage = Stage::set(Script::Nobody);
        Written {
            name: contract.name(),
            channel: contract.channel,
            account: stage.open(contract),
            _stage: stage,
            spelt: of_any_kind((contract.spelt)()),
            unknown: (!contract.unknown.is_empty()).then(|| any_of(contract.unknown)),
        }
    })
}

/// A way to write an address that no platform is to read as that address: signs that are encoded, look like others or are not seen.
#[derive(Debug, Clone)]
pub(crate) struct Disguise(u8, Index);

impl Disguise {
    /// The address, so disguised.
    pub(crate) fn of(&self, address: &str) -> String {
        let Self(way, place) = self;
        let signs: Vec<char> = address.chars().collect();
        let at = place.index(signs.len());
        let (head, sign, tail): (String, char, String) =
            (signs[..at].iter().collect(), signs[at], signs[at + 1..].iter().collect());
        match way {
            0 => format!("{head}%{:02x}{tail}", u32::from(sign)),
            1 => format!("{head}\u{200b}{sign}{tail}"),
            2 => format!("{head}{}{tail}", fullwidth(sign)),
            3 => format!("<{address}>"),
            4 => format!("\"{address}\""),
            5 => format!("{head}\t{sign}{tail}"),
            6 => format!("https://example.org/{address}"),
            7 => format!("{address}(x)"),
            8 => format!("{address}?x=1"),
            _ => format!("{address};messageid=1"),
        }
    }
}

/// The same sign as it stands in East Asian text, which compatibility normalisation makes the plain one again.
fn fullwidth(sign: char) -> char {
    match sign {
        '!'..='~' => char::from_u32(u32::from(sign) + 0xfee0).expect("it has one for each of ASCII's"),
        other => other,
    }
}

/// Any of them.
pub(crate) fn disguise() -> impl Strategy<Value = Disguise> {
    (0..10_u8, any::<Index>()).prop_map(|(way, place)| Disguise(way, place))
}

pub(in crate::channels) fn same(same: impl IntoIterator<Item = String>) -> Spelt {
    Spelt { same: same.into_iter().collect(), held: Vec::new() }
}

/// Digits as people group them.
pub(in crate::channels) fn grouped(digits: &str, signs: &[u8]) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let sign = signs.get(at).map_or(0, |sign| sign % 5);
        match sign {
            1 if at > 0 => text.push(' '),
            2 if at > 0 => text.push('-'),
            _ => {}
        }
        // Brackets around a digit, but not around a 0.
        if sign == 3 && digit != '0' {
            text.push_str(&format!("({digit})"));
        } else {
            text.push(digit);
        }
    }
    text
}

/// Each letter large or small.
pub(in crate::channels) fn cased(text: &str, large: &[bool]) -> String {
    let letter = |(at, sign): (usize, char)| match large.get(at % large.len().max(1)) {
        Some(true) => sign.to_ascii_uppercase(),
        _ => sign.to_ascii_lowercase(),
    };
    text.chars().enumerate().map(letter).collect()
}

pub(in crate::channels) fn signs() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 15)
}

pub(in crate::channels) fn letters() -> impl Strategy<Value = Vec<bool>> {
    vec(any::<bool>(), 16)
}

/// A number in its forms: those that are one, and those that may be.
pub(in crate::channels) fn number() -> BoxedStrategy<(Vec<String>, Vec<String>)> {
    let both = |code: &str, at: usize, digit: char, local: String| {
        let short = format!("{code}{local}");
        let long = format!("{}{digit}{}", &short[..at], &short[at..]);
        [short, long]
    };
    prop_oneof![
        "49151[0-9]{8}".prop_map(|one| (vec![one], vec![])),
        "298[1-9][0-9]{5}".prop_map(|one| (vec![one], vec![])),
        "[2-9][0-9]{9}".prop_map(move |local| (both("52", 2, '1', local).to_vec(), vec![])),
        "[1-3][0-9]{9}".prop_map(move |local| (both("54", 2, '9', local).to_vec(), vec![])),
        "[1-9][1-9][6-9][0-9]{7}".prop_map(move |local| (both("55", 4, '9', local).to_vec(), vec![])),
        // A landline, and somebody's mobile number.
        "[1-9][1-9][2-5][0-9]{7}".prop_map(move |local| {
            let [short, long] = both("55", 4, '9', local);
            (vec![short], vec![long])
        }),
    ]
    .boxed()
}

pub(in crate::channels) fn mailbox() -> impl Strategy<Value = (String, String)> {
    ("[a-z][a-z0-9_=~-]{0,7}(\\.[a-z0-9]{1,5})?", "[a-z]{2,8}(-[a-z]{1,3})?\\.(org|test|xn--p1ai)")
}

/// A mailbox at Google: as many mailboxes to a list as there are dots in it, at two domains, and one to Google.
pub(in crate::channels) fn at_google() -> impl Strategy<Value = (String, Vec<String>)> {
    ("[a-z][a-z0-9]{4,9}", 1..4_usize, "[a-z0-9]{1,5}").prop_map(|(local, dot, tag)| {
        let dotted = format!("{}.{}", &local[..dot], &local[dot..]);
        let others = [
            format!("{dotted}@gmail.com"),
            format!("{local}@googlemail.com"),
            format!("{dotted}@googlemail.com"),
            format!("{local}+{tag}@gmail.com"),
            format!("{dotted}+{tag}@googlemail.com"),
        ];
        (format!("{local}@gmail.com"), others.to_vec())
    })
}

/// A mailbox at a provider that has several domains for it.
pub(in crate::channels) fn at_a_provider() -> impl Strategy<Value = (String, Vec<String>)> {
    const DOMAINS: &[&[&str]] =
        &[&["icloud.com", "me.com", "mac.com"], &["proton.me", "protonmail.com", "protonmail.ch", "pm.me"]];
    let domains = select(DOMAINS);
    ("[a-z][a-z0-9]{3,9}", domains, "[a-z0-9]{1,5}").prop_map(|(local, domains, tag)| {
        let mut all: Vec<String> = domains.iter().map(|domain| format!("{local}@{domain}")).collect();
        let first = all.remove(0);
        all.extend(domains.iter().map(|domain| format!("{local}+{tag}@{domain}")));
        (first, all)
    })
}

/// With zeros before it, which count for nothing in a number.
pub(in crate::channels) fn numbered(
    sign: &'static str,
    number: impl Strategy<Value = u64> + 'static,
) -> BoxedStrategy<Vec<String>> {
    number
        .prop_map(move |n| vec![format!("{sign}{n}"), format!("{sign}0{n}"), format!("{sign}00{n}")])
        .boxed()
}

/// Identities that have one spelling: this pattern.
pub(in crate::channels) fn identities(pattern: &'static str) -> BoxedStrategy<Spelt> {
    pattern.prop_map(|identity| same([identity])).boxed()
}

/// Addresses of any of these patterns.
fn any_of(patterns: &'static [&'static str]) -> BoxedStrategy<String> {
    Union::new(patterns.iter().map(|pattern| pattern.boxed())).boxed()
}

/// With a form that only says which kind of id follows.
fn of_any_kind(spelt: BoxedStrategy<Spelt>) -> BoxedStrategy<Spelt> {
    let kind = select(&["", "chat:", "channel:"][..]);
    (spelt, kind)
        .prop_map(|(spelt, kind)| {
            let has_one = |one: &String| {
                ["phone:", "user:", "tg:", "telegram:"].iter().any(|kind| one.starts_with(kind))
            };
            let bare: Vec<_> = spelt.same.iter().filter(|one| !has_one(one)).cloned().collect();
            let of_kind = bare.first().map(|one| format!("{kind}{one}"));
            Spelt { same: spelt.same.into_iter().chain(of_kind).collect(), held: spelt.held }
        })
        .boxed()
}

/// Numbers that three countries' plans do not have, as patterns.
pub(in crate::channels) const ODD_NUMBERS: [&str; 4] =
    ["52[2-9][0-9]{10}", "54[1-8][0-9]{10}", "55[1-9][1-9][1-8][0-9]{8}", "5[245][1-9][0-9]{8}"];

/// A list is spelt by whichever account takes an entry, and a message by the account that it goes from: there is one spelling.
#[test]
fn accounts_of_one_channel_spell_an_address_alike_and_say_the_same_of_it() {
    let (mut runner, mut shared) = (TestRunner::deterministic(), 0);
    let ways: Vec<Written> = written().collect();
    for way in &ways {
        for other in ways.iter().filter(|other| other.channel == way.channel && other.name != way.name) {
            for _ in 0..16 {
                let spelt = way.spelt.new_tree(&mut runner).unwrap().current();
                let unknown =
                    way.unknown.as_ref().map(|unknown| unknown.new_tree(&mut runner).unwrap().current());
                for address in spelt.same.into_iter().chain(spelt.held).chain(unknown) {
                    let (Ok(one), Ok(two)) = (way.account.resolve(&address), other.account.resolve(&address))
                    else {
                        continue;
                    };
                    shared += 1;
                    let what = format!("{} and {}: {address}", way.name, other.name);
                    assert_eq!(one, two, "{what}");
                    assert_eq!(way.account.identity(&one), other.account.identity(&two), "{what}");
                    assert_eq!(way.account.held_with(&one), other.account.held_with(&two), "{what}");
                }
            }
        }
    }
    assert!(shared > 500, "{shared} addresses");
}
