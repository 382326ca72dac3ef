//! Which companions are here. Said by the broker and by them, so nothing is decided by it.
//!
//! A companion that is here can be asked only if its display works, which it says itself, sealed: what nobody can read,
//! nobody can decide ([`Ability`]).
//!
//! What changes is written down now and then and not at once: whoever is on the broker can say that a companion comes and
//! goes, as often as they like.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gatepost_link::{RequestId, decision::PublicKey};
use tokio::sync::watch;

use crate::store::now_ms;

/// A handle on who is here. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Presence {
    here: Arc<Mutex<HashMap<PublicKey, Here>>>,
    broker: Arc<Mutex<Broker>>,
    changed: watch::Sender<()>,
}

/// Whether the hub has its broker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Broker {
    /// Whether it is connected.
    pub connected: bool,
    /// Why not, and what to do about it, if that is known.
    pub error: Option<String>,
}

/// Whether somebody can be asked at a companion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// It is here, and its display works.
    Able,
    /// It is not connected.
    Away,
    /// It is connected, and its display does not answer.
    DisplayOut,
    /// It is connected, and has not said in its session that its display works: the session has hardly begun, or its firmware is too
    /// old to say so.
    Silent,
}

#[derive(Debug, Clone, Copy, Default)]
struct Here {
    online: bool,
    /// Whether its display works, if the companion has said so in its present session.
    display: Option<bool>,
    /// Whether the news that its display is out was given last.
    told_out: bool,
    /// When it last came or went, in milliseconds since 1970.
    seen_at: Option<i64>,
    unsaved: bool,
    /// The request whose document it has fetched to its end, last in its present session.
    fetched: Option<RequestId>,
}

impl Here {
    fn ability(&self) -> Ability {
        match (self.online, self.display) {
            (false, _) => Ability::Away,
            (true, Some(true)) => Ability::Able,
            (true, Some(false)) => Ability::DisplayOut,
            (true, None) => Ability::Silent,
        }
    }
}

impl Presence {
    /// Companions that may decide.
    pub fn registered(&self) -> u64 {
        self.all().len() as u64
    }

    /// Companions that are connected.
    pub fn online(&self) -> u64 {
        self.all().values().filter(|here| here.online).count() as u64
    }

    /// Whether a companion is connected.
    pub fn is_online(&self, device: PublicKey) -> bool {
        self.all().get(&device).is_some_and(|here| here.online)
    }

    /// Whether somebody can be asked at a companion. Nobody can at one that may not decide.
    pub fn ability(&self, device: PublicKey) -> Ability {
        self.all().get(&device).map_or(Ability::Away, Here::ability)
    }

    /// Companions at which somebody can be asked.
    pub fn able(&self) -> u64 {
        self.all().values().filter(|here| here.ability() == Ability::Able).count() as u64
    }

    /// When a companion last came or went since the hub started, in milliseconds since 1970.
    pub fn seen_at(&self, device: PublicKey) -> Option<i64> {
        self.all().get(&device).and_then(|here| here.seen_at)
    }

