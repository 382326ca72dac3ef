//! What a failed attempt means for its part and its message.
//!
//! An adapter sorts its failures; here each becomes an ending, and nothing else looks at why something failed. Once a
//! request may have arrived, no later refusal and no deadline turns that into "it did not".

use std::time::Duration;

use rusqlite::Transaction;

use crate::{
    channels::Failure,
    message::{
        refusal::{Code, NOT_SENT},
        state::{Event, PartState, State},
    },
    outbox::{
        pauses::PUT_BACK,
        row::MessageRow,
        transition::{self, Change, TransitionError},
    },
    store::now_ms,
};

/// Between attempts; after the last, every hour until the message's deadline.
const BACK_OFF: [Duration; 5] = [
    Duration::from_secs(5),
    Duration::from_secs(25),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
];

/// How often a platform is asked in vain what became of a part. While it is asked its conversation stands still, so with the
/// pauses between the questions that is some minutes and not the message's whole time.
pub(crate) const MAX_QUESTIONS: u32 = 6;

/// The longest pause between two questions.
const QUESTION_PAUSE: Duration = Duration::from_mins(2);

/// How much longer a pause may become, so that what failed together does not come back together: one part in this many.
const JITTER: u32 = 10;

/// What is known of a part when an attempt at it has failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried {
    /// Whether an earlier request of it may have arrived.
    pub open: bool,
    /// How long its key is still good.
    pub left: Option<Duration>,
    /// Failed attempts at its message before this one.
    pub attempts: u32,
    /// How often the platform was asked in vain what became of it, before this attempt.
    pub questions: u32,
    /// Whether it may arrive twice rather than not at all.
    pub resend: bool,
    /// Whether its message may be dropped.
    pub best_effort: bool,
}

/// What a failed attempt means for the part and its message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It goes again later. Until then its part is `planned`, or `unknown` where its request may have arrived.
    Later { due_at: i64, counts: bool, part: PartState, why: String },
    /// It never goes.
    Never { why: String },
    /// It may have arrived, and cannot be sent again.
    Nobody { why: String },
}

impl Ending {
    pub(super) fn of(failure: Failure, tried: &Tried) -> Self {
        let (open, after, counts, why) = match failure {
            Failure::Permanent(why) if tried.open => return Self::Nobody { why },
            Failure::Permanent(why) | Failure::NotDelivered(why) => return Self::Never { why },
            Failure::Retry(why) => (tried.open, back_off(tried.attempts), true, why),
            Failure::Wait { after, why } => (tried.open, after, false, why),
            Failure::Unknown(why) => (true, back_off(tried.attempts), true, why),
        };
        let (after, part) = match (open, tried.left) {
            (false, _) => (after, PartState::Planned),
            // Well before the key is forgotten, for a resend after that would arrive a second time. A platform that
            // wants more time than is left gets it, and the part's fate stays open.
            (true, Some(left)) if counts => (after.min(left / 2), PartState::Unknown),
            (true, Some(_)) => (after, PartState::Unknown),
            (true, None) if tried.resend => (after, PartState::Unknown),
            (true, None) => return Self::Nobody { why },
        };
        let after = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        let due_at = now_ms().saturating_add(after);
        Self::Later { due_at, counts, part, why }.unless_it_may_be_dropped(tried.best_effort)
    }

    /// Of a part that may have arrived, when the question whether it did was not answered.
    pub(super) fn of_a_question(failure: Failure, tried: &Tried) -> Self {
        let (after, why) = match failure {
            // It cannot be asked, or has said all that it knows.
            Failure::Permanent(why) => return Self::Nobody { why },
            Failure::NotDelivered(why) => return Self::Never { why },
            Failure::Wait { after, why } => (after, why),
            Failure::Retry(why) | Failure::Unknown(why) => {
                (back_off(tried.questions).min(QUESTION_PAUSE), why)
            }
        };
        let questions = tried.questions + 1;
        if questions >= MAX_QUESTIONS && !tried.resend {
            return Self::Nobody { why: format!("it was asked {questions} times whether it arrived: {why}") };
        }
        let due_at = now_ms().saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
        let later = Self::Later { due_at, counts: true, part: PartState::Unknown, why };
        later.unless_it_may_be_dropped(tried.best_effort)
    }

