//! The register of devices: what they are called, and who may not decide any more.
//!
//! A row is never deleted, so that a decision can be proven for as long as the audit has it; a name is free again once
//! its device is revoked. Whoever is revoked decides nothing from that transaction on. The running link is told after it,
//! so that the device is dropped at once; were it not, its next decision would still be refused.

use gatepost_link::{decision::PublicKey, topic};
use rusqlite::{Connection, Row, Transaction, params};
use serde_json::json;

use super::{firmware::is_outdated, quorum};
use crate::{
    audit::{self, Entry, Event},
    random::to_hex,
    store::{Store, StoreError, now_ms},
};

/// Devices that may be registered at once, those that are revoked not counted.
pub const MAX_DEVICES: usize = 32;
/// The longest name, in characters.
pub(super) const MAX_NAME: usize = 40;
/// Digits of a key's short name.
const SHORT: usize = 16;

/// A device as it stands in the register. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Its public key.
    pub key: PublicKey,
    /// What people call it.
    pub name: String,
    /// Whether it is a program and not a device with buttons of its own.
    pub software: bool,
    /// The counter of its last decision; 0 before the first.
    pub counter: i64,
    /// When it was registered.
    pub added_at: i64,
    /// When it last came, went or decided, as far as that was written down.
    pub seen_at: Option<i64>,
    /// When it last decided.
    pub decided_at: Option<i64>,
    /// When it was revoked.
    pub revoked_at: Option<i64>,
    /// Whether the hub has its key for sealed sessions; one from before those must be paired anew.
    pub sealed: bool,
    /// The highest version of the link that it has spoken.
    pub version: u8,
}

impl Registered {
    /// Its key's short name: what stands for it on the broker, and at the shell.
    pub fn short(&self) -> String {
        topic::name(self.key).as_str().to_owned()
    }
}

/// Why the register is not changed.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// Not a name.
    #[error(
        "{0:?} is not a name for a companion: use 1 to {MAX_NAME} letters, digits, punctuation and single spaces between them"
    )]
    Name(String),
    /// A name that would pass for a key.
    #[error("{0:?} could be taken for a companion's key: choose a name with other letters")]
    LikeAKey(String),
    /// Another device has it.
    #[error("a companion is called {0:?} already: rename or revoke that one first")]
    Taken(String),
    /// The register has no room.
    #[error("{MAX_DEVICES} companions are registered, and no more can be: revoke one first")]
    Full,
    /// The key is in the register, or was.
    #[error("this companion is registered already, or was revoked: give it a new key, then pair it again")]
    Known,
    /// There is no such device.
    #[error("there is no companion {0:?} (see: gatepost companion list)")]
    Missing(String),
    /// It was revoked before.
    #[error("the companion {0:?} was revoked already")]
    Revoked(String),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for DeviceError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// All devices that were ever registered: those that may decide first, then those that were revoked.
pub async fn list(store: &Store) -> Result<Vec<Registered>, StoreError> {
    store.read(all).await
}

/// Gives a device another name. `which`: its name, or its key's short name.
pub async fn rename(store: &Store, which: &str, name: &str, by: &str) -> Result<Registered, DeviceError> {
    let (which, name, by) = (which.to_owned(), name.to_owned(), by.to_owned());
    store
        .write(move |tx| {
            let device = find(tx, &which)?;
            if device.name == name {
                return Ok(device);
            }
            free(tx, &name, Some(device.key))?;
            tx.execute("UPDATE devices SET name = ? WHERE key = ?", params![name, device.key.0])?;
            let detail = json!({"name": name, "before": device.name, "key": to_hex(&device.key.0)});
            audit::append(tx, &Entry { actor: &by, event: Event::DeviceRenamed, message: None, detail })?;
            Ok(Registered { name, ..device })
        })
        .await
}

/// A device that was revoked just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoked {
    /// As it stands in the register.
    pub device: Registered,
    /// Messages that still wait, and that it had approved: its word does not count any more.
    pub withdrawn: Vec<i64>,
}

/// Takes the right to decide from a device, for good, and its approvals of what still waits. `which`: its name, or its
/// key's short name.
pub async fn revoke(store: &Store, which: &str, by: &str) -> Result<Revoked, DeviceError> {
    let (which, by) = (which.to_owned(), by.to_owned());
    store.write(move |tx| revoke_in(tx, &which, &by)).await
}

/// The same within a transaction.
pub fn revoke_in(tx: &Transaction<'_>, which: &str, by: &str) -> Result<Revoked, DeviceError> {
    let (device, now) = (find(tx, which)?, now_ms());
    tx.execute("UPDATE devices SET revoked_at = ? WHERE key = ?", params![now, device.key.0])?;
    let detail = json!({"name": device.name, "key": to_hex(&device.key.0)});
    audit::append(tx, &Entry { actor: by, event: Event::DeviceRevoked, message: None, detail })?;
    let withdrawn = quorum::withdraw(tx, device.key, by, "its companion was revoked")?;
    Ok(Revoked { device: Registered { revoked_at: Some(now), ..device }, withdrawn })
}

