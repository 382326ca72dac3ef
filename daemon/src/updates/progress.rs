//! What a companion's words about its firmware change in what the hub knows. Pure.
//!
//! A frame may be lost, and a device may lie. So each word is held against what was known: a change is written down once, in one
//! direction, and what cannot be is [`Nonsense`].

use gatepost_link::{
    frame::{NotTaken, Progress, Running, State},
    update::{ImageId, Label},
};

use super::store::{Firmware, Install, Release, Stage};
use crate::audit::Event;

/// What no companion says that is in its right mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it says of its firmware what cannot be")]
pub struct Nonsense;

/// What has changed with a release on a companion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// How far it is now.
    pub install: Install,
    /// What the audit says of it, if anything.
    pub event: Option<Event>,
}

/// The name of a board.
pub fn board(label: &Label) -> Result<String, Nonsense> {
    label.name().map(str::to_owned).ok_or(Nonsense)
}

/// What a companion runs now. `restarted`: whether the hub saw it go and come back.
pub fn firmware(
    before: Option<&Firmware>,
    running: &Running,
    restarted: bool,
    now: i64,
) -> Result<Firmware, Nonsense> {
    // A floor above the version is believed: the image was signed as another version than it says. Not to believe it left the companion
    // without updates for ever.
    let board = board(&running.board)?;
    let stays = before.filter(|before| {
        !restarted
            && before.board == board
            && before.version == running.version
            && before.state == running.state
    });
    Ok(Firmware {
        board,
        version: running.version,
        floor: running.floor,
        root: running.root,
        state: running.state,
        since: stays.map_or(now, |before| before.since),
    })
}

/// Which image a companion's words are about, if they name one.
pub fn image(state: State) -> Option<ImageId> {
    match state {
        State::Settled => None,
        State::Trial(image) | State::WentBack(image) => Some(image),
    }
}

/// What it means for a release that a companion runs this now: the one that it names, or the one of its version. `install`: how
/// far it was with it.
pub fn ran(
    before: Option<&Firmware>,
    after: &Firmware,
    release: &Release,
    install: Option<&Install>,
    now: i64,
) -> Option<Change> {
    let stage = install.map(|install| install.stage);
    let is_it = image(after.state).is_none_or(|image| image == release.image_id());
    let tried = before.filter(|before| before.state == State::Trial(release.image_id()));
    let (stage, event, why) = match after.state {
        // Whatever it said before, of which it may have lied: this image went back.
        State::WentBack(_) if is_it => {
            let is_old_news = before.is_some_and(|before| before.state == after.state);
            if is_old_news && stage != Some(Stage::Installing) {
                return None;
            }
            let why = "it did not confirm itself, and what ran before runs again".to_owned();
            (Stage::WentBack, Some(Event::OtaWentBack), Some(why))
        }
        // It never was offered: it came by cable.
        _ if stage.is_none() => return None,
        // That a person said yes may have been lost with the session.
        State::Trial(_) if is_it && stage != Some(Stage::Installing) => {
            (Stage::Installing, Some(Event::OtaInstalled), None)
        }
        State::Settled if after.version == release.version && stage != Some(Stage::Confirmed) => {
            (Stage::Confirmed, Some(Event::OtaConfirmed), None)
        }
        // Its trial is over, and still it is not what was signed.
        State::Settled
            if after.version != release.version
                && let Some(tried) = tried =>
        {
            let why = match tried.version == after.version {
                true => {
                    format!("it was signed as {}, and says that it is {}", release.version, after.version)
                }
                false => format!("it was on trial, and {} runs again", after.version),
            };
            (Stage::WentBack, Some(Event::OtaWentBack), Some(why))
        }
        State::Settled | State::WentBack(_)
            if after.version < release.version && stage == Some(Stage::Confirmed) =>
        {
            let why = format!("it had confirmed itself, and {} runs again", after.version);
            (Stage::WentBack, Some(Event::OtaWentBack), Some(why))
        }
        // It was switched off before it changed anything.
        State::Settled | State::WentBack(_)
            if after.version < release.version && stage == Some(Stage::Installing) =>
        {
            (Stage::Offered, None, None)
        }
        _ => return None,
    };
    Some(Change { install: Install { release: release.seq, stage, why, since: now }, event })
}

