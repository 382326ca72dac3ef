//! The devices from which a decision is accepted.

use gatepost_link::decision::PublicKey;
use rusqlite::params;
use serde_json::json;

use super::registry::{self, DeviceError};
use crate::{
    audit::{self, Entry},
    store::{Store, StoreError, now_ms},
};

/// A registered companion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its public key: who it is.
    pub key: PublicKey,
    /// What people call it.
    pub name: String,
    /// Whether it is a program and not a device with buttons of its own.
    pub software: bool,
}

/// Registers a companion. Its name and its key must be its own.
pub async fn register(store: &Store, device: Device) -> Result<(), DeviceError> {
    store
        .write(move |tx| {
            registry::admit(tx, device.key, &device.name)?;
            tx.execute(
                "INSERT INTO devices (key, name, software, added_at) VALUES (?, ?, ?, ?)",
                params![device.key.0, device.name, device.software, now_ms()],
            )?;
            let key = crate::random::to_hex(&device.key.0);
            let detail = json!({"name": device.name, "software": device.software, "key": key});
            audit::append(tx, &Entry { actor: "operator", event: "device.added", message: None, detail })?;
            Ok(())
        })
        .await
}

/// The companions that may decide: not revoked, and programs only if `software`.
pub async fn accepted(store: &Store, software: bool) -> Result<Vec<Device>, StoreError> {
    store
        .read(move |db| {
            let mut rows = db.prepare(
                "SELECT key, name, software FROM devices
                 WHERE revoked_at IS NULL AND (?1 OR NOT software) ORDER BY added_at",
            )?;
            let rows = rows.query_map([software], |row| {
                Ok(Device { key: PublicKey(row.get(0)?), name: row.get(1)?, software: row.get(2)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
}
