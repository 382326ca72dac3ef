//! A house for tests: devices that decide on messages that are held.

use ed25519_dalek::SigningKey;
use gatepost_link::{
    Digest,
    decision::{PublicKey, Statement, Verdict},
    seal::SealKey,
    session::SessionHash,
};
use rusqlite::Transaction;

use super::{
    Approvals, HoldError, Terms,
    decide::{DecisionError, Outcome},
    device::{self, Device},
};
use crate::{
    message::state::State,
    outbox::{
        Outbox,
        accept::{Accepted, NewMessage},
        row::MessageRow,
        transition::NewPart,
    },
    store::{Store, StoreError},
};

pub(super) const HUB: PublicKey = PublicKey([1; 32]);
pub(super) const SESSION: SessionHash = SessionHash([5; 32]);

fn key(n: u8) -> SigningKey {
    SigningKey::from_bytes(&[n; 32])
}

/// The public key of device `n`.
pub(super) fn public(n: u8) -> PublicKey {
    PublicKey(key(n).verifying_key().to_bytes())
}

pub(super) struct House {
    directory: tempfile::TempDir,
    pub(super) outbox: Outbox,
    pub(super) approvals: Approvals,
    pub(super) messages: Vec<String>,
}

impl House {
    /// Devices of these numbers and names, who decide on these terms.
    pub(super) async fn with(devices: &[(u8, &str)], terms: Terms) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let approvals = Approvals::new(outbox.clone(), HUB, false).on(terms);
        for &(n, name) in devices {
            let device = Device {
                key: public(n),
                seal: SealKey([n; 32]),
                name: name.into(),
                software: false,
                login: None,
                version: 3,
            };
            device::register(outbox.store(), device).await.unwrap();
        }
        Self { directory, outbox, approvals, messages: vec![] }
    }

    /// The same after a restart, on these terms.
    pub(super) async fn restarted(self, terms: Terms) -> Self {
        let Self { directory, outbox, approvals, messages } = self;
        outbox.store().close();
        drop((outbox, approvals));
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let approvals = Approvals::new(outbox.clone(), HUB, false).on(terms);
        Self { directory, outbox, approvals, messages }
    }

    /// Holds a message of two parts; its number.
    pub(super) async fn hold(&mut self, text: &str) -> i64 {
        let Accepted::New(seq) = self.outbox.accept(NewMessage::example(text)).await.unwrap() else {
            panic!("it is new")
        };
        let part = |n: u32| NewPart {
            key: format!("{text} {n}"),
            shown: format!("{text} {n}"),
            wire: format!("{{\"text\":\"{text} {n}\"}}"),
            route: None,
        };
        let (parts, terms) = ([part(1), part(2)], self.approvals.terms());
        let held = self.outbox.change(seq, move |tx| {
            match super::hold(tx, &MessageRow::get(tx, seq)?, &parts, "it crosses", terms) {
                Err(HoldError::Transition(error)) => Err(error),
                held => Ok(held.unwrap()),
            }
        });
        self.messages.push(held.await.unwrap().id);
        seq
    }

    /// Device `n` decides on the message numbered `seq`.
    pub(super) async fn decide_as(
        &self,
        n: u8,
        seq: i64,
        verdict: Verdict,
        counter: u64,
    ) -> Result<Outcome, DecisionError> {
        let sql = "SELECT request, document FROM approvals WHERE message = ?";
        let found = move |tx: &Transaction<'_>| {
            Ok(tx.query_row(sql, [seq], |row| Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, Vec<u8>>(1)?)))?)
        };
        let (request, document) = self.write(found).await;
        let statement = Statement {
            hub: HUB,
            device: public(n),
            request: gatepost_link::RequestId(request),
            document: Digest::of(&document),
            verdict,
            counter,
            session: SESSION,
        };
        self.approvals.decide(public(n), SESSION, statement.sign(&key(n))).await
    }

    pub(super) async fn state(&self, seq: i64) -> State {
        self.outbox.get(seq).await.unwrap().state
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.outbox.store().write(work).await.unwrap()
    }

    pub(super) async fn tamper(&self, sql: &'static str) {
        self.write(move |tx| Ok(tx.execute_batch(sql)?)).await;
    }

    /// The audit's rows with this event, as their actors and details.
    pub(super) async fn audit(&self, event: &'static str) -> Vec<(String, serde_json::Value)> {
        let sql = "SELECT actor, detail FROM audit WHERE event = ? ORDER BY seq";
        self.write(move |tx| {
            let mut rows = tx.prepare(sql)?;
            let rows = rows.query_map([event], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
            let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
            Ok(rows
                .into_iter()
                .map(|(actor, detail)| (actor, serde_json::from_str(&detail).unwrap()))
                .collect())
        })
        .await
    }
}
