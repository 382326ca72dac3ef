//! Mailboxes, in the forms in which they are written.

use proptest::{prelude::*, strategy::BoxedStrategy};

use crate::channels::testing::contract::spellings::{
    Spelt, at_a_provider, at_google, cased, letters, mailbox,
};

pub(super) fn spelt() -> BoxedStrategy<Spelt> {
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
