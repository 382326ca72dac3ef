//! The colours of a light that takes them as 24 bits on one wire (WS2812), and when it burns.

use crate::View;

/// Bits of a colour.
pub const BITS: usize = 24;
/// Red, green, blue while a card waits: the amber of its header, a tenth as bright as it could be.
pub const WAITING: [u8; 3] = [26, 16, 0];
/// No light.
pub const DARK: [u8; 3] = [0; 3];

/// Whether a board's light burns: while a card waits for its person, and only then.
pub fn burns(view: &View) -> bool {
    matches!(view, View::Card(_))
}

/// A colour as the wire has it: green first, then red and blue, the highest bit of each first.
pub fn bits([red, green, blue]: [u8; 3]) -> impl Iterator<Item = bool> {
    [green, red, blue].into_iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1))
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use gatepost_link::{RequestId, decision::Verdict};

    use super::*;
    use crate::CardView;

    #[test]
    fn it_burns_while_a_card_waits_and_only_then() {
        let request = RequestId([1; 16]);
        let card = CardView {
            request,
            page: 1,
            pages: 1,
            armed: false,
            deniable: false,
            unseen_files: false,
            fault: false,
        };
        assert!(burns(&View::Card(card)));
        for view in [View::Offline, View::Idle, View::Sending { request, verdict: Verdict::Approve }] {
            assert!(!burns(&view), "{view:?}");
        }
    }

    #[test]
    fn a_colour_goes_out_green_first_and_highest_bit_first() {
        let said: String = bits([0x80, 0x01, 0x0f]).map(|one| if one { '1' } else { '0' }).collect();
        assert_eq!(said, "000000011000000000001111");
        assert_eq!(bits(WAITING).count(), BITS);
    }
}
