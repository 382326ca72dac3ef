//! The devices from which a decision is accepted.

use gatepost_link::{Digest, decision::PublicKey, seal::SealKey};
use rusqlite::params;
use serde_json::json;

use super::registry::{self, DeviceError};
use crate::{
    audit::{self, Entry, Event},
    store::{Store, StoreError, now_ms},
};

/// A registered companion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its public key: who it is.
    pub key: PublicKey,
    /// Its key for sealed sessions.
    pub seal: SealKey,
    /// What people call it.
    pub name: String,
    /// Whether it is a program and not a device with buttons of its own.
    pub software: bool,
    /// SHA-256 of its own password at the embedded broker; none where somebody else gives it one.
    pub login: Option<Digest>,
    /// The highest version of the link that it has spoken: none below is taken from it any more.
    pub version: u8,
}

/// Registers a companion. Its name and its key must be its own.
pub async fn register(store: &Store, device: Device) -> Result<(), DeviceError> {
    store
        .write(move |tx| {
            registry::admit(tx, device.key, &device.name)?;
            tx.execute(
                "INSERT INTO devices (key, name, software, added_at, seal, login, version)
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    device.key.0,
                    device.name,
                    device.software,
                    now_ms(),
                    device.seal.0,
                    device.login.map(|login| login.0),
                    device.version
                ],
            )?;
            let key = crate::random::to_hex(&device.key.0);
            let detail = json!({"name": device.name, "software": device.software, "key": key});
            audit::append(
                tx,
                &Entry { actor: "operator", event: Event::DeviceAdded, message: None, detail },
            )?;
            Ok(())
        })
        .await
}

/// The companions that may decide: not revoked, and programs only if `software`. One from before the link was sealed must
/// be paired.
pub async fn accepted(store: &Store, software: bool) -> Result<Vec<Device>, StoreError> {
    store
        .read(move |db| {
            let mut rows = db.prepare(
                "SELECT key, name, software, seal, login, version FROM devices
                 WHERE revoked_at IS NULL AND seal IS NOT NULL AND (?1 OR NOT software) ORDER BY added_at",
            )?;
            let rows = rows.query_map([software], |row| {
                Ok(Device {
                    key: PublicKey(row.get(0)?),
                    name: row.get(1)?,
                    software: row.get(2)?,
                    seal: SealKey(row.get(3)?),
                    login: row.get::<_, Option<[u8; 32]>>(4)?.map(Digest),
                    version: row.get(5)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
}

/// Notes that a companion has spoken this version of the link.
pub async fn spoke(store: &Store, key: PublicKey, version: u8) -> Result<(), StoreError> {
    store
        .write(move |tx| {
            let sql = "UPDATE devices SET version = ?1 WHERE key = ?2 AND version < ?1";
            tx.execute(sql, params![version, key.0])?;
            Ok(())
        })
        .await
}
