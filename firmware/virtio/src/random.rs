//! Random numbers fit for keys, from virtio's entropy device.

use gatepost_link::seal::Random;

use crate::Entropy;

/// The entropy device.
pub struct HardwareRandom(pub Entropy);

impl Random for HardwareRandom {
    fn fill(&mut self, bytes: &mut [u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = self.0.request_entropy(rest).expect("the device answers");
            rest = &mut rest[count..];
        }
    }
}