/// What a companion's report of a release changes; [`None`] if it is known, or comes too late to count.
pub fn reported(
    install: &Install,
    release: &Release,
    progress: Progress,
    now: i64,
) -> Result<Option<Change>, Nonsense> {
    if let Progress::Taking { done, of } = progress
        && (of != release.size || done > of)
    {
        return Err(Nonsense);
    }
    let (stage, event, why) = match progress {
        Progress::Taking { .. } => (Stage::Taking, None, None),
        Progress::Asking => (Stage::Asking, None, None),
        Progress::Declined => {
            (Stage::Declined, Some(Event::OtaRefused), Some("a person said no on its screen".to_owned()))
        }
        Progress::Installing => (Stage::Installing, Some(Event::OtaInstalled), None),
        Progress::Refused(NotTaken::WentBack) => {
            (Stage::WentBack, Some(Event::OtaRefused), Some(words(NotTaken::WentBack)))
        }
        Progress::Refused(why) => (Stage::Refused, Some(Event::OtaRefused), Some(words(why))),
    };
    // Forward, and out of what is under way: what has ended is begun again by an offer alone.
    let open = install.stage.is_under_way() || install.stage == Stage::Installing && stage == Stage::Refused;
    let counts = open && stage > install.stage;
    let install = Install { release: release.seq, stage, why, since: now };
    Ok(counts.then_some(Change { install, event }))
}