/// Takes the approvals back that firmware gave which is too old to approve: an earlier hub counted them. This must be done before
/// the first companion speaks, since from then on its version says nothing about what it approved before. A companion is
/// asked again once it is updated.
pub async fn withdraw_outdated(store: &Store) -> Result<(), StoreError> {
    store
        .write(|tx| {
            let is_meant = |device: &Registered| device.revoked_at.is_none() && is_outdated(device.version);
            for device in all(tx)?.into_iter().filter(is_meant) {
                quorum::withdraw(tx, device.key, "hub", "its companion's firmware is too old to approve")?;
            }
            Ok(())
        })
        .await
}

/// Writes down when devices were last seen.
pub async fn seen(store: &Store, at: Vec<(PublicKey, i64)>) -> Result<(), StoreError> {
    store
        .write(move |tx| {
            let mut update =
                tx.prepare_cached("UPDATE devices SET seen_at = max(?, coalesce(seen_at, 0)) WHERE key = ?")?;
            for (key, at) in at {
                update.execute(params![at, key.0])?;
            }
            Ok(())
        })
        .await
}

/// The name under which a new device with this key can be registered: this one, or where none is given a free one.
pub async fn vacant(store: &Store, key: PublicKey, name: Option<String>) -> Result<String, DeviceError> {
    store
        .read(move |db| match name {
            Some(name) => admit(db, key, &name).map(|()| name),
            None => {
                let numbered = (2..=MAX_DEVICES + 1).map(|number| format!("companion {number}"));
                let names = std::iter::once("companion".to_owned()).chain(numbered);
                for name in names {
                    match admit(db, key, &name) {
                        Err(DeviceError::Taken(_)) => {}
                        other => return other.map(|()| name),
                    }
                }
                Err(DeviceError::Full)
            }
        })
        .await
}

/// Whether a new device with this key may be registered under this name.
pub(super) fn admit(db: &Connection, key: PublicKey, name: &str) -> Result<(), DeviceError> {
    let devices = all(db)?;
    if devices.iter().any(|known| known.key == key) {
        return Err(DeviceError::Known);
    }
    if devices.iter().filter(|known| known.revoked_at.is_none()).count() >= MAX_DEVICES {
        return Err(DeviceError::Full);
    }
    free(db, name, None)
}

/// Whether `name` is one, and nobody's but `mine`. Names that differ by capitals alone are one to a person.
fn free(db: &Connection, name: &str, mine: Option<PublicKey>) -> Result<(), DeviceError> {
    check_name(name)?;
    let same = |known: &Registered| {
        known.revoked_at.is_none()
            && Some(known.key) != mine
            && known.name.to_lowercase() == name.to_lowercase()
    };
    match all(db)?.into_iter().find(same) {
        Some(known) => Err(DeviceError::Taken(known.name)),
        None => Ok(()),
    }
}

/// Whether somebody can be called so: nothing invisible, nothing that turns a line around, nothing that a table could not hold.
pub(super) fn is_name(name: &str) -> bool {
    let printable = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric();
    let spaced = name.split(' ').all(|word| !word.is_empty());
    spaced && name.chars().count() <= MAX_NAME && name.chars().all(printable)
}

pub fn check_name(name: &str) -> Result<(), DeviceError> {
    if !is_name(name) {
        return Err(DeviceError::Name(name.chars().take(MAX_NAME + 20).collect()));
    }
    if is_key(name) {
        return Err(DeviceError::LikeAKey(name.to_owned()));
    }
    Ok(())
}

