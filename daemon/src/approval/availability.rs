//! Who can be asked now, and if too few can: why.
//!
//! A caller was once told that a person is being asked while no companion was paired, or none was there. What is said of
//! a held message comes from here, and so does what is said of each companion. It is for people's eyes: presence is what
//! the broker says, and no decision is taken or refused by it. Companions are counted and never named, because agents
//! read it too.

use std::{collections::BTreeMap, fmt};

use gatepost_link::{decision::PublicKey, envelope::VERSION};
use rusqlite::{Connection, OptionalExtension as _};

use super::{
    Approvals,
    firmware::is_outdated,
    passkeys,
    presence::Ability,
    registry::{self, Registered},
};
use crate::{
    message::{
        receipt::{Asked, Receipt},
        state::State,
    },
    policy::Deciders,
    store::StoreError,
};

/// Why a companion cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unable {
    /// It is software, and the configuration does not take decisions of software.
    Software,
    /// It was registered before the link was sealed, and must be paired anew.
    Unsealed,
    /// It is not connected.
    Offline,
    /// It is connected, and its display does not answer: nobody can read there.
    DisplayOut,
    /// It is connected, and its firmware is too old to say whether its display works.
    Firmware,
    /// It is connected, and has not said yet whether its display works.
    Silent,
}

impl Unable {
    /// The same of so many companions, after their number.
    fn of(self, count: usize) -> String {
        let are = if count == 1 { "is" } else { "are" };
        match self {
            Self::Software => {
                format!("{count} {are} software while [approval] allow_software_companion is off")
            }
            Self::Unsealed => format!("{count} must be paired anew"),
            Self::Offline => format!("{count} {are} not connected"),
            Self::DisplayOut if count == 1 => "1 has a display that does not answer".into(),
            Self::DisplayOut => format!("{count} have displays that do not answer"),
            Self::Firmware if count == 1 => "1 has firmware that is too old: update it".into(),
            Self::Firmware => format!("{count} have firmware that is too old: update it"),
            Self::Silent if count == 1 => "1 has not said yet whether its display works".into(),
            Self::Silent => format!("{count} have not said yet whether their displays work"),
        }
    }
}

/// Of one companion, in its row of a listing.
impl fmt::Display for Unable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Software => "not allowed: it is software, and [approval] allow_software_companion is off",
            Self::Unsealed => "it must be paired anew",
            Self::Offline => "it is not connected",
            Self::DisplayOut => "its display does not answer",
            Self::Firmware => {
                "its firmware is too old: update it by cable (firmware/README.md); its pairing stays"
            }
            Self::Silent => {
                "it has not said yet whether its display works; if that stays so, update its firmware"
            }
        })
    }
}

impl Approvals {
    /// Why this companion cannot be asked now; [`None`] if it can.
    pub fn unable(&self, device: &Registered) -> Option<Unable> {
        if device.software && !self.who.software {
            Some(Unable::Software)
        } else if !device.sealed {
            Some(Unable::Unsealed)
        } else {
            match self.presence.ability(device.key) {
                Ability::Able => None,
                Ability::Away => Some(Unable::Offline),
                Ability::DisplayOut => Some(Unable::DisplayOut),
                Ability::Silent if is_outdated(device.version) => Some(Unable::Firmware),
                Ability::Silent => Some(Unable::Silent),
            }
        }
    }

    /// Who can be asked now about a message that is held; [`None`] of any other.
    pub(crate) fn asked_about(&self, db: &Connection, id: &str) -> Result<Option<Asked>, StoreError> {
        let held = "SELECT request, quorum, decided_by FROM approvals JOIN messages ON seq = message
                    WHERE id = ? AND state = 'held' AND decided_at IS NULL";
        let held = db.prepare_cached(held)?.query_row([id], |row| {
            let by: String = row.get(2)?;
            Ok((row.get(0)?, row.get(1)?, Deciders::from_word(&by).unwrap_or(Deciders::Both)))
        });
        let Some((request, quorum, by)): Option<([u8; 16], u32, _)> = held.optional()? else {
            return Ok(None);
        };
        let mut votes = db.prepare_cached("SELECT device FROM votes WHERE request = ?")?;
        let votes = votes.query_map([request], |row| Ok(PublicKey(row.get(0)?)))?;
        self.who(db, quorum, by, &votes.collect::<Result<Vec<_>, _>>()?).map(Some)
    }

