//! Identities on Signal, in the forms in which they are written.

use proptest::{collection::vec, prelude::*, strategy::BoxedStrategy};

use crate::channels::testing::contract::spellings::{Spelt, cased, letters, same};

pub(super) fn spelt() -> BoxedStrategy<Spelt> {
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
