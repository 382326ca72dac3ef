//! How far a companion is with a release, in words.

use super::{
    rollout::{Ended, Wait},
    store::Stage,
};
use crate::clock::to_the_second;

/// One that has its turn: a word, a sentence, and since when.
pub(super) fn at_it(stage: Option<Stage>, since: Option<i64>) -> (&'static str, String, Option<i64>) {
    let at = since.map_or_else(String::new, |since| format!(" since {}", to_the_second(since)));
    match stage {
        Some(Stage::Taking) => ("taking", "fetches it".into(), since),
        Some(Stage::Asking) => {
            ("asking", format!("asks on its screen{at}: somebody has to hold Approve there"), since)
        }
        Some(Stage::Offered) => ("offered", format!("it is offered{at}"), since),
        _ => ("offered", "its turn".into(), None),
    }
}

/// One that restarts with it, and should have said by now what became of it, if `silent_since` is something.
pub(super) fn changing_text(silent_since: Option<i64>) -> String {
    match silent_since {
        None => "restarts with it, or has not confirmed it yet".into(),
        Some(since) => {
            format!("restarts with it, and no word of it since {}: look after it there", to_the_second(since))
        }
    }
}

/// One that does not get it: a word, and a sentence.
pub(super) fn ended_text(ended: Ended) -> (&'static str, &'static str) {
    match ended {
        Ended::NotNamed => ("not_meant", "not among those named with --to"),
        Ended::NoRoot => ("not_meant", "its firmware has no root, and takes no update"),
        Ended::BelowFloor => ("not_meant", "the release is below the lowest version that it still takes"),
        Ended::Declined => ("declined", "not in this roll-out"),
        Ended::WentBack => ("went_back", "it went wrong there, and is offered again only with --again"),
        Ended::Refused => ("refused", "did not take it"),
    }
}

/// What one waits for.
pub(super) fn wait_text(wait: &Wait) -> String {
    match wait {
        Wait::Paused => "paused (gatepost ota resume)".into(),
        Wait::Stopped(name) => format!("stopped: it went wrong on {name}"),
        Wait::Silent(name, since) => {
            let since = to_the_second(*since);
            format!(
                "stopped: no word of {name} since {since}, which restarts with it: look after it there. Without it: gatepost ota roll-out \
                 VERSION --to the others, or gatepost companion revoke {name}"
            )
        }
        Wait::Expired => "the release has expired".into(),
        Wait::Hours(until) => format!("outside [updates] hours until {}", to_the_second(*until)),
        Wait::Behind(name) => format!("waits for {name}"),
        Wait::Soak(name, until) => {
            format!("waits until {name} has decided a card with it, or until {}", to_the_second(*until))
        }
        Wait::Quorum(1) => "waits until another companion can be asked meanwhile".into(),
        Wait::Quorum(needed) => format!("waits until {needed} other companions can be asked meanwhile"),
        Wait::Away => "nobody can be asked at it now".into(),
    }
}