    fn who(
        &self,
        db: &Connection,
        quorum: u32,
        by: Deciders,
        voted: &[PublicKey],
    ) -> Result<Asked, StoreError> {
        let devices = if by.take(false) { registry::all(db)? } else { vec![] };
        let devices: Vec<&Registered> = devices.iter().filter(|device| device.revoked_at.is_none()).collect();
        // The word of software counts as long as software may decide.
        let counts =
            |device: &&&Registered| voted.contains(&device.key) && (self.who.software || !device.software);
        let passkeys = if self.who.web && by.take(true) { passkeys::standing(db)? } else { vec![] };
        let (signed, unused): (Vec<_>, Vec<_>) =
            passkeys.iter().partition(|passkey| voted.contains(&PublicKey(passkey.id)));
        let given = u32::try_from(devices.iter().filter(counts).count() + signed.len()).unwrap_or(u32::MAX);
        let rest = devices.iter().filter(|device| !voted.contains(&device.key));
        // The page is always there.
        let mut able = u32::try_from(unused.len()).unwrap_or(u32::MAX);
        let mut unable = BTreeMap::<Unable, usize>::new();
        for device in rest {
            match self.unable(device) {
                None => able += 1,
                Some(why) => *unable.entry(why).or_default() += 1,
            }
        }
        let needed = quorum.saturating_sub(given).max(1);
        let companions = able > u32::try_from(unused.len()).unwrap_or(u32::MAX)
            || devices.iter().any(|device| counts(&device));
        let problem = match by.have(companions, !passkeys.is_empty()) {
            true if by == Deciders::Web => {
                (able < needed).then(|| format!("{able} of {needed} passkeys that must approve are there"))
            }
            true => (able < needed).then(|| problem(needed, able, devices.len(), &unable)),
            false if !companions && by.take(false) => Some(problem(needed, 0, devices.len(), &unable)),
            false => Some("a passkey must approve, and none is added".into()),
        };
        Ok(Asked { needed, able, problem })
    }

    /// A receipt that says of a held message who can be asked about it.
    pub(crate) fn explain(&self, receipt: Receipt) -> Result<Receipt, StoreError> {
        if receipt.state != State::Held {
            return Ok(receipt);
        }
        let asked = self.outbox.store().look(|db| self.asked_about(db, &receipt.id.0))?;
        Ok(receipt.asked(asked))
    }
}

/// How many companions are paired, of both kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paired {
    /// Devices with buttons of their own.
    pub devices: usize,
    /// Programs.
    pub software: usize,
    /// Those of both kinds whose firmware was too old for this hub when they were last here.
    pub outdated: usize,
    /// Passkeys that stand.
    pub passkeys: usize,
}

impl Paired {
    /// As it stands in the register.
    pub fn read(db: &Connection) -> Result<Self, StoreError> {
        let sql = "SELECT coalesce(sum(NOT software), 0), coalesce(sum(software), 0),
                   coalesce(sum(seal IS NOT NULL AND version < ?), 0) FROM devices WHERE revoked_at IS NULL";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (devices, software, outdated): (i64, i64, i64) = db.query_row(sql, [VERSION], read)?;
        let number = |count| usize::try_from(count).unwrap_or(0);
        let (devices, software, outdated) = (number(devices), number(software), number(outdated));
        // A database of an earlier program has no place for them.
        let passkeys = if db.table_exists(None, "passkeys")? { passkeys::standing(db)?.len() } else { 0 };
        Ok(Self { devices, software, outdated, passkeys })
    }

