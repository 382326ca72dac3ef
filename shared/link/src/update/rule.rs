//! What a device takes: the same judgement on the device, in the hub, and in the program that signs.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{
    BLOCK_BYTES, LIST_BYTES, Manifest, Root,
    label::{Label, Version},
};

/// What all companions are called in [`Manifest::product`].
pub const PRODUCT: Label = match Label::new("companion") {
    Some(label) => label,
    None => panic!("it is short"),
};

/// A device, as far as the rule asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Its board.
    pub board: Label,
    /// The version that it runs.
    pub running: Version,
    /// It takes nothing below this version.
    pub floor: Version,
    /// Bytes of a slot.
    pub slot: u32,
    /// When its firmware was built, in seconds since 1970, UTC: no clock that is told to it counts as earlier.
    pub built: u64,
}

/// Why a release is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unfit {
    /// It is for another product or board.
    NotForUs,
    /// It is not newer than what runs.
    Older,
    /// It is below the floor.
    BelowFloor,
    /// It, or the root that it is signed by, has expired.
    Expired,
    /// Its image does not fit a slot.
    TooLarge,
    /// Its sizes make no sense, or its floor is above its own version.
    Malformed,
    /// Its image does not say that it is of the release's version.
    OtherVersion,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotForUs => "it is for another product or board",
            Self::Older => "it is not newer than what runs",
            Self::BelowFloor => "it is below the lowest version that is still taken",
            Self::Expired => "it, or the root that signed it, has expired",
            Self::TooLarge => "its image does not fit a slot",
            Self::Malformed => "its sizes or its floor make no sense",
            Self::OtherVersion => "its image does not say that it is of this version",
        })
    }
}

impl core::error::Error for Unfit {}

/// Whether a manifest makes sense in itself, on whichever device.
pub fn well_formed(manifest: &Manifest) -> Result<(), Unfit> {
    let named = manifest.product.name().is_some() && manifest.board.name().is_some();
    let sized = manifest.block as usize == BLOCK_BYTES && manifest.size > 0;
    if !named || !sized || manifest.floor > manifest.version {
        return Err(Unfit::Malformed);
    }
    if manifest.list_bytes() > LIST_BYTES { Err(Unfit::TooLarge) } else { Ok(()) }
}

/// Whether a device takes a release whose signatures hold by this root, at this time in seconds since 1970.
pub fn admit(manifest: &Manifest, root: &Root, device: &Device, utc: u64) -> Result<(), Unfit> {
    well_formed(manifest)?;
    let now = utc.max(device.built);
    if manifest.product != PRODUCT || manifest.board != device.board {
        Err(Unfit::NotForUs)
    } else if manifest.version < device.floor {
        Err(Unfit::BelowFloor)
    } else if manifest.version <= device.running {
        Err(Unfit::Older)
    } else if now >= manifest.expires || root.is_expired(now) {
        Err(Unfit::Expired)
    } else if manifest.size as usize + LIST_BYTES > device.slot as usize {
        Err(Unfit::TooLarge)
    } else {
        Ok(())
    }
}

/// From when on a release is not taken any more, in seconds since 1970: it or its root has expired then.
pub fn expires(manifest: &Manifest, root: &Root) -> u64 {
    match root.expires() {
        0 => manifest.expires,
        root => root.min(manifest.expires),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::testing::{manifest, root};

    const SLOT: u32 = 0x1e_0000;
    const NOW: u64 = 1_790_000_000;

    fn device() -> Device {
        let version = |text| Version::new(text).unwrap();
        let board = Label::new("esp32c3").unwrap();
        Device { board, running: version("1.3.9"), floor: version("1.2.0"), slot: SLOT, built: 1_700_000_000 }
    }

    #[test]
    fn only_what_is_newer_for_this_device_and_still_valid_is_taken() {
        let root = root(1, &[1], &[9]);
        let judge = |change: &dyn Fn(&mut Manifest)| {
            let mut manifest = manifest();
            change(&mut manifest);
            admit(&manifest, &root, &device(), NOW)
        };
        let label = Label::new("other").unwrap();
        let version = |text| Version::new(text).unwrap();
        assert_eq!(judge(&|_| ()), Ok(()));
        assert_eq!(judge(&|it| it.product = label), Err(Unfit::NotForUs));
        assert_eq!(judge(&|it| it.board = label), Err(Unfit::NotForUs));
        assert_eq!(judge(&|it| it.board = Label([0; 16])), Err(Unfit::Malformed));
        assert_eq!(judge(&|it| it.version = version("1.3.9")), Err(Unfit::Older), "the same again");
        assert_eq!(
            judge(&|it| (it.version, it.floor) = (version("1.1.9"), version("1.0.0"))),
            Err(Unfit::BelowFloor)
        );
        assert_eq!(
            judge(&|it| it.floor = version("1.4.1")),
            Err(Unfit::Malformed),
            "it would not take itself"
        );
        assert_eq!(judge(&|it| it.expires = NOW), Err(Unfit::Expired));
        assert_eq!(judge(&|it| it.size = 0), Err(Unfit::Malformed));
        for block in [0, 1, 4095, 8192, u32::MAX] {
            assert_eq!(judge(&|it| it.block = block), Err(Unfit::Malformed));
        }
        let most = SLOT - LIST_BYTES as u32;
        assert_eq!(judge(&|it| it.size = most), Ok(()));
        assert_eq!(judge(&|it| it.size = most + 1), Err(Unfit::TooLarge));
        assert_eq!(judge(&|it| it.size = u32::MAX), Err(Unfit::TooLarge));
    }

    #[test]
    fn no_clock_that_is_told_makes_what_has_expired_valid() {
        let root = root(1, &[1], &[9]);
        let old = Manifest { expires: 1_650_000_000, ..manifest() };
        assert_eq!(admit(&old, &root, &device(), 0), Err(Unfit::Expired), "the firmware is newer than that");
        let expiring = Root::new(1, NOW, root.root().clone(), root.release().clone());
        assert_eq!(admit(&manifest(), &expiring, &device(), NOW), Err(Unfit::Expired));
        assert_eq!(admit(&manifest(), &expiring, &device(), NOW - 1), Ok(()));
        let manifest = manifest();
        for expiring in [expiring, root] {
            let expires = expires(&manifest, &expiring);
            assert_eq!(admit(&manifest, &expiring, &device(), expires - 1), Ok(()));
            assert_eq!(admit(&manifest, &expiring, &device(), expires), Err(Unfit::Expired));
        }
    }
}
