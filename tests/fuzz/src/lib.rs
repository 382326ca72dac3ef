//! What the targets share: beneath a companion, memory for a flash and dice that fall the same way every time; and [`accounts`].

pub mod accounts;

use gatepost_companion::{Bond, Counter, Keys, Network, Storage};
use gatepost_link::seal::Random;

/// Dice.
pub struct Dice(pub u8);

impl Random for Dice {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0 = self.0.wrapping_add(1);
        bytes.fill(self.0);
    }
}

/// What a device keeps.
#[derive(Default)]
pub struct Memory {
    /// The last counter that was reserved.
    pub counter: u64,
    /// Its keys.
    pub keys: Option<Keys>,
    /// Its hub.
    pub bond: Option<Bond>,
}

impl Counter for Memory {
    type Error = ();

    fn reserve(&mut self) -> Result<u64, ()> {
        self.counter += 1;
        Ok(self.counter)
    }
}

impl Storage for Memory {
    fn load_keys(&mut self) -> Result<Option<Keys>, ()> {
        Ok(self.keys.clone())
    }

    fn store_keys(&mut self, keys: &Keys) -> Result<(), ()> {
        self.keys = Some(keys.clone());
        Ok(())
    }

    fn load_bond(&mut self) -> Result<Option<Bond>, ()> {
        Ok(self.bond.clone())
    }

    fn store_bond(&mut self, bond: &Bond) -> Result<(), ()> {
        self.bond = Some(bond.clone());
        Ok(())
    }

    fn wipe_bond(&mut self) -> Result<(), ()> {
        self.bond = None;
        Ok(())
    }

    fn load_network(&mut self) -> Result<Option<Network>, ()> {
        Ok(None)
    }

    fn store_network(&mut self, _network: &Network) -> Result<(), ()> {
        Ok(())
    }
}