    /// What is wrong with these where so many must approve, and what to do; nothing if they can.
    pub fn warnings(self, software_allowed: bool, web_allowed: bool, quorum: u32) -> Vec<String> {
        let Self { devices, software, outdated, passkeys } = self;
        let mut warnings = vec![];
        if outdated > 0 {
            let (number, their) = if outdated == 1 {
                ("1 companion that is paired has", "its")
            } else {
                ("some companions that are paired have", "their")
            };
            warnings.push(format!(
                "approval: {number} firmware that is too old for this hub, as far as the hub knows: nobody is asked there until it is \
                 updated by cable (firmware/README.md); {their} pairing stays (gatepost companion list)"
            ));
        }
        if software > 0 && !software_allowed {
            let (number, are) =
                if software == 1 { ("1 companion", "is") } else { ("some companions", "are") };
            warnings.push(format!(
                "approval.allow_software_companion: {number} that {are} paired {are} software, and decisions of software are \
                 not taken while this is off: set it to true, or revoke what is not wanted (gatepost companion list)"
            ));
        }
        let passkeys = if web_allowed { passkeys } else { 0 };
        let deciding = devices + passkeys + if software_allowed { software } else { 0 };
        if deciding == 0 {
            warnings.push(
                "approval: no companion is paired that may decide, so every message that needs a person will expire: pair \
                 one (gatepost companion pair)"
                    .into(),
            );
        } else if deciding < quorum as usize {
            let deciders = if web_allowed { "companions and passkeys" } else { "companions" };
            warnings.push(format!(
                "approval.quorum: {quorum} must approve, and {deciders} that may: {deciding}; what is held will expire"
            ));
        }
        warnings
    }
}

