//! Who gets a release, and when. Pure: facts in, a turn for each companion out.
//!
//! One companion goes first. The others follow one after the other once it has proved the release: it has confirmed itself, and then
//! ran without a restart for the soak, or had a card decided. An image that went back on one companion, or was refused by one, goes to
//! no other: firmware that spoils approvers must not spoil all of them in one night.
//!
//! A companion that restarts cannot be asked. So it is offered nothing unless enough others stay to approve; only where no more are
//! paired than must approve, that cannot be, and a person who presses there knows it.

use std::time::Duration;

use gatepost_link::{decision::PublicKey, frame::State};

use super::store::{Firmware, Install, Release, Rollout, Stage};
use crate::heartbeat::schedule::Hours;

/// How long nothing may be heard of a companion that restarts with a release, in milliseconds. It starts the image up to three times, three
/// minutes each, and then what it ran before (`STARTS` and `TRIAL_MS` in `firmware/core`); six minutes more to find its network and its
/// hub.
const SILENCE_MS: i64 = (3 * 3 + 6) * 60_000;

/// When roll-outs go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How long the first companion runs a release before the next one gets it.
    pub soak: Duration,
    /// Within these hours companions are offered releases.
    pub hours: Hours,
}

/// A roll-out, and what it rolls out.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// What somebody said.
    pub rollout: &'a Rollout,
    /// The release.
    pub release: &'a Release,
}

/// A companion that may decide, as far as the policy asks for it.
#[derive(Debug, Clone)]
pub struct Companion {
    /// Its key.
    pub key: PublicKey,
    /// What people call it.
    pub name: String,
    /// Whether somebody can be asked there now.
    pub able: bool,
    /// Whether it can be offered a release: somebody can be asked there, or could be if its firmware were newer.
    pub here: bool,
    /// When it last decided, in milliseconds since 1970.
    pub decided_at: Option<i64>,
    /// What it runs, if it has said so.
    pub firmware: Option<Firmware>,
    /// How far it is with the release that is rolled out to its board.
    pub install: Option<Install>,
}

/// What a companion gets now of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Nothing is rolled out to its board, as far as that is known.
    Nothing,
    /// It runs it, or a later one.
    Has,
    /// It is offered now.
    Offer,
    /// It restarts with it, or has not confirmed itself yet.
    Changing,
    /// It does not get it in this roll-out.
    Ended(Ended),
    /// It does not get it yet.
    Waits(Wait),
}

/// Why a companion does not get a release in this roll-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is not among those that were named.
    NotNamed,
    /// It has no root, and takes no update.
    NoRoot,
    /// The release is below what it still takes.
    BelowFloor,
    /// A person said no there.
    Declined,
    /// It went back there before.
    WentBack,
    /// It did not take it.
    Refused,
}

/// What a companion waits for. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Somebody paused it.
    Paused,
    /// It stopped at the companion of this name.
    Stopped(String),
    /// It stopped: nothing was heard since then of the companion of this name, which restarted with a release.
    Silent(String, i64),
    /// The release has expired.
    Expired,
    /// It is outside of the hours, until then.
    Hours(i64),
    /// The companion of this name is at it.
    Behind(String),
    /// The companion of this name has to prove it, until then at most.
    Soak(String, i64),
    /// Too few could be asked meanwhile: so many others must be there.
    Quorum(u32),
    /// It is not there.
    Away,
}

