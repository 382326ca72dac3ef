//! The light beside the screen: when it is on, and its colours as the 24 bits that a WS2812 reads from its data line.

use super::view::View;

/// Bits of a colour.
pub const COLOUR_BITS: usize = 24;
/// Red, green, blue while a card waits: the amber of its header at a tenth of full brightness.
pub const CARD_WAITING: [u8; 3] = [26, 16, 0];
/// Off.
pub const OFF: [u8; 3] = [0; 3];

/// Whether the light is on: while a card waits for a decision, and only then.
pub fn is_on(view: &View) -> bool {
    matches!(view, View::Card(_))
}

/// A colour in the order of transmission: green, red, blue, the highest bit of each first.
pub fn bits([red, green, blue]: [u8; 3]) -> impl Iterator<Item = bool> {
    [green, red, blue].into_iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1))
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use gatepost_link::{RequestId, decision::Verdict};

    use super::*;
    use crate::ui::view::CardView;

    #[test]
    fn the_light_is_on_while_a_card_waits_and_only_then() {
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
        assert!(is_on(&View::Card(card)));
        for view in [View::Offline, View::Idle, View::Sending { request, verdict: Verdict::Approve }] {
            assert!(!is_on(&view), "{view:?}");
        }
    }

    #[test]
    fn a_colour_is_sent_green_first_and_highest_bit_first() {
        let said: String = bits([0x80, 0x01, 0x0f]).map(|one| if one { '1' } else { '0' }).collect();
        assert_eq!(said, "000000011000000000001111");
        assert_eq!(bits(CARD_WAITING).count(), COLOUR_BITS);
    }
}
