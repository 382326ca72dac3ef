//! One entry of ESP-IDF's `otadata` partition: which slot a loader starts, and how far that image is trusted.
//!
//! The partition has two sectors with an entry at the start of each. The checksum covers the sequence number alone, so an
//! entry whose state was torn still counts for a loader: nothing here concludes from a state that an image is on trial.
//!
//! This file and [`choose`](super::choose) need nothing but `core`: a loader can include both.
//!
//! Layout and states: `esp_ota_select_entry_t` and `esp_ota_img_states_t` in
//! <https://github.com/espressif/esp-idf/blob/master/components/bootloader_support/include/esp_flash_partitions.h>.

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 32;
/// Bytes that no loader reads.
const LABEL_BYTES: usize = 20;
/// The sequence number of an erased entry.
const NO_SEQUENCE: u32 = u32::MAX;

/// One of the two places for an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The partition `ota_0`, which a loader starts if `otadata` says nothing.
    Ota0,
    /// The partition `ota_1`.
    Ota1,
}

impl Slot {
    /// Both, by number.
    pub const ALL: [Self; 2] = [Self::Ota0, Self::Ota1];

    /// Its number, 0 or 1.
    pub const fn index(self) -> usize {
        match self {
            Self::Ota0 => 0,
            Self::Ota1 => 1,
        }
    }

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Ota0 => Self::Ota1,
            Self::Ota1 => Self::Ota0,
        }
    }
}

/// How far the image of an entry is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State(pub u32);

impl State {
    /// Not yet started. A loader with rollback makes it [`State::PENDING`] and starts it.
    pub const NEW: Self = Self(0);
    /// Started, not yet confirmed. A loader with rollback makes it [`State::ABORTED`] at the next start.
    pub const PENDING: Self = Self(1);
    /// Confirmed.
    pub const VALID: Self = Self(2);
    /// The image itself says that it does not work.
    pub const INVALID: Self = Self(3);
    /// Not confirmed when it was started again.
    pub const ABORTED: Self = Self(4);
}

/// The entry as it stands in flash, whole or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    sequence: u32,
    label: [u8; LABEL_BYTES],
    /// How far its image is trusted.
    pub state: State,
    checksum: u32,
}

impl Entry {
    /// An entry with this sequence number.
    pub const fn new(sequence: u32, state: State) -> Self {
        Self { sequence, label: [0xff; LABEL_BYTES], state, checksum: checksum(sequence) }
    }

    /// What these bytes of flash say.
    pub fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut label = [0; LABEL_BYTES];
        label.copy_from_slice(&bytes[4..24]);
        Self { sequence: number(0), label, state: State(number(24)), checksum: number(28) }
    }

    /// The bytes for the flash. Numbers are little-endian.
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[4..24].copy_from_slice(&self.label);
        bytes[24..28].copy_from_slice(&self.state.0.to_le_bytes());
        bytes[28..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// The sequence number, if it was written and its checksum is right.
    pub fn sequence(&self) -> Option<u32> {
        (self.sequence != NO_SEQUENCE && self.checksum == checksum(self.sequence)).then_some(self.sequence)
    }

    /// Whether a loader takes it for erased or rejected. It does so before it looks at the checksum.
    pub fn is_void(&self) -> bool {
        self.sequence == NO_SEQUENCE || matches!(self.state, State::INVALID | State::ABORTED)
    }

    /// Whether a loader follows it.
    pub fn is_usable(&self) -> bool {
        !self.is_void() && self.sequence().is_some()
    }

    /// The slot that it leads to, whether or not it is usable.
    pub fn slot(&self) -> Slot {
        // A loader subtracts without a look, so the number 0 leads to ota_1.
        Slot::ALL[(self.sequence.wrapping_sub(1) % 2) as usize]
    }

    /// Whether it is exactly what [`Entry::new`] makes for a confirmed image in this slot.
    pub fn is_settled(&self, slot: Slot) -> bool {
        self.is_usable() && self.slot() == slot && *self == Self::new(self.sequence, State::VALID)
    }
}

/// The CRC-32 of a sequence number as ESP-IDF computes it: the usual polynomial, but the register starts at zero, because
/// `esp_rom_crc32_le` inverts the `UINT32_MAX` that it is given (`bootloader_common_ota_select_crc` in
/// <https://github.com/espressif/esp-idf/blob/master/components/bootloader_support/src/bootloader_common_loader.c>).
const fn checksum(sequence: u32) -> u32 {
    let mut register = sequence;
    let mut bit = 0;
    while bit < u32::BITS {
        let carry = register & 1;
        register >>= 1;
        if carry == 1 {
            register ^= 0xedb8_8320;
        }
        bit += 1;
    }
    !register
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_bytes_that_esp_idf_writes() {
        let mut bytes = [0xff; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&[1, 0, 0, 0]);
        bytes[24..].copy_from_slice(&[2, 0, 0, 0, 0x9a, 0x98, 0x43, 0x47]);
        assert_eq!(Entry::new(1, State::VALID).to_bytes(), bytes);
        assert_eq!(Entry::from_bytes(&bytes), Entry::new(1, State::VALID));
        // Those of other numbers by zlib: crc32(number, 0xffffffff).
        let sums = [2, 3, 5].map(checksum);
        assert_eq!(sums, [0x55f6_3774, 0xed4a_5011, 0xc821_0fcd]);
    }

    #[test]
    fn the_sequence_number_names_the_slot() {
        let slots = [1, 2, 3, 0, 0xffff_fffe].map(|sequence| Entry::new(sequence, State::VALID).slot());
        assert_eq!(slots, [Slot::Ota0, Slot::Ota1, Slot::Ota0, Slot::Ota1, Slot::Ota1]);
    }

    #[test]
    fn an_erased_a_rejected_and_a_torn_entry_are_not_followed() {
        let erased = Entry::from_bytes(&[0xff; ENTRY_BYTES]);
        assert!(erased.is_void() && !erased.is_usable());
        for state in [State::INVALID, State::ABORTED] {
            assert!(Entry::new(4, state).is_void() && !Entry::new(4, state).is_usable());
        }
        for bit in 0..32 {
            let torn = Entry { sequence: 4 ^ 1 << bit, ..Entry::new(4, State::VALID) };
            assert!(!torn.is_usable(), "bit {bit}");
        }
        assert!(Entry::new(4, State(0x17)).is_usable(), "no loader minds an unknown state");
    }

    #[test]
    fn an_entry_with_one_wrong_byte_is_not_settled() {
        let right = Entry::new(4, State::VALID).to_bytes();
        assert!(Entry::from_bytes(&right).is_settled(Slot::Ota1));
        assert!(!Entry::from_bytes(&right).is_settled(Slot::Ota0));
        for at in 0..ENTRY_BYTES {
            let mut bytes = right;
            bytes[at] ^= 0x20;
            assert!(!Entry::from_bytes(&bytes).is_settled(Slot::Ota1), "byte {at}");
        }
    }
}
