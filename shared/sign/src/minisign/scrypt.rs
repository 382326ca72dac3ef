//! What it costs to try a password, in libsodium's terms, which minisign stores.

use super::KeyError;

/// Most memory that a key may ask for: what minisign itself does.
const MAX_MEMORY: u64 = 1 << 30;
/// The same bound for its time: scrypt's N times p.
const MAX_WORK: u64 = 1 << 20;
/// scrypt's block size, fixed by libsodium.
const R: u64 = 8;

/// What it costs to try a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// libsodium's `opslimit`.
    operations: u64,
    /// libsodium's `memlimit`, in bytes.
    memory: u64,
}

impl Cost {
    /// What minisign takes, 1 GiB: libsodium's `crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE`,
    /// <https://doc.libsodium.org/advanced/scrypt>.
    pub const STRONG: Self = Self { operations: (1 << 30) / 32, memory: 1 << 30 };

    /// A cost of 16, 32, and so on to 1024 MiB of memory; [`None`] for anything else.
    pub const fn of_memory(mib: u64) -> Option<Self> {
        if !mib.is_power_of_two() || mib < 16 || mib > 1024 {
            return None;
        }
        let memory = mib << 20;
        Some(Self { operations: memory / 32, memory })
    }

    /// From the two numbers in a key's file, each little-endian.
    pub(super) fn from_bytes(operations: [u8; 8], memory: [u8; 8]) -> Self {
        Self { operations: u64::from_le_bytes(operations), memory: u64::from_le_bytes(memory) }
    }

    pub(super) fn to_bytes(self) -> [[u8; 8]; 2] {
        [self.operations.to_le_bytes(), self.memory.to_le_bytes()]
    }

    /// scrypt's parameters as libsodium picks them (`pickparams` in
    /// <https://github.com/jedisct1/libsodium/blob/stable/src/libsodium/crypto_pwhash/scryptsalsa208sha256/pwhash_scryptsalsa208sha256.c>):
    /// the largest N within both limits, and for p what time is left. [`None`] if that is more than minisign's own.
    fn parameters(self) -> Option<scrypt::Params> {
        let operations = self.operations.max(1 << 15);
        if self.memory > MAX_MEMORY {
            return None;
        }
        // N is the first power of two, from 2 on, that is more than half of what the limit allows.
        let power = |most: u64| (1..63).find(|log_n| 1_u64 << log_n > most / 2);
        let (log_n, p) = if operations < self.memory / 32 {
            (power(operations / (R * 4))?, 1)
        } else {
            let log_n = power(self.memory / (R * 128))?;
            (log_n, ((operations / 4) >> log_n) / R)
        };
        if p.checked_mul(1 << log_n)? > MAX_WORK {
            return None;
        }
        scrypt::Params::new(u8::try_from(log_n).ok()?, R as u32, u32::try_from(p).ok()?, 32).ok()
    }

    /// Fills `stream` with what the password gives.
    ///
    /// # Errors
    ///
    /// The cost is out of bounds, or the machine has less memory.
    pub(super) fn derive(self, password: &[u8], salt: &[u8; 32], stream: &mut [u8]) -> Result<(), KeyError> {
        let parameters = self.parameters().ok_or(KeyError::Cost)?;
        let bytes = (R as usize * 128) << parameters.log_n();
        // scrypt itself would end the program.
        if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            return Err(KeyError::Memory { mib: bytes >> 20 });
        }
        scrypt::scrypt(password, salt, &parameters, stream).map_err(|_| KeyError::Cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(operations: u64, memory: u64) -> Option<(u8, u32)> {
        Cost { operations, memory }.parameters().map(|found| (found.log_n(), found.p()))
    }

    #[test]
    fn parameters_are_libsodiums() {
        assert_eq!(
            Cost::STRONG.parameters().map(|found| (found.log_n(), found.r(), found.p())),
            Some((20, 8, 1))
        );
        // Its INTERACTIVE limits: N is 2^14.
        assert_eq!(parameters(524_288, 16_777_216), Some((14, 1)));
        assert_eq!(
            Cost::of_memory(16).map(|cost| cost.to_bytes()),
            Some([524_288_u64, 16_777_216].map(u64::to_le_bytes))
        );
        assert_eq!(Cost::of_memory(1024), Some(Cost::STRONG));
        assert_eq!(parameters(32_768, 1 << 30), Some((10, 1)), "bounded by operations");
        assert_eq!(parameters(524_288 * 4, 16_777_216), Some((14, 4)));
    }

    #[test]
    fn a_file_cannot_ask_for_more_than_minisign_does() {
        for (operations, memory) in [
            (1 << 25, (1 << 30) + 1),
            (1 << 26, 1 << 30),
            (u64::MAX, 1 << 20),
            (u64::MAX, u64::MAX),
            (0, u64::MAX),
            (1 << 40, 0),
        ] {
            assert_eq!(parameters(operations, memory), None, "{operations} {memory}");
        }
        assert!([0, 8, 17, 2048].iter().all(|mib| Cost::of_memory(*mib).is_none()));
    }
}
