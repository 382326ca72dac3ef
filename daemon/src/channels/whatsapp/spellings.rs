//! Identities on WhatsApp, in the forms in which they are written.

use proptest::{prelude::*, strategy::BoxedStrategy};

use crate::channels::testing::contract::spellings::{Spelt, grouped, identities, number, signs};

pub(super) fn spelt() -> BoxedStrategy<Spelt> {
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

/// A bridge reaches groups too.
pub(super) fn with_groups() -> BoxedStrategy<Spelt> {
    prop_oneof![3 => spelt(), 1 => identities("[1-9][0-9]{9,17}(-[1-9][0-9]{9})?@g\\.us")].boxed()
}