fn is_key(text: &str) -> bool {
    text.len() == SHORT && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The device of this name, or with this key, that is not revoked.
fn find(db: &Connection, which: &str) -> Result<Registered, DeviceError> {
    let meant = |device: &Registered| {
        device.name == which || (is_key(which) && device.short() == which.to_lowercase())
    };
    let (mut now, mut before): (Vec<_>, Vec<_>) =
        all(db)?.into_iter().filter(meant).partition(|device| device.revoked_at.is_none());
    match (now.pop(), before.pop()) {
        (Some(device), _) => Ok(device),
        (None, Some(device)) => Err(DeviceError::Revoked(device.name)),
        (None, None) => Err(DeviceError::Missing(which.chars().take(MAX_NAME + 20).collect())),
    }
}

pub(crate) fn all(db: &Connection) -> Result<Vec<Registered>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT key, name, software, counter, added_at, seen_at, decided_at, revoked_at,
         seal IS NOT NULL, version FROM devices
         ORDER BY revoked_at IS NOT NULL, added_at, key",
    )?;
    let rows = rows.query_map([], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Registered> {
    Ok(Registered {
        key: PublicKey(row.get(0)?),
        name: row.get(1)?,
        software: row.get(2)?,
        counter: row.get(3)?,
        added_at: row.get(4)?,
        seen_at: row.get(5)?,
        decided_at: row.get(6)?,
        revoked_at: row.get(7)?,
        sealed: row.get(8)?,
        version: row.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use gatepost_link::{envelope::VERSION, seal::SealKey};

    use super::*;
    use crate::approval::device::{self, Device};

    struct Fixture {
        _directory: tempfile::TempDir,
        store: Store,
    }

    impl Fixture {
        async fn with(names: &[&str]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(directory.path()).unwrap();
            let fixture = Self { _directory: directory, store };
            for (n, name) in (1..).zip(names) {
                fixture.add(n, name).await.unwrap();
            }
            fixture
        }

        async fn add(&self, key: u8, name: &str) -> Result<(), DeviceError> {
            let device = Device {
                key: PublicKey([key; 32]),
                seal: SealKey([key; 32]),
                name: name.into(),
                software: false,
                login: None,
                version: VERSION,
            };
            device::register(&self.store, device).await
        }

        async fn names(&self) -> Vec<(String, bool)> {
            let listed = list(&self.store).await.unwrap();
            listed.into_iter().map(|device| (device.name, device.revoked_at.is_some())).collect()
        }

        async fn events(&self) -> Vec<String> {
            let read = self.store.read(|db| {
                let mut rows = db.prepare("SELECT actor || ' ' || event FROM audit ORDER BY seq")?;
                let rows = rows.query_map([], |row| row.get(0))?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            });
            read.await.unwrap()
        }
    }

    #[tokio::test]
    async fn a_name_is_one_devices_until_it_is_revoked() {
        let fixture = Fixture::with(&["Kitchen", "Hall"]).await;
        assert!(
            matches!(fixture.add(3, "kitchen").await, Err(DeviceError::Taken(name)) if name == "Kitchen")
        );
        let taken = rename(&fixture.store, "Hall", "KITCHEN", "operator").await;
        assert!(matches!(taken, Err(DeviceError::Taken(_))), "{taken:?}");
        rename(&fixture.store, "Kitchen", "kitchen", "operator").await.unwrap();
        revoke(&fixture.store, "kitchen", "operator").await.unwrap();
        fixture.add(3, "Kitchen").await.unwrap();
        let expected = [("Hall", false), ("Kitchen", false), ("kitchen", true)];
        assert_eq!(fixture.names().await, expected.map(|(name, revoked)| (name.to_owned(), revoked)));
        let expected = ["device.added", "device.added", "device.renamed", "device.revoked", "device.added"]
            .map(|e| format!("operator {e}"));
        assert_eq!(fixture.events().await, expected);
    }

    #[tokio::test]
    async fn what_cannot_be_read_back_is_no_name() {
        let fixture = Fixture::with(&[]).await;
        let long = "x".repeat(41);
        for name in
            ["", " ", " a", "a ", "a  b", "a\nb", "a\u{202e}b", "a\u{200b}", "a\u{7f}", "a\u{a0}b", &long]
        {
            assert!(matches!(fixture.add(1, name).await, Err(DeviceError::Name(_))), "{name:?}");
        }
        assert!(matches!(fixture.add(1, "0123456789ABCDEF").await, Err(DeviceError::LikeAKey(_))));
        for (key, name) in (1..).zip(["k", "Küche, oben (2)", "厨房", &long[..40]]) {
            fixture.add(key, name).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_device_is_found_by_its_name_and_by_its_key_and_only_while_it_may_decide() {
        let fixture = Fixture::with(&["hall"]).await;
        let short = list(&fixture.store).await.unwrap()[0].short();
        assert_eq!(rename(&fixture.store, &short, "porch", "operator").await.unwrap().name, "porch");
        let missing = revoke(&fixture.store, "hall", "operator").await;
        assert!(matches!(missing, Err(DeviceError::Missing(_))), "{missing:?}");
        revoke(&fixture.store, &short.to_uppercase(), "operator").await.unwrap();
        for which in ["porch", short.as_str()] {
            let again = revoke(&fixture.store, which, "operator").await;
            assert!(matches!(again, Err(DeviceError::Revoked(_))), "{again:?}");
        }
        assert!(matches!(fixture.add(1, "other").await, Err(DeviceError::Known)), "its key stays known");
    }

    #[tokio::test]
    async fn the_register_is_bounded_and_a_revoked_device_makes_room() {
        let fixture = Fixture::with(&[]).await;
        let most = u8::try_from(MAX_DEVICES).unwrap();
        for n in 0..most {
            fixture.add(n, &format!("device {n}")).await.unwrap();
        }
        assert!(matches!(fixture.add(most, "one more").await, Err(DeviceError::Full)));
        revoke(&fixture.store, "device 0", "operator").await.unwrap();
        fixture.add(most, "one more").await.unwrap();
    }
}
