//! A hub for tests: devices that decide on messages that are held.

use ed25519_dalek::SigningKey;
use gatepost_link::{
    Digest,
    decision::{PublicKey, Statement, Verdict},
    envelope::VERSION,
    seal::SealKey,
    session::SessionHash,
};
use rusqlite::Transaction;

use super::{
    Approvals, Holding, Terms,
    decide::{DecisionError, Outcome},
    device::{self, Device},
};
use crate::{
    message::{
        state::{Actor, Event, State},
        target::Target,
    },
    outbox::{
        Outbox,
        accept::Accepted,
        new_message::NewMessage,
        row::MessageRow,
        transition::{self, Change, NewPart},
    },
    policy::Deciders,
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

pub(super) struct Fixture {
    directory: tempfile::TempDir,
    pub(super) outbox: Outbox,
    pub(super) approvals: Approvals,
    pub(super) messages: Vec<String>,
    /// Who decides on what is held.
    pub(super) by: Deciders,
}

impl Fixture {
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
                version: VERSION,
            };
            device::register(outbox.store(), device).await.unwrap();
        }
        Self { directory, outbox, approvals, messages: vec![], by: Deciders::Any }
    }

    /// The same after a restart, on these terms.
    pub(super) async fn restarted(self, terms: Terms) -> Self {
        let Self { directory, outbox, approvals, messages, by } = self;
        outbox.store().close();
        drop((outbox, approvals));
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let approvals = Approvals::new(outbox.clone(), HUB, false).on(terms);
        Self { directory, outbox, approvals, messages, by }
    }

    /// Holds a message of two parts; its number.
    pub(super) async fn hold(&mut self, text: &str) -> i64 {
        let Accepted::New(seq) = self.outbox.accept(NewMessage::example(text)).await.unwrap() else {
            panic!("it is new")
        };
        let part = |n: u32| NewPart {
            key: format!("{text} {n}"),
            shown: format!("{text} {n}"),
            request: format!("{{\"text\":\"{text} {n}\"}}"),
            route: None,
        };
        let (parts, terms, by) = ([part(1), part(2)], self.approvals.terms(), self.by);
        let held = self.outbox.change(seq, move |tx| {
            let message = MessageRow::get(tx, seq)?;
            let holding = Holding { message: &message, parts: &parts, reason: "it crosses", by };
            Ok(super::hold(tx, &[holding], terms)?.remove(0).unwrap())
        });
        self.messages.push(held.await.unwrap().id);
        seq
    }

    /// Holds a message to each of these addresses together; their numbers. One whose address begins so was written otherwise.
    pub(super) async fn hold_together(&mut self, to: &[&str], text: &str) -> Vec<i64> {
        let new = |to: &&str| {
            let address = to.strip_prefix("written:").unwrap_or(to).to_owned();
            let written_as = to.strip_prefix("written:").map(|_| (*to).to_owned());
            let target = Target { address, ..NewMessage::example("").target };
            NewMessage { target, written_as, ..NewMessage::example(text) }
        };
        let (terms, by) = (self.approvals.terms(), self.by);
        let held = self.outbox.accept_all_and(to.iter().map(new).collect(), move |tx, rows| {
            let parts = |row: &MessageRow| {
                let request = format!("{{\"to\":\"{}\",\"text\":\"{}\"}}", row.address, row.text);
                [NewPart { key: row.id.clone(), shown: row.text.clone(), request, route: None }]
            };
            let parts: Vec<_> = rows.iter().map(parts).collect();
            let holding = move |(message, parts)| -> Holding<'_> {
                let (message, parts): (&MessageRow, &[NewPart; 1]) = (message, parts);
                Holding { message, parts, reason: "it crosses", by }
            };
            let all: Vec<Holding<'_>> = rows.iter().zip(&parts).map(holding).collect();
            Ok(super::hold(tx, &all, terms)?.into_iter().map(|held| held.unwrap().seq).collect())
        });
        let held = held.await.unwrap().into_iter().map(|held| match held.unwrap() {
            Accepted::New(seq) => seq,
            _ => panic!("it is new"),
        });
        held.collect()
    }

    /// Ends a message.
    pub(super) async fn end(&self, seq: i64, event: Event, actor: Actor) {
        let change = Change { event, actor, by: "test", code: None, reason: None, facts: None };
        self.outbox.change(seq, move |tx| transition::apply(tx, seq, &change)).await.unwrap();
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
