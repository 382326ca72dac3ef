//! Addresses that are made, not listed: identities of each channel in any of the forms that a person or a program writes them in,
//! forms that are nobody's address, and addresses that no spelling tells the identity of.
//!
//! Each channel must be here, so that a new one cannot do without.

use std::sync::Arc;

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    strategy::{BoxedStrategy, Union, ValueTree as _},
    test_runner::TestRunner,
};

use super::{
    Contract, all,
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
            spelt: spelt(contract),
            unknown: unknown(contract),
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

fn same(same: impl IntoIterator<Item = String>) -> Spelt {
    Spelt { same: same.into_iter().collect(), held: Vec::new() }
}

/// Digits as people group them.
fn grouped(digits: &str, signs: &[u8]) -> String {
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
fn cased(text: &str, large: &[bool]) -> String {
    let letter = |(at, sign): (usize, char)| match large.get(at % large.len().max(1)) {
        Some(true) => sign.to_ascii_uppercase(),
        _ => sign.to_ascii_lowercase(),
    };
    text.chars().enumerate().map(letter).collect()
}

fn signs() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 15)
}

fn letters() -> impl Strategy<Value = Vec<bool>> {
    vec(any::<bool>(), 16)
}

/// A number in its forms: those that are one, and those that may be.
fn number() -> BoxedStrategy<(Vec<String>, Vec<String>)> {
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

fn whatsapp() -> BoxedStrategy<Spelt> {
    (number(), signs())
        .prop_map(|((same, held), signs)| {
            let forms = |digits: &String| {
                [
                    digits.clone(),
                    format!("+{digits}"),
                    format!("phone:+{digits}"),
                    format!("{digits}@s.whatsapp.net"),
                    format!("+{}", grouped(digits, &signs)),
                ]
            };
            Spelt { same: same.iter().flat_map(forms).collect(), held: held.iter().flat_map(forms).collect() }
        })
        .boxed()
}

fn imessage() -> BoxedStrategy<Spelt> {
    const SERVICES: [&str; 6] = ["any;-;", "iMessage;-;", "SMS;-;", "RCS;-;", "any;+;", "SMS;+;"];
    fn everywhere(handle: &str) -> impl Iterator<Item = String> {
        SERVICES.iter().map(move |service| format!("{service}{handle}"))
    }
    let numbers = (number(), signs()).prop_map(|((mut same, mut held), signs)| {
        // Of two forms each is a handle of its own.
        held.extend(same.split_off(1));
        let forms = |digits: &String| {
            let handle = format!("+{digits}");
            let grouped = format!("+{}", grouped(digits, &signs));
            everywhere(&handle)
                .chain([handle.clone(), format!("phone:{handle}"), grouped])
                .collect::<Vec<_>>()
        };
        Spelt { same: same.iter().flat_map(forms).collect(), held: held.iter().flat_map(forms).collect() }
    });
    let mailboxes = (mailbox(), "[a-z0-9]{1,5}", letters()).prop_map(|((local, domain), tag, large)| {
        let (plain, tagged) = (format!("{local}@{domain}"), format!("{local}+{tag}@{domain}"));
        let forms = |one: &str| {
            let cased = cased(one, &large);
            everywhere(one)
                .chain(everywhere(&cased))
                .chain([one.to_owned(), cased.clone()])
                .collect::<Vec<_>>()
        };
        Spelt { same: forms(&plain), held: forms(&tagged) }
    });
    let providers =
        (prop_oneof![at_google(), at_a_provider()], letters()).prop_map(|((one, held), large)| {
            let cased = cased(&one, &large);
            let held = held.iter().flat_map(|other| everywhere(other).chain([other.clone()])).collect();
            Spelt { same: everywhere(&one).chain([one.clone(), cased]).collect(), held }
        });
    let groups = prop_oneof!["chat[1-9][0-9]{5,17}", "[0-9a-f]{32}"]
        .prop_map(|id| same(["any", "iMessage", "SMS", "RCS"].map(|service| format!("{service};+;{id}"))));
    prop_oneof![3 => numbers, 3 => mailboxes, 2 => providers, 1 => groups].boxed()
}

fn mailbox() -> impl Strategy<Value = (String, String)> {
    ("[a-z][a-z0-9_=~-]{0,7}(\\.[a-z0-9]{1,5})?", "[a-z]{2,8}(-[a-z]{1,3})?\\.(org|test|xn--p1ai)")
}

/// A mailbox at Google: as many mailboxes to a list as there are dots in it, at two domains, and one to Google.
fn at_google() -> impl Strategy<Value = (String, Vec<String>)> {
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
fn at_a_provider() -> impl Strategy<Value = (String, Vec<String>)> {
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

fn email() -> BoxedStrategy<Spelt> {
    let providers =
        (prop_oneof![at_google(), at_a_provider()], letters()).prop_map(|((one, held), large)| {
            let (local, domain) = one.rsplit_once('@').expect("they have one");
            let cased = format!("{local}@{}", cased(domain, &large));
            Spelt { same: vec![one, cased], held }
        });
    prop_oneof![2 => plain_email(), 1 => providers].boxed()
}

fn plain_email() -> BoxedStrategy<Spelt> {
    (mailbox(), "[a-z0-9]{1,5}", letters())
        .prop_map(|((local, domain), tag, large)| {
            let domains = [domain.clone(), cased(&domain, &large), domain.to_ascii_uppercase()];
            let held = [cased(&local, &large), format!("{local}+{tag}"), format!("{local}+x+{tag}")];
            let at = |local: &String| domains.clone().map(|domain| format!("{local}@{domain}"));
            Spelt {
                same: at(&local).to_vec(),
                held: held.iter().filter(|one| **one != local).flat_map(at).collect(),
            }
        })
        .boxed()
}

fn signal() -> BoxedStrategy<Spelt> {
    let uuids = ("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}", letters()).prop_map(
        |(uuid, large)| {
            same([uuid.clone(), cased(&uuid, &large), format!("uuid:{uuid}"), uuid.to_uppercase()])
        },
    );
    let groups = vec(any::<u8>(), 32).prop_map(|id| {
        use base64::{
            Engine as _,
            engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
        };
        let forms = [
            STANDARD.encode(&id),
            STANDARD_NO_PAD.encode(&id),
            URL_SAFE.encode(&id),
            URL_SAFE_NO_PAD.encode(&id),
        ];
        same(forms.map(|id| format!("group:{id}")))
    });
    prop_oneof![uuids, groups].boxed()
}

/// With zeros before it, which count for nothing in a number.
fn numbered(sign: &'static str, number: impl Strategy<Value = u64> + 'static) -> BoxedStrategy<Vec<String>> {
    number
        .prop_map(move |n| vec![format!("{sign}{n}"), format!("{sign}0{n}"), format!("{sign}00{n}")])
        .boxed()
}

/// Identities of a channel, as their spelling tells them.
fn spelt(contract: &'static Contract) -> BoxedStrategy<Spelt> {
    let one = |identity: BoxedStrategy<String>| identity.prop_map(|identity| same([identity])).boxed();
    let identities = match (contract.channel, contract.way) {
        ("whatsapp", "by an Evolution API") => {
            let groups = one("[1-9][0-9]{9,17}(-[1-9][0-9]{9})?@g\\.us".boxed());
            prop_oneof![3 => whatsapp(), 1 => groups].boxed()
        }
        ("whatsapp", _) => whatsapp(),
        ("imessage", _) => imessage(),
        ("email", _) => email(),
        ("signal", _) => signal(),
        ("telegram", _) => Union::new([
            numbered("", 1..1_u64 << 40),
            numbered("-", 1_000_000_000_000..1_999_999_999_999_u64),
        ])
        .prop_map(|forms| {
            let named: Vec<_> =
                ["tg:", "telegram:"].iter().map(|name| format!("{name}{}", forms[0])).collect();
            same(forms.into_iter().chain(named))
        })
        .boxed(),
        ("slack", _) => one("[CGUW][0-9A-Z]{8,10}".boxed()),
        ("discord", _) => numbered("@", 1..u64::MAX)
            .prop_map(|forms| {
                let id = forms[0][1..].to_owned();
                same(forms.into_iter().chain([format!("<@{id}>"), format!("<@!{id}>"), format!("user:{id}")]))
            })
            .boxed(),
        ("matrix", _) => one("![A-Za-z0-9]{10,18}:[a-z]{2,8}\\.test(:8448)?".boxed()),
        ("teams", "by a workflow") | ("googlechat", "by a webhook") => {
            one(Just(contract.address.to_owned()).boxed())
        }
        ("teams", _) => {
            let places = "19:[a-z0-9]{10,32}@thread\\.(tacv2|v2|skype)".boxed();
            let guids = ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", letters());
            prop_oneof![
                one(prop_oneof![places, "a:[A-Za-z0-9_-]{20,60}".boxed()].boxed()),
                guids.prop_map(|(guid, large)| same([guid.clone(), cased(&guid, &large)]))
            ]
            .boxed()
        }
        ("googlechat", _) => one("spaces/[A-Za-z0-9_-]{6,16}".boxed()),
        ("local" | "webhook" | "ntfy", _) => one("[a-z][A-Za-z0-9_-]{1,20}".boxed()),
        (other, _) => panic!("say how identities on {other} are made and spelt"),
    };
    // What only says which kind of id follows.
    let kind = select(&["", "chat:", "channel:"][..]);
    (identities, kind)
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

/// Addresses of a channel whose spelling does not tell whose they are.
fn unknown(contract: &'static Contract) -> Option<BoxedStrategy<String>> {
    let strategy = match (contract.channel, contract.way) {
        ("whatsapp", "by an Evolution API") => odd_number(),
        ("whatsapp", _) => prop_oneof![odd_number(), "[A-Z]{2}\\.(ENT\\.)?[0-9]{10,20}"].boxed(),
        ("imessage", _) => prop_oneof![
            "(SMS|any|RCS);-;[0-9]{1,14}",
            "(SMS|any|RCS);-;[0-9]{3,6}[A-Z]{2,5}",
            "(SMS|any|RCS);-;(tel:|p:|mailto:)[a-z0-9@.]{3,12}",
            "(SMS|any|RCS);-;(<anna@example\\.org>|anna\\(c\\)@example\\.org|/anna@example\\.org|anna%example\\.org@example\\.net)",
        ]
        .boxed(),
        ("signal", _) => prop_oneof!["\\+49151[0-9]{8}", "u:[a-z]{3,9}\\.[0-9]{2,4}"].boxed(),
        ("telegram", _) => prop_oneof!["@[a-z][a-z0-9_]{4,20}", "-[1-9][0-9]{4,10}"].boxed(),
        ("slack", _) => "D[0-9A-Z]{8,10}".boxed(),
        ("discord", _) => "[1-9][0-9]{16,17}".boxed(),
        ("matrix", _) => prop_oneof!["#[a-z]{2,9}:hub\\.test", "@[a-z]{2,9}:hub\\.test", "!a%[0-9a-f]{2}b:hub\\.test"].boxed(),
        ("teams", "by a workflow") => return None,
        ("teams", _) => "19:[a-z0-9]{10,32}@(unq\\.gbl\\.spaces|p2p\\.[a-z]{2,8})".boxed(),
        ("email" | "googlechat" | "local" | "webhook" | "ntfy", _) => return None,
        (other, _) => panic!("say which addresses on {other} do not tell whose they are"),
    };
    Some(strategy)
}

/// Numbers that three countries' plans do not have.
fn odd_number() -> BoxedStrategy<String> {
    prop_oneof!["52[2-9][0-9]{10}", "54[1-8][0-9]{10}", "55[1-9][1-9][1-8][0-9]{8}", "5[245][1-9][0-9]{8}"]
        .boxed()
}

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