/// Why a companion does not take a release, as a sentence.
fn words(why: NotTaken) -> String {
    match why {
        NotTaken::Signature => {
            "it is not signed by the keys of the companion's root, or the companion has none".into()
        }
        NotTaken::Unfit(unfit) => unfit.to_string(),
        NotTaken::WentBack => "it was tried there before and did not confirm itself".into(),
        NotTaken::Hash => "what arrived is not what was signed".into(),
        NotTaken::Flash => "the companion's flash did not keep it".into(),
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::update::{Version, rule::Unfit};

    use super::*;

    const IMAGE: ImageId = [7; 8];

    fn version(text: &str) -> Version {
        Version::new(text).unwrap()
    }

    fn release() -> Release {
        Release {
            seq: 3,
            board: "esp32c3".into(),
            version: version("1.1.0"),
            floor: version("1.0.0"),
            size: 9_000,
            image: [7; 32],
            file: [8; 32],
            root: 1,
            expires: 9,
            added_at: 1,
        }
    }

    fn running(version_: &str, state: State) -> Running {
        let (version, floor) = (version(version_), version("1.0.0"));
        Running { board: Label::new("esp32c3").unwrap(), version, floor, root: 1, state }
    }

    fn at(stage: Stage) -> Install {
        Install { release: 3, stage, why: None, since: 5 }
    }

    #[test]
    fn a_companion_runs_something_since_its_last_restart_or_change() {
        let first = firmware(None, &running("1.0.0", State::Settled), false, 10).unwrap();
        assert_eq!(first.since, 10);
        let since =
            |running: &Running, restarted| firmware(Some(&first), running, restarted, 20).unwrap().since;
        assert_eq!(since(&running("1.0.0", State::Settled), false), 10);
        assert_eq!(since(&running("1.0.0", State::Settled), true), 20);
        assert_eq!(since(&running("1.1.0", State::Settled), false), 20);
        assert_eq!(since(&running("1.0.0", State::WentBack(IMAGE)), false), 20);
        let nameless = Running { board: Label([0xff; 16]), ..running("1.0.0", State::Settled) };
        assert_eq!(firmware(None, &nameless, false, 1), Err(Nonsense));
        let below = firmware(None, &running("0.9.0", State::Settled), false, 1).unwrap();
        assert!(below.floor > below.version, "it is believed");
    }

    #[test]
    fn what_runs_after_the_restart_says_what_became_of_it() {
        let old = firmware(None, &running("1.0.0", State::Settled), false, 1).unwrap();
        let back = firmware(None, &running("1.0.0", State::WentBack(IMAGE)), false, 1).unwrap();
        let word = |before: &Firmware, version: &str, state, stage| {
            let after = firmware(Some(before), &running(version, state), false, 9).unwrap();
            ran(Some(before), &after, &release(), Some(&at(stage)), 9)
                .map(|change| (change.install.stage, change.event))
        };
        use Event::{OtaConfirmed, OtaInstalled, OtaWentBack};
        use Stage::{Asking, Confirmed, Installing, Offered, WentBack};
        let trial = State::Trial(IMAGE);
        assert_eq!(word(&old, "1.1.0", trial, Installing), None);
        assert_eq!(word(&old, "1.1.0", trial, Asking), Some((Installing, Some(OtaInstalled))), "lost word");
        assert_eq!(word(&old, "1.1.0", State::Settled, Installing), Some((Confirmed, Some(OtaConfirmed))));
        assert_eq!(word(&old, "1.1.0", State::Settled, Confirmed), None, "once");
        assert_eq!(word(&old, "1.0.0", State::Settled, Installing), Some((Offered, None)), "cut before it");
        assert_eq!(word(&old, "1.0.0", State::Settled, Asking), None);
        let went = State::WentBack(IMAGE);
        assert_eq!(word(&old, "1.0.0", went, Installing), Some((WentBack, Some(OtaWentBack))));
        assert_eq!(word(&old, "1.0.0", went, Asking), Some((WentBack, Some(OtaWentBack))), "lost word");
        assert_eq!(word(&back, "1.0.0", went, Asking), None, "that was the time before");
        assert_eq!(word(&back, "1.0.0", went, Installing), Some((WentBack, Some(OtaWentBack))));
        assert_eq!(word(&back, "1.0.0", went, WentBack), None, "once");
        let new = firmware(None, &running("1.1.0", State::Settled), false, 1).unwrap();
        for stage in [Confirmed, Stage::Declined, Stage::Refused] {
            assert_eq!(word(&new, "1.0.0", went, stage), Some((WentBack, Some(OtaWentBack))), "{stage:?}");
        }
        assert_eq!(word(&new, "1.0.0", State::Settled, Confirmed), Some((WentBack, Some(OtaWentBack))));
        assert_eq!(
            word(&new, "1.0.0", State::WentBack([9; 8]), Confirmed),
            Some((WentBack, Some(OtaWentBack)))
        );
        assert_eq!(word(&new, "1.2.0", State::Settled, Confirmed), None, "a later one");
        assert_eq!(word(&new, "0.9.0", State::Trial([9; 8]), Confirmed), None, "another one is on trial");
        let unknown = ran(Some(&new), &back, &release(), None, 9).unwrap();
        assert_eq!(unknown.install.stage, WentBack, "it was never offered, and went back all the same");
        let other = State::WentBack([9; 8]);
        assert_eq!(word(&old, "1.0.0", other, Installing), Some((Offered, None)), "another went back before");
        let on_trial = firmware(None, &running("0.9.0", trial), false, 1).unwrap();
        assert_eq!(word(&on_trial, "0.9.0", State::Settled, Installing), Some((WentBack, Some(OtaWentBack))));
        assert_eq!(word(&on_trial, "1.0.0", State::Settled, Installing), Some((WentBack, Some(OtaWentBack))));
        assert_eq!(word(&on_trial, "0.9.0", trial, Installing), None);
        let after = firmware(None, &running("1.1.0", State::Settled), false, 9).unwrap();
        assert_eq!(ran(None, &after, &release(), None, 9), None, "it came by cable");
    }

    #[test]
    fn reports_lead_forward_and_each_counts_once() {
        let word = |stage, progress| {
            reported(&at(stage), &release(), progress, 9)
                .map(|change| change.map(|change| (change.install.stage, change.event)))
        };
        use Event::{OtaInstalled, OtaRefused};
        use Stage::{Asking, Confirmed, Declined, Installing, Offered, Refused, Taking, WentBack};
        let taking = |done, of| Progress::Taking { done, of };
        assert_eq!(word(Offered, taking(0, 9_000)), Ok(Some((Taking, None))));
        assert_eq!(word(Taking, taking(9_000, 9_000)), Ok(None));
        assert_eq!(word(Asking, taking(10, 9_000)), Ok(None), "it reads again what it has");
        for (done, of) in [(0, 8_999), (9_001, 9_000), (u32::MAX, u32::MAX), (1, 0)] {
            assert_eq!(word(Offered, taking(done, of)), Err(Nonsense), "{done} of {of}");
        }
        assert_eq!(word(Taking, Progress::Asking), Ok(Some((Asking, None))));
        assert_eq!(word(Asking, Progress::Asking), Ok(None));
        assert_eq!(word(Asking, Progress::Installing), Ok(Some((Installing, Some(OtaInstalled)))));
        assert_eq!(word(Asking, Progress::Declined), Ok(Some((Declined, Some(OtaRefused)))));
        let unfit = Progress::Refused(NotTaken::Unfit(Unfit::Expired));
        assert_eq!(word(Offered, unfit), Ok(Some((Refused, Some(OtaRefused)))));
        let before = Progress::Refused(NotTaken::WentBack);
        assert_eq!(word(Offered, before), Ok(Some((WentBack, Some(OtaRefused)))));
        for ended in [Confirmed, Declined, WentBack, Refused, Installing] {
            for progress in [Progress::Asking, Progress::Installing] {
                assert_eq!(word(ended, progress), Ok(None), "{ended:?} {progress:?}");
            }
        }
        assert_eq!(word(Declined, unfit), Ok(None));
        let flash = Progress::Refused(NotTaken::Flash);
        assert_eq!(
            word(Installing, flash),
            Ok(Some((Refused, Some(OtaRefused)))),
            "it could not change over"
        );
    }
}