    /// For a part whose turn has come while the platform takes nothing.
    pub(super) fn paused(until: i64, part: PartState, best_effort: bool) -> Self {
        let why = PUT_BACK.to_owned();
        Self::Later { due_at: until, counts: false, part, why }.unless_it_may_be_dropped(best_effort)
    }

    fn unless_it_may_be_dropped(self, best_effort: bool) -> Self {
        match self {
            Self::Later { part: PartState::Unknown, why, .. } if best_effort => Self::Nobody { why },
            Self::Later { why, .. } if best_effort => {
                Self::Never { why: format!("{why} (bestEffort: it is not tried again)") }
            }
            other => other,
        }
    }

    pub(super) fn write(&self, tx: &Transaction<'_>, seq: i64, index: u32) -> Result<(), TransitionError> {
        let settle = |state, why: &str| transition::settle_part(tx, seq, index, state, None, Some(why));
        match self {
            Self::Later { due_at, counts, part, why } => {
                settle(*part, why)?;
                transition::apply(tx, seq, &Change::hub(Event::Postpone, Some(why)))?;
                transition::postpone(tx, seq, *due_at, *counts)
            }
            Self::Never { why } => {
                settle(PartState::Failed, why)?;
                let reason = format!("{NOT_SENT}{why}");
                let change = Change::hub(Event::Fail, Some(&reason)).code(Code::ExecutionFailed);
                transition::apply(tx, seq, &change).map(drop)
            }
            Self::Nobody { why } => {
                settle(PartState::Unknown, why)?;
                lose(tx, seq, why)
            }
        }
    }
}

/// Ends a message, ready or on its way, of which nothing more is sent. Where a part may have arrived, nobody knows.
pub(super) fn end(tx: &Transaction<'_>, seq: i64, code: Code, reason: &str) -> Result<(), TransitionError> {
    if !transition::parts(tx, seq)?.iter().any(|part| part.state == PartState::Unknown) {
        return transition::apply(tx, seq, &Change::hub(Event::Fail, Some(reason)).code(code)).map(drop);
    }
    if MessageRow::get(tx, seq)?.state == State::Ready {
        transition::apply(tx, seq, &Change::hub(Event::Take, None))?;
    }
    lose(tx, seq, reason)
}

fn lose(tx: &Transaction<'_>, seq: i64, why: &str) -> Result<(), TransitionError> {
    let reason = format!("it may or may not have arrived: {why}");
    let change = Change::hub(Event::Lose, Some(&reason)).code(Code::UnknownOutcome);
    transition::apply(tx, seq, &change).map(drop)
}