fn problem(needed: u32, able: u32, paired: usize, unable: &BTreeMap<Unable, usize>) -> String {
    let mut why: Vec<String> = unable.iter().map(|(why, count)| why.of(*count)).collect();
    match (paired, needed) {
        (0, _) if able == 0 => return "no companion is paired".into(),
        (0, _) => why.push("no companion is paired".into()),
        (_, 1) => {}
        (1, _) => why.insert(0, "1 is paired".into()),
        (_, _) => why.insert(0, format!("{paired} are paired")),
    }
    let why = why.join(", ");
    match (needed, why.is_empty()) {
        // Those that are left have given their word already.
        (1, true) => "1 more companion must approve, and no other is paired".into(),
        (1, false) => format!("no companion can be asked: {why}"),
        (_, _) => format!("{able} of {needed} companions that must approve can be asked: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::decision::Verdict::Approve;

    use crate::{
        approval::{
            Terms, registry,
            testing::{Fixture, public},
        },
        message::receipt::Receipt,
    };

    fn of(quorum: u32) -> Terms {
        Terms { quorum, ..Terms::default() }
    }

    /// What is said of who can be asked about this message.
    async fn told(fixture: &Fixture, seq: i64) -> (u32, u32, Option<String>) {
        let receipt = fixture.outbox.receipt(seq).await.unwrap();
        let asked = fixture.approvals.explain(receipt).unwrap().asked.expect("it is held");
        (asked.needed, asked.able, asked.problem)
    }

    fn here(fixture: &Fixture, n: u8) {
        fixture.approvals.presence().expect(public(n));
        fixture.approvals.presence().note(public(n), true);
        fixture.approvals.presence().display(public(n), true);
    }

    fn problem(words: &str) -> Option<String> {
        Some(words.to_owned())
    }

    #[tokio::test]
    async fn without_a_companion_nobody_can_be_asked() {
        let mut fixture = Fixture::with(&[], of(1)).await;
        let seq = fixture.hold("first").await;
        assert_eq!(told(&fixture, seq).await, (1, 0, problem("no companion is paired")));
        let receipt = fixture.outbox.receipt(seq).await.unwrap();
        let receipt = fixture.approvals.explain(receipt).unwrap();
        let (hint, deadline) = (receipt.hint.clone().unwrap(), receipt.deadline.clone().unwrap());
        assert!(hint.starts_with("nobody can be asked: no companion is paired. It waits until 2"), "{hint}");
        assert!(hint.contains(deadline.split_once('.').unwrap().0), "{hint} {deadline}");
    }

    #[tokio::test]
    async fn a_companion_that_is_away_or_revoked_cannot_be_asked() {
        let mut fixture = Fixture::with(&[(9, "shelf")], of(1)).await;
        let seq = fixture.hold("first").await;
        assert_eq!(
            told(&fixture, seq).await,
            (1, 0, problem("no companion can be asked: 1 is not connected"))
        );
        here(&fixture, 9);
        fixture.approvals.presence().display(public(9), false);
        let why = "no companion can be asked: 1 has a display that does not answer";
        assert_eq!(told(&fixture, seq).await, (1, 0, problem(why)));
        fixture.approvals.presence().session(public(9));
        let why = "no companion can be asked: 1 has not said yet whether its display works";
        assert_eq!(told(&fixture, seq).await, (1, 0, problem(why)));
        fixture.tamper("UPDATE devices SET version = 3").await;
        let why = "no companion can be asked: 1 has firmware that is too old: update it";
        assert_eq!(told(&fixture, seq).await, (1, 0, problem(why)));
        fixture.tamper("UPDATE devices SET version = 4").await;
        fixture.approvals.presence().display(public(9), true);
        assert_eq!(told(&fixture, seq).await, (1, 1, None));
        let receipt = fixture.outbox.receipt(seq).await.unwrap();
        let hint = fixture.approvals.explain(receipt).unwrap().hint.unwrap();
        assert!(hint.starts_with("a person is being asked"), "{hint}");
        registry::revoke(fixture.outbox.store(), "shelf", "operator").await.unwrap();
        assert_eq!(told(&fixture, seq).await, (1, 0, problem("no companion is paired")));
    }

    #[tokio::test]
    async fn software_that_may_not_decide_cannot_be_asked() {
        let mut fixture = Fixture::with(&[(9, "shelf")], of(1)).await;
        let seq = fixture.hold("first").await;
        here(&fixture, 9);
        fixture.tamper("UPDATE devices SET software = 1").await;
        let why = "no companion can be asked: 1 is software while [approval] allow_software_companion is off";
        assert_eq!(told(&fixture, seq).await, (1, 0, problem(why)));
    }

    #[tokio::test]
    async fn fewer_than_the_quorum_are_too_few_and_who_has_approved_need_not_be_there() {
        let mut fixture = Fixture::with(&[(7, "hall"), (8, "kitchen")], of(2)).await;
        let seq = fixture.hold("first").await;
        here(&fixture, 7);
        let why = "1 of 2 companions that must approve can be asked: 2 are paired, 1 is not connected";
        assert_eq!(told(&fixture, seq).await, (2, 1, problem(why)));
        fixture.decide_as(7, seq, Approve, 1).await.unwrap();
        fixture.approvals.presence().note(public(7), false);
        let why = "no companion can be asked: 1 is not connected";
        assert_eq!(told(&fixture, seq).await, (1, 0, problem(why)));
        here(&fixture, 8);
        assert_eq!(told(&fixture, seq).await, (1, 1, None));
        registry::revoke(fixture.outbox.store(), "kitchen", "operator").await.unwrap();
        let why = "1 more companion must approve, and no other is paired";
        assert_eq!(told(&fixture, seq).await, (1, 0, problem(why)));
        let mut one = Fixture::with(&[(7, "hall")], of(2)).await;
        here(&one, 7);
        let seq = one.hold("first").await;
        let why = "1 of 2 companions that must approve can be asked: 1 is paired";
        assert_eq!(told(&one, seq).await, (2, 1, problem(why)));
    }

    #[tokio::test]
    async fn a_held_message_names_the_deadline_of_its_approval_and_not_its_own() {
        let mut fixture = Fixture::with(&[], of(1)).await;
        let seq = fixture.hold("first").await;
        let deadline = fixture.approvals.waiting().await.unwrap()[0].deadline;
        let receipt: Receipt = fixture.outbox.receipt(seq).await.unwrap();
        assert_eq!(receipt.deadline, Some(crate::clock::rfc3339(deadline)));
        assert!(deadline < fixture.outbox.get(seq).await.unwrap().deadline);
    }
}