    /// Whether the hub has its broker, where all of them meet.
    pub fn broker(&self) -> Broker {
        self.broker.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The broker is here, or of no use for this reason. Said in the log once, and not with every attempt of a night.
    pub(crate) fn broker_is(&self, away: Option<String>) {
        let now = Broker { connected: away.is_none(), error: away };
        let mut known = self.broker.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == now {
            return;
        }
        match &now.error {
            None => tracing::info!("the MQTT broker is here"),
            Some(why) => tracing::warn!(why, "the MQTT broker is away"),
        }
        *known = now;
    }

    /// Tells of who comes, goes, may decide or may not any more.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// A companion may decide from now on, or has another name; it is not here yet, unless it was.
    pub(crate) fn expect(&self, device: PublicKey) {
        self.all().entry(device).or_default();
        self.changed.send_replace(());
    }

    /// A companion may not decide any more.
    pub(crate) fn forget(&self, device: PublicKey) {
        self.all().remove(&device);
        self.changed.send_replace(());
    }

    /// A companion came, or went.
    pub(crate) fn note(&self, device: PublicKey, online: bool) {
        if let Some(here) = self.all().get_mut(&device)
            && here.online != online
        {
            *here = Here { online, seen_at: Some(now_ms()), unsaved: true, fetched: None, ..*here };
            self.changed.send_replace(());
        }
    }

    /// A session with a companion begins: what it said of its display before is void.
    pub(crate) fn session(&self, device: PublicKey) {
        if let Some(here) = self.all().get_mut(&device) {
            here.display = None;
        }
    }

    /// What a companion has fetched to its end, last in its present session.
    pub(crate) fn fetched(&self, device: PublicKey, request: Option<RequestId>) {
        if let Some(here) = self.all().get_mut(&device) {
            here.fetched = request;
        }
    }

    /// The request whose document a companion that is here has, and whose card it shows as long as that waits.
    pub fn has(&self, device: PublicKey) -> Option<RequestId> {
        self.all().get(&device).and_then(|here| here.fetched.filter(|_| here.online))
    }

    /// Whether a companion's display works; whether people should know: it is out, or works again.
    pub(crate) fn display(&self, device: PublicKey, works: bool) -> bool {
        let mut all = self.all();
        let Some(here) = all.get_mut(&device) else { return false };
        here.display = Some(works);
        std::mem::replace(&mut here.told_out, !works) == works
    }

    /// Nobody can be heard.
    pub(crate) fn all_gone(&self) {
        let here: Vec<PublicKey> = self.all().keys().copied().collect();
        here.into_iter().for_each(|device| self.note(device, false));
    }

    /// Who came or went since this was last asked, and when.
    pub(crate) fn take_unsaved(&self) -> Vec<(PublicKey, i64)> {
        let mut all = self.all();
        let unsaved = all.iter_mut().filter_map(|(device, here)| {
            let changed = std::mem::take(&mut here.unsaved);
            here.seen_at.filter(|_| changed).map(|at| (*device, at))
        });
        unsaved.collect()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<PublicKey, Here>> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOBS: PublicKey = PublicKey([1; 32]);
    const STRANGER: PublicKey = PublicKey([2; 32]);

    #[test]
    fn only_who_may_decide_is_here_and_a_change_is_to_be_written_down_once() {
        let presence = Presence::default();
        presence.expect(BLOBS);
        assert_eq!((presence.registered(), presence.online(), presence.seen_at(BLOBS)), (1, 0, None));
        presence.note(STRANGER, true);
        assert!(!presence.is_online(STRANGER));
        for online in [true, true, false, true] {
            presence.note(BLOBS, online);
        }
        assert_eq!((presence.online(), presence.is_online(BLOBS)), (1, true));
        let unsaved = presence.take_unsaved();
        assert_eq!(unsaved, [(BLOBS, presence.seen_at(BLOBS).unwrap())]);
        assert!(presence.take_unsaved().is_empty());
        presence.note(BLOBS, true);
        assert!(presence.take_unsaved().is_empty(), "nothing has changed");
        presence.all_gone();
        assert_eq!((presence.registered(), presence.online(), presence.take_unsaved().len()), (1, 0, 1));
        presence.forget(BLOBS);
        assert_eq!(presence.registered(), 0);
    }

    #[test]
    fn nobody_can_be_asked_at_a_display_that_is_out() {
        let presence = Presence::default();
        presence.expect(BLOBS);
        assert_eq!((presence.ability(BLOBS), presence.ability(STRANGER)), (Ability::Away, Ability::Away));
        presence.note(BLOBS, true);
        assert_eq!((presence.ability(BLOBS), presence.able()), (Ability::Silent, 0), "it has not said yet");
        assert!(!presence.display(BLOBS, true), "as it should be");
        assert_eq!((presence.ability(BLOBS), presence.able()), (Ability::Able, 1));
        assert!(presence.display(BLOBS, false) && !presence.display(BLOBS, false), "news once");
        assert_eq!(
            (presence.ability(BLOBS), presence.able(), presence.online()),
            (Ability::DisplayOut, 0, 1)
        );
        presence.note(BLOBS, false);
        presence.note(BLOBS, true);
        assert_eq!(presence.ability(BLOBS), Ability::DisplayOut, "until it says otherwise");
        assert!(presence.display(BLOBS, true));
        assert_eq!(presence.able(), 1);
        assert!(!presence.display(STRANGER, false));
        presence.session(BLOBS);
        assert_eq!(
            (presence.ability(BLOBS), presence.able()),
            (Ability::Silent, 0),
            "what it said before is void"
        );
    }
}