/// How long to wait after a failure that followed `attempts` others.
fn back_off(attempts: u32) -> Duration {
    let attempt = usize::try_from(attempts).unwrap_or(usize::MAX);
    let pause = BACK_OFF.get(attempt).copied().unwrap_or(Duration::from_hours(1));
    let [dice] = crate::random::bytes();
    pause + pause * u32::from(dice) / (u32::from(u8::MAX) * JITTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Option<Duration> = Some(Duration::from_hours(24));
    const TRIED: Tried =
        Tried { open: false, left: None, attempts: 0, questions: 0, resend: false, best_effort: false };

    /// What becomes of the part, in how many seconds it goes again, less the jitter, and whether that was an attempt.
    fn ending(failure: Failure, tried: Tried) -> (&'static str, i64, bool) {
        let exact = matches!(failure, Failure::Wait { .. });
        let now = now_ms();
        match Ending::of(failure, &tried) {
            Ending::Later { due_at, counts, part, .. } => {
                let after = due_at - now;
                let steps = [5, 25, 30, 120, 600, 1_800, 3_600, 6_775];
                let within = |step: &&i64| {
                    let longest = **step * 1_000 + 500;
                    (**step * 1_000..=if exact { longest } else { longest + **step * 100 }).contains(&after)
                };
                (part.word(), *steps.iter().find(within).unwrap_or(&after), counts)
            }
            Ending::Never { .. } => ("never", 0, false),
            Ending::Nobody { .. } => ("nobody knows", 0, false),
        }
    }

    #[test]
    fn a_request_that_did_not_arrive_goes_again_later_and_later() {
        for (attempts, seconds) in [(0, 5), (1, 25), (2, 120), (3, 600), (4, 1_800), (5, 3_600), (50, 3_600)]
        {
            let retry = Failure::Retry("away".into());
            assert_eq!(ending(retry, Tried { attempts, ..TRIED }), ("planned", seconds, true));
        }
    }

    #[test]
    fn what_failed_together_does_not_come_back_together() {
        let pauses: std::collections::BTreeSet<_> = (0..50).map(|_| back_off(3)).collect();
        assert!(pauses.len() > 10, "{pauses:?}");
        assert!(pauses.first() >= Some(&Duration::from_mins(10)));
        assert!(pauses.last() <= Some(&Duration::from_mins(11)));
    }

    #[test]
    fn a_platform_that_says_when_is_obeyed_however_long_and_spends_no_attempt() {
        let wait = Failure::Wait { after: Duration::from_secs(6_775), why: "slow down".into() };
        assert_eq!(ending(wait, Tried { left: DAY, ..TRIED }), ("planned", 6_775, false));
    }

    #[test]
    fn a_lost_answer_is_unknown_unless_a_key_makes_a_resend_harmless_or_whoever_asked_wants_one() {
        let lost = || Failure::Unknown("no answer".into());
        assert_eq!(ending(lost(), TRIED), ("nobody knows", 0, false));
        assert_eq!(ending(lost(), Tried { left: DAY, ..TRIED }), ("unknown", 5, true));
        assert_eq!(ending(lost(), Tried { resend: true, ..TRIED }), ("unknown", 5, true));
        let refused = Failure::Permanent("no".into());
        let tried = Tried { open: true, resend: true, ..TRIED };
        assert_eq!(ending(refused, tried), ("nobody knows", 0, false), "the first one may have arrived");
    }

    #[test]
    fn a_resend_never_waits_until_its_key_is_forgotten() {
        let tried = Tried { left: Some(Duration::from_secs(60)), attempts: 3, ..TRIED };
        assert_eq!(ending(Failure::Unknown("no answer".into()), tried), ("unknown", 30, true));
    }

    #[test]
    fn once_a_request_may_have_arrived_no_later_refusal_makes_it_certain() {
        let tried = Tried { open: true, left: DAY, ..TRIED };
        assert_eq!(ending(Failure::Retry("away".into()), tried), ("unknown", 5, true));
        assert_eq!(ending(Failure::Permanent("no".into()), tried), ("nobody knows", 0, false));
        assert_eq!(ending(Failure::Permanent("no".into()), TRIED), ("never", 0, false));
    }

    #[test]
    fn what_may_be_dropped_is_tried_once_and_its_end_is_honest() {
        let best_effort = Tried { best_effort: true, left: DAY, ..TRIED };
        let wait = Failure::Wait { after: Duration::from_secs(6_775), why: "slow down".into() };
        for failure in [wait, Failure::Retry("away".into())] {
            let Ending::Never { why } = Ending::of(failure, &best_effort) else { panic!("tried again") };
            assert!(why.contains("bestEffort"), "{why}");
        }
        assert_eq!(ending(Failure::Unknown("no answer".into()), best_effort), ("nobody knows", 0, false));
        let paused = Ending::paused(i64::MAX, PartState::Planned, true);
        assert!(matches!(paused, Ending::Never { .. }), "{paused:?}");
    }
}
