//! Random numbers fit for keys, from virtio's entropy device.

use alloc::rc::Rc;
use core::cell::RefCell;

use gatepost_link::seal::Random;

use crate::dma::Entropy;

/// The device, shared between the companion and its board.
#[derive(Clone)]
pub struct Dice(Rc<RefCell<Entropy>>);

impl Dice {
    /// Takes the device.
    pub fn new(device: Entropy) -> Self {
        Self(Rc::new(RefCell::new(device)))
    }

    /// Any number.
    pub fn number(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// A number for what must differ from one start to the next.
    pub fn seed(&mut self) -> u64 {
        u64::from(self.number()) << 32 | u64::from(self.number())
    }
}

impl Random for Dice {
    fn fill(&mut self, bytes: &mut [u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = self.0.borrow_mut().request_entropy(rest).expect("the device answers");
            rest = &mut rest[count..];
        }
    }
}
