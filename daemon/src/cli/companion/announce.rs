//! What is said above the companion's screen: each change once, with what to do about it. The screen has little room for
//! words, and none for reasons. Pure.

use gatepost_companion::{CardView, Ended, Fault, View};
use gatepost_desktop::Contact;
use gatepost_link::{
    RequestId,
    decision::Verdict,
    frame::{Refusal, Withdrawal},
};

/// What there is to do about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// A line for the person.
    Say(String),
    /// A card has opened: the person may look elsewhere.
    Ring,
}

/// Remembers what was said.
#[derive(Debug)]
pub(super) struct Teller {
    /// Whether there is a hub that it is paired with.
    paired: bool,
    contact: Contact,
    /// Whether there ever was a connection.
    was_up: bool,
    view: View,
}

impl Teller {
    /// Nothing was said yet.
    pub(super) fn new(paired: bool) -> Self {
        Self { paired, contact: Contact::Trying, was_up: false, view: View::Offline }
    }

    /// It stands so with the broker now.
    pub(super) fn contact(&mut self, now: &Contact) -> Option<Word> {
        let before = std::mem::replace(&mut self.contact, now.clone());
        // Between two attempts nothing has changed: the one that is refused again is told once.
        let again = before == *now || matches!((&before, now), (Contact::Away(_), Contact::Away(_)));
        let line = match now {
            _ if again => None,
            Contact::Trying => None,
            Contact::Up if self.was_up && !matches!(before, Contact::Refused) => Some("connected again".into()),
            Contact::Up => None,
            Contact::Away(why) => Some(format!("{why}: does the hub run? It is tried again until it answers")),
            Contact::Refused if self.paired => Some(
                "the hub does not let this companion in: it was revoked, or [approval] allow_software_companion is off there. \
                 To be paired anew: press q, then gatepost companion run --forget"
                    .into(),
            ),
            Contact::Refused => {
                Some("the hub pairs nobody at the moment: run `gatepost companion pair` there".into())
            }
        };
        self.was_up |= *now == Contact::Up;
        line.map(Word::Say)
    }

    /// The screen shows this now; `time` is the time of day, for what a person wants to find again.
    pub(super) fn view(&mut self, now: &View, time: &str) -> Option<Word> {
        let before = std::mem::replace(&mut self.view, *now);
        if is_same(&before, now) {
            return None;
        }
        let was_paired = self.paired;
        self.paired = !matches!(now, View::Unpaired | View::Pairing { .. } | View::Fault(Fault::Pairing));
        if self.paired && matches!(before, View::Pairing { .. }) {
            return Some(Word::Say("paired. What waits for you appears below".into()));
        }
        let line = match now {
            View::Card(_) => return Some(Word::Ring),
            View::Unpaired if was_paired => {
                "the hub has revoked this companion: it has forgotten the hub, and has new keys".into()
            }
            View::Pairing { confirmed: false, .. } => {
                "a hub wants to be paired. Hold [a] if it shows the same number, press [d] if it does not".into()
            }
            View::Fault(Fault::Pairing) => {
                "not paired: somebody said no, or nobody said yes in time. What the hub says tells which (a hub takes software \
                 only with [approval] allow_software_companion = true)"
                    .into()
            }
            View::Fault(Fault::Storage) => "the companion's folder cannot be read or written".into(),
            View::Done { request, verdict } => format!("{time} {} ({})", word(*verdict), short(*request)),
            View::Muted { request } => format!("{time} muted its agent for an hour ({})", short(*request)),
            View::Closed { request, why } => format!("{time} {} ({})", ended(*why), short(*request)),
            _ => return None,
        };
        Some(Word::Say(line))
    }
}

/// Whether it is one card, or one number, on either.
fn is_same(before: &View, now: &View) -> bool {
    match (before, now) {
        (View::Card(CardView { request: before, .. }), View::Card(CardView { request: now, .. })) => {
            before == now
        }
        (View::Pairing { .. }, View::Pairing { .. }) => true,
        (before, now) => before == now,
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approve => "approved, and the hub has taken it",
        Verdict::Deny => "denied, and the hub has taken it",
    }
}

