//! Identities on iMessage, in the forms in which they are written.

use proptest::{prelude::*, strategy::BoxedStrategy};

use crate::channels::testing::contract::spellings::{
    Spelt, at_a_provider, at_google, cased, grouped, letters, mailbox, number, same, signs,
};

pub(super) fn spelt() -> BoxedStrategy<Spelt> {
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
