//! Whether one agent is woken by one message: facts in, verdict out. Asks nobody and writes nothing.

use super::{
    Engage, Ignored, Route,
    gates::{Admission, Gates},
    situation::{Situation, Verdict, Why},
};

/// Judges a message for the agent of a route: the access gate, the scope gate, and whether it engages. At each gate the hub's own
/// rules come first, and then what a hook took back.
pub fn judge(gates: &Gates, route: &Route, situation: &Situation<'_>) -> Verdict {
    let admission = gates.access.admit(route, situation);
    if let Admission::Drop(why) = admission {
        return Verdict::Drop(why);
    }
    if situation.barred {
        return Verdict::Drop(Why::Gate);
    }
    let engages = engages(&route.engage, situation);
    if admission == Admission::Ask {
        // Nobody is asked about chatter: only about what would wake the agent.
        return match (engages && !situation.late, situation.quiet) {
            (true, false) => Verdict::Ask,
            (true, true) => Verdict::Drop(Why::Gate),
            (false, _) => Verdict::Drop(Why::UnknownSender),
        };
    }
    let wakes = gates.scope.lets_wake(route, situation) && !situation.quiet;
    match (wakes && engages, route.ignored) {
        // What is too old is read with what comes next.
        (true, _) if situation.late => Verdict::Accumulate,
        (true, _) => Verdict::Engage,
        (false, Ignored::Accumulate) => Verdict::Accumulate,
        (false, Ignored::Drop) => Verdict::Drop(Why::NotEngaged),
    }
}

fn engages(engage: &Engage, situation: &Situation<'_>) -> bool {
    let Some(text) = situation.text else {
        // Not words: what was pressed or entered wakes the agent whose message it answers to.
        return situation.calls;
    };
    match engage {
        Engage::Pattern(None) => true,
        Engage::Pattern(Some(pattern)) => pattern.is_match(text),
        Engage::Mention => situation.calls,
        Engage::MentionSticky => situation.calls || situation.active,
    }
}