fn ended(why: Ended) -> &'static str {
    match why {
        Ended::Withdrawn(Withdrawal::Cancelled) => "taken back by its agent",
        Ended::Withdrawn(Withdrawal::Expired) => "expired, and was not sent",
        Ended::Withdrawn(Withdrawal::DecidedElsewhere) => "decided elsewhere",
        Ended::Withdrawn(Withdrawal::Rejected) => {
            "the hub did not take this decision: its log and audit say why"
        }
        Ended::NotConfirmed => "decided, and not confirmed by the hub: gatepost queue show tells",
        Ended::NoLongerOffered => "asked about no longer",
        Ended::NotShown(Refusal::Busy) => "too much waits already",
        Ended::NotShown(_) => "this message cannot be shown here, so that it cannot be approved here",
    }
}

fn short(request: RequestId) -> String {
    let name = request.to_string();
    format!("request {}", name.get(..8).unwrap_or(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: RequestId = RequestId([7; 16]);

    fn said(word: Option<Word>) -> String {
        match word {
            Some(Word::Say(line)) => line,
            Some(Word::Ring) => "(bell)".into(),
            None => String::new(),
        }
    }

    #[test]
    fn a_hub_that_is_away_is_told_once_and_its_return_too() {
        let mut teller = Teller::new(true);
        let away = Contact::Away("nothing listens at hub:1883".into());
        assert_eq!(teller.contact(&Contact::Up), None);
        assert!(said(teller.contact(&away)).starts_with("nothing listens at hub:1883: does the hub run?"));
        assert_eq!(teller.contact(&away), None);
        assert_eq!(teller.contact(&Contact::Away("hub:1883 does not answer".into())), None);
        assert_eq!(said(teller.contact(&Contact::Up)), "connected again");
    }

    #[test]
    fn a_closed_window_and_a_revocation_are_two_things() {
        let mut newcomer = Teller::new(false);
        assert!(said(newcomer.contact(&Contact::Refused)).contains("gatepost companion pair"));
        assert_eq!(newcomer.contact(&Contact::Refused), None);
        let mut revoked = Teller::new(true);
        let text = said(revoked.contact(&Contact::Refused));
        assert!(text.contains("revoked") && text.contains("--forget"), "{text}");
    }

    #[test]
    fn a_pairing_is_told_from_its_number_to_its_end() {
        let mut teller = Teller::new(false);
        assert_eq!(said(teller.view(&View::Unpaired, "12:00")), "");
        let number = View::Pairing { code: 1, confirmed: false };
        assert!(said(teller.view(&number, "12:00")).contains("Hold [a]"));
        assert_eq!(teller.view(&View::Pairing { code: 1, confirmed: true }, "12:00"), None);
        assert!(said(teller.view(&View::Connecting, "12:00")).starts_with("paired"));
        assert_eq!(teller.view(&View::Idle, "12:00"), None);
        let mut failed = Teller::new(false);
        failed.view(&number, "12:00");
        assert!(
            said(failed.view(&View::Fault(Fault::Pairing), "12:00")).contains("allow_software_companion")
        );
        assert_eq!(said(failed.view(&View::Unpaired, "12:00")), "", "it never was paired");
    }

    #[test]
    fn a_card_rings_once_and_its_end_is_told_with_its_time() {
        let mut teller = Teller::new(true);
        let card = |page| CardView {
            request: REQUEST,
            page,
            pages: 2,
            armed: false,
            deniable: true,
            unseen_files: false,
            fault: false,
        };
        assert_eq!(teller.view(&View::Card(card(1)), "12:00"), Some(Word::Ring));
        assert_eq!(teller.view(&View::Card(card(2)), "12:00"), None);
        let done = View::Done { request: REQUEST, verdict: Verdict::Approve };
        let text = said(teller.view(&done, "12:01"));
        assert_eq!(text, "12:01 approved, and the hub has taken it (request 07070707)");
        assert_eq!(said(teller.view(&View::Idle, "12:02")), "");
        assert!(said(teller.view(&View::Unpaired, "12:03")).contains("revoked"));
    }
}