/// A turn for each of the companions, in their order; `companions` are all that may decide, on whichever board.
pub fn judge(
    plans: &[Plan<'_>],
    companions: &[Companion],
    policy: &Policy,
    quorum: u32,
    now: i64,
) -> Vec<Turn> {
    let plan_of = |companion: &Companion| {
        let board = &companion.firmware.as_ref()?.board;
        plans.iter().find(|plan| plan.rollout.board == *board)
    };
    let mut turns: Vec<Turn> = companions
        .iter()
        .map(|companion| plan_of(companion).map_or(Turn::Nothing, |plan| plan.alone(companion)))
        .collect();
    // Whoever restarts, or may at any moment, is away for the others, on whichever board.
    let mut restarting: Vec<PublicKey> = companions
        .iter()
        .zip(&turns)
        .filter(|(_, turn)| **turn == Turn::Changing)
        .map(|(companion, _)| companion.key)
        .collect();
    for plan in plans {
        let on_board: Vec<usize> = (0..companions.len())
            .filter(|at| plan_of(&companions[*at]).is_some_and(|own| own.rollout.board == plan.rollout.board))
            .collect();
        let next = plan.next(companions, &turns, &on_board);
        let hold = plan.hold(companions, &on_board, policy, now);
        for at in on_board.into_iter().filter(|at| turns[*at] == Turn::Offer).collect::<Vec<_>>() {
            let companion = &companions[at];
            turns[at] = match (&hold, next) {
                (Some(hold), _) => Turn::Waits(hold.clone()),
                (None, Some(next)) if next != at => match companion.here {
                    true => Turn::Waits(Wait::Behind(companions[next].name.clone())),
                    false => Turn::Waits(Wait::Away),
                },
                (None, _) if !companion.here => Turn::Waits(Wait::Away),
                (None, _) => match lacking(companions, companion, &restarting, quorum) {
                    0 => {
                        restarting.push(companion.key);
                        Turn::Offer
                    }
                    _ => Turn::Waits(Wait::Quorum(quorum)),
                },
            };
        }
    }
    turns
}

/// How many others are missing who could be asked while this one restarts.
fn lacking(companions: &[Companion], one: &Companion, restarting: &[PublicKey], quorum: u32) -> usize {
    let quorum = usize::try_from(quorum).unwrap_or(usize::MAX);
    // One that cannot be asked takes nobody away.
    if companions.len() <= quorum || !one.able {
        return 0;
    }
    let stays = |other: &&Companion| other.key != one.key && other.able && !restarting.contains(&other.key);
    quorum.saturating_sub(companions.iter().filter(stays).count())
}

impl Companion {
    /// Since when nothing was heard of it, if it restarted with a release and should have said by now what became of that.
    pub fn silent_since(&self, now: i64) -> Option<i64> {
        let restarts = self.install.as_ref().filter(|install| install.stage == Stage::Installing);
        let on_trial = self.firmware.as_ref().filter(|firmware| matches!(firmware.state, State::Trial(_)));
        let heard = [restarts.map(|install| install.since), on_trial.map(|firmware| firmware.since)];
        heard.into_iter().flatten().max().filter(|since| now.saturating_sub(*since) > SILENCE_MS)
    }

    fn is_under_way(&self) -> bool {
        self.install.as_ref().is_some_and(|install| install.stage.is_under_way())
    }
}

impl Plan<'_> {
    /// What a companion on the board would get if it were alone.
    fn alone(&self, companion: &Companion) -> Turn {
        let Some(firmware) = &companion.firmware else { return Turn::Nothing };
        let stage = companion.install.as_ref().map(|install| install.stage);
        if matches!(firmware.state, State::Trial(_)) || stage == Some(Stage::Installing) {
            return Turn::Changing;
        }
        if firmware.version >= self.release.version {
            return Turn::Has;
        }
        let ended_now = |wanted| stage == Some(wanted) && self.is_of_this(companion);
        let went_back =
            firmware.state == State::WentBack(self.release.image_id()) || stage == Some(Stage::WentBack);
        let ended = if !self.rollout.to.is_empty() && !self.rollout.to.contains(&companion.key) {
            Ended::NotNamed
        } else if firmware.root == 0 {
            Ended::NoRoot
        } else if self.release.version < firmware.floor {
            Ended::BelowFloor
        } else if ended_now(Stage::WentBack) || went_back && !self.rollout.again {
            Ended::WentBack
        } else if ended_now(Stage::Declined) {
            Ended::Declined
        } else if ended_now(Stage::Refused) {
            Ended::Refused
        } else {
            return Turn::Offer;
        };
        Turn::Ended(ended)
    }

    /// Whether the companion is meant: all are, if none was named.
    fn is_for(&self, companion: &Companion) -> bool {
        self.rollout.to.is_empty() || self.rollout.to.contains(&companion.key)
    }

    /// Whether what a companion said last of the release was said in this roll-out.
    fn is_of_this(&self, companion: &Companion) -> bool {
        companion.install.as_ref().is_some_and(|install| install.since >= self.rollout.at)
    }

    /// Whose turn it is on the board: who is at it, or the first of those that could be.
    fn next(&self, companions: &[Companion], turns: &[Turn], on_board: &[usize]) -> Option<usize> {
        let changing = |at: &&usize| turns[**at] == Turn::Changing && self.is_for(&companions[**at]);
        if let Some(at) = on_board.iter().find(changing) {
            return Some(*at);
        }
        let order = |at: usize| {
            let companion = &companions[at];
            let named = self.rollout.to.iter().position(|key| *key == companion.key);
            (!companion.is_under_way(), named, at)
        };
        let could = |at: &usize| turns[*at] == Turn::Offer && companions[*at].here;
        on_board.iter().copied().filter(could).min_by_key(|at| order(*at))
    }

    /// What the whole board waits for.
    fn hold(&self, companions: &[Companion], on_board: &[usize], policy: &Policy, now: i64) -> Option<Wait> {
        let on_board = || on_board.iter().map(|at| &companions[*at]);
        if self.rollout.paused {
            return Some(Wait::Paused);
        }
        let failed = |companion: &&Companion| {
            let stage = companion.install.as_ref().map(|install| install.stage);
            matches!(stage, Some(Stage::WentBack | Stage::Refused)) && self.is_of_this(companion)
        };
        if let Some(at) = on_board().find(failed) {
            return Some(Wait::Stopped(at.name.clone()));
        }
        let silent = on_board().filter(|companion| self.is_for(companion));
        let silent = silent.filter_map(|companion| Some((companion, companion.silent_since(now)?)));
        if let Some((companion, since)) = silent.min_by_key(|(_, since)| *since) {
            return Some(Wait::Silent(companion.name.clone(), since));
        }
        if u64::try_from(now / 1000).unwrap_or(0) >= self.release.expires {
            return Some(Wait::Expired);
        }
        if self.rollout.now {
            return None;
        }
        if !policy.hours.contain(now) {
            return Some(Wait::Hours(policy.hours.first_from(now)));
        }
        let soak = i64::try_from(policy.soak.as_millis()).unwrap_or(i64::MAX);
        let runs_it = on_board().filter_map(|companion| {
            let firmware = companion.firmware.as_ref()?;
            let confirmed = firmware.version == self.release.version && firmware.state == State::Settled;
            confirmed.then_some((companion, firmware.since.saturating_add(soak), firmware.since))
        });
        let first = runs_it.min_by_key(|(companion, until, since)| {
            if companion.decided_at.is_some_and(|at| at >= *since) { i64::MIN } else { *until }
        });
        let (companion, until, since) = first?;
        let proved = now >= until || companion.decided_at.is_some_and(|at| at >= since);
        (!proved).then(|| Wait::Soak(companion.name.clone(), until))
    }
}

#[cfg(test)]
mod tests;
