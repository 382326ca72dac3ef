//! Who may write where. Pure: facts in, verdict out.
//!
//! Default deny, and two questions. Is the target on the agent's allowlist? If not, the answer is no, in the words of
//! the seed's tool. Does the message leave the conversation that its turn came from? If it does, `cross_context`
//! decides, and by default a person is asked: elsewhere a private heartbeat's text reached an employee because crossing
//! was allowed by default. A turn outside any conversation (a timer, the shell) crosses with everything it sends.

mod allowlist;
mod deciders;
mod location;
pub mod rate;
mod scope;
mod subject;

pub use allowlist::{Allowlist, Pattern, PatternError};
pub use deciders::Deciders;
pub use location::{Location, Touched};
pub use scope::Scope;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
pub use subject::{Entries, Subject};

use crate::message::{
    refusal::{Code, Refusal},
    target::{PERSON, Target},
};

/// What happens to a message that leaves its own conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CrossContext {
    /// A person is asked.
    #[default]
    Hold,
    /// It is sent.
    Allow,
    /// It is refused.
    Deny,
}

/// The rights of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    /// Targets that it may write to.
    pub allow: Allowlist,
    /// Targets that it may write to, but out of context only after a person approved.
    pub hold: Allowlist,
    /// What happens to crossings towards targets under `allow`.
    pub cross_context: CrossContext,
    /// Targets about which companions decide.
    pub by_companion: Allowlist,
    /// Targets about which passkeys decide.
    pub by_web: Allowlist,
}

/// The conversation that a turn came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The hub's account there.
    pub account: String,
    /// The conversation, and the thread in it.
    pub place: Target,
    /// The agent's session. Nothing is judged by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The turn. Nothing is judged by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// How far the least trusted words of the turn are trusted; nothing if whoever reported them vouches for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Whose words started the turn, and which: what a person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// The least trusted turn that an agent is at. A call that names no context, or that of another turn which has ended, may be from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeastTrusted {
    /// The turn.
    pub turn: String,
    /// How far the least trusted words of it are trusted; less than an owner's.
    pub scope: Scope,
    /// Whose words started it, and which: what a person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Where a message comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The conversation that its context stands for.
    pub origin: Option<Origin>,
    /// The turn that it may be from, although its context does not say so.
    pub least_trusted: Option<LeastTrusted>,
}

impl Source {
    /// Reads what [`Provenance::written`] wrote, and what was stored before there was `least_trusted`.
    ///
    /// # Errors
    /// It is something else.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut fields: serde_json::Map<String, Value> = serde_json::from_str(text)?;
        let least_trusted = fields.remove("least_trusted").map(serde_json::from_value).transpose()?;
        let origin = match fields.is_empty() && least_trusted.is_some() {
            true => None,
            false => Some(serde_json::from_value(Value::Object(fields))?),
        };
        Ok(Self { origin, least_trusted })
    }

    /// The same, to judge by.
    pub fn provenance(&self) -> Provenance<'_> {
        Provenance { origin: self.origin.as_ref(), least_trusted: self.least_trusted.as_ref() }
    }
}

/// Where a message comes from, as it is judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Provenance<'a> {
    /// The conversation that its context stands for.
    pub origin: Option<&'a Origin>,
    /// The turn that it may be from, although its context does not say so.
    pub least_trusted: Option<&'a LeastTrusted>,
}

impl Provenance<'_> {
    /// As one text to store: the origin's fields, and `least_trusted` beside them; nothing, if there is neither.
    pub fn written(&self) -> Option<String> {
        let mut written = self.origin.map(|origin| json!(origin));
        if let Some(least_trusted) = self.least_trusted {
            written.get_or_insert_with(|| json!({}))["least_trusted"] = json!(least_trusted);
        }
        Some(written?.to_string())
    }

    /// How far the least trusted words are trusted that it may come from.
    fn scope(&self) -> Scope {
        let own = self.origin.and_then(|origin| origin.scope);
        own.into_iter().chain(self.least_trusted.map(|at| at.scope)).min().unwrap_or(Scope::Owner)
    }

    /// Whose words those are.
    fn because(&self) -> Option<&String> {
        let own = self.origin.and_then(|origin| origin.because.as_ref());
        match self.least_trusted {
            // An origin without a scope is vouched for.
            Some(at)
                if self.origin.is_none_or(|origin| origin.scope.is_none_or(|scope| scope > at.scope)) =>
            {
                at.because.as_ref()
            }
            _ => own,
        }
    }
}

/// What policy says of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Allow(&'static str),
    /// Ask a person.
    Hold(Held),
    /// Refuse it.
    Deny(Refusal),
}

/// That a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Why.
    pub why: String,
    /// Who decides.
    pub by: Deciders,
}

/// Judges a message of an agent with `rights`, of where it is `from`, to whom `subject` is; `entries` are those of its lists that
/// are not identities themselves.
pub fn judge(rights: &Rights, from: Provenance<'_>, subject: &Subject<'_>, entries: &Entries) -> Verdict {
    let (target, origin, scope) = (subject.target, from.origin, from.scope());
    let is_question = target.channel == PERSON;
    if !is_question && !rights.permits(subject, entries) {
        return Verdict::Deny(not_allowed(rights, &target.channel, subject.written()));
    }
    let hold = |why: String| Verdict::Hold(Held { why, by: rights.deciders(subject, entries) });
    let because = |why: String| match from.because() {
        Some(because) => format!("{why}; because {because}"),
        None => why,
    };
    let leaves = match is_question {
        true => Some("its agent asks a person".into()),
        false => leaves(origin, subject.account, target, subject.touched),
    };
    let Some(leaves) = leaves else {
        return match subject.moderates && scope < Scope::Owner {
            true => hold(because("it acts on people or on messages of others".into())),
            false => Verdict::Allow("it stays in its own conversation"),
        };
    };
    let leaves = because(leaves);
    // A turn is as trusted as the least trusted words in it: a stranger's start nothing outside their conversation, and those of
    // somebody who was let in nothing that a person has not seen.
    // What may be from a turn, and may not, is no stranger's for sure: a person is asked.
    if origin.and_then(|origin| origin.scope).is_some_and(|scope| scope < Scope::Known) {
        return Verdict::Deny(stranger(target, &leaves));
    }
    // Whatever its agent is allowed: the answer is a person's.
    if is_question {
        return hold(leaves);
    }
    if let Some(why) = rights.hold.holds(subject, entries) {
        return hold(format!("{leaves}, and {why}"));
    }
    match rights.cross_context {
        CrossContext::Allow if scope < Scope::Owner => hold(leaves),
        CrossContext::Allow => Verdict::Allow("crossing is allowed to this agent"),
        CrossContext::Hold => hold(leaves),
        CrossContext::Deny => Verdict::Deny(
            Refusal::new(
                Code::Forbidden,
                format!("the message may not be sent to {target}: {leaves}"),
                "answer in the conversation you were asked in, or ask the operator for cross_context = \"hold\"",
            )
            .because("cross_context"),
        ),
    }
}

/// The refusal of what a stranger's words started elsewhere.
fn stranger(target: &Target, leaves: &str) -> Refusal {
    Refusal::new(
        Code::Forbidden,
        format!("the message may not be sent to {target}: {leaves}, and its turn has a stranger's words in it"),
        "answer in the conversation you were asked in; what else it asks for, an owner of the hub has to ask for",
    )
    .because("stranger")
}

/// Whether a message leaves the conversation that its turn came from.
pub fn crosses(origin: Option<&Origin>, account: &str, target: &Target, touched: &[Touched]) -> bool {
    leaves(origin, account, target, touched).is_some()
}

/// Why a message leaves the conversation that its turn came from, if it does.
fn leaves(origin: Option<&Origin>, account: &str, target: &Target, touched: &[Touched]) -> Option<String> {
    let Some(origin) = origin else { return Some("its turn is in no conversation".into()) };
    let leaves = || format!("it leaves its conversation, {}", origin.place);
    if !origin.is_at(account, target) {
        return Some(leaves());
    }
    // The thread counts: one thread of a group is not the other's conversation. An origin without a thread is the whole
    // conversation.
    let thread = origin.place.thread.as_deref()?;
    if target.thread.as_deref() != Some(thread) {
        return Some(leaves());
    }
    let why = touched.iter().find_map(|touched| touched.leaves(thread))?;
    Some(format!("{}: {why}", leaves()))
}

impl Origin {
    /// Whether this is the conversation of an account with a target, in whichever thread.
    pub fn is_at(&self, account: &str, target: &Target) -> bool {
        self.account == account
            && self.place.channel == target.channel
            && self.place.address == target.address
    }
}

impl Rights {
    /// Whether some target on this channel may be on either list.
    pub fn reach(&self, channel: &str) -> bool {
        self.allow.touches(channel) || self.hold.touches(channel)
    }

    /// The entries of both lists, as they are written.
    pub fn entries(&self) -> impl Iterator<Item = String> {
        self.allow.iter().chain(self.hold.iter()).map(ToString::to_string)
    }

    /// Whether a target is on either list.
    pub fn permits(&self, subject: &Subject<'_>, entries: &Entries) -> bool {
        self.allow.permits(subject, entries) || self.hold.permits(subject, entries)
    }

    /// Who decides on what is held on its way to this target.
    pub fn deciders(&self, subject: &Subject<'_>, entries: &Entries) -> Deciders {
        let asked = |list: &Allowlist| list.holds(subject, entries).is_some();
        Deciders::asked(asked(&self.by_companion), asked(&self.by_web))
    }

    /// The addresses of the entries of all lists on a channel.
    pub fn addresses(&self, channel: &str) -> impl Iterator<Item = &str> {
        let by = self.by_companion.iter().chain(self.by_web.iter());
        self.allow.iter().chain(self.hold.iter()).chain(by).filter_map(move |pattern| match pattern {
            Pattern::Address(named, address) if named == channel => Some(address.as_str()),
            _ => None,
        })
    }
}

/// What is said of a target that is on neither list of an agent.
pub const NOT_ALLOWED: &str = "is not among this agent's allowed targets";

/// The refusal of a target that is on no list of an agent.
pub fn not_allowed(rights: &Rights, channel: &str, address: &str) -> Refusal {
    let mut known: Vec<String> = rights.entries().collect();
    if known.is_empty() {
        known.push("(none)".into());
    }
    let error = format!("target \"{channel}:{address}\" {NOT_ALLOWED}. Allowed: {}", known.join(", "));
    Refusal::input(error, "use one of the allowed targets, or ask the operator to allow this one")
        .because("not_allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        let (channel, rest) = text.split_once(':').unwrap();
        let (address, thread) = match rest.split_once('#') {
            Some((address, thread)) => (address, Some(thread.to_owned())),
            None => (rest, None),
        };
        Target { channel: channel.into(), address: address.into(), thread }
    }

    fn rights(allow: &[&str], hold: &[&str], cross_context: CrossContext) -> Rights {
        let list = |texts: &[&str]| Allowlist::parse(texts.iter().map(|text| (*text).to_owned())).unwrap();
        Rights { allow: list(allow), hold: list(hold), cross_context, ..Rights::default() }
    }

    fn origin(place: &str) -> Option<Origin> {
        Some(Origin { account: "home".into(), place: target(place), ..Origin::nowhere() })
    }

    impl Origin {
        fn nowhere() -> Self {
            let place = target("local:x");
            Self { account: "home".into(), place, session: None, turn: None, scope: None, because: None }
        }
    }

    fn judged(rights: &Rights, from: Option<&Origin>, to: &Target) -> Verdict {
        let from = Provenance { origin: from, least_trusted: None };
        judge(rights, from, &Subject::known("home", to), &Entries::new())
    }

    fn verdict(rights: &Rights, from: Option<Origin>, to: &str) -> &'static str {
        match judged(rights, from.as_ref(), &target(to)) {
            Verdict::Allow(_) => "allow",
            Verdict::Hold(_) => "hold",
            Verdict::Deny(refusal) => refusal.reason.unwrap(),
        }
    }

    #[test]
    fn a_question_is_always_a_persons_to_answer_and_needs_no_entry() {
        let person = "person:owner";
        for crossing in [CrossContext::Allow, CrossContext::Hold, CrossContext::Deny] {
            for list in [&[][..], &["*"]] {
                assert_eq!(verdict(&rights(list, &[], crossing), None, person), "hold");
            }
        }
        let of = |scope| origin("local:ann").map(|origin| Origin { scope: Some(scope), ..origin });
        let none = rights(&[], &[], CrossContext::Hold);
        assert_eq!(verdict(&none, of(Scope::Known), person), "hold");
        assert_eq!(verdict(&none, of(Scope::Unknown), person), "stranger");
    }

    #[test]
    fn without_an_entry_nothing_is_sent_not_even_in_its_own_conversation() {
        let none = rights(&[], &[], CrossContext::Allow);
        assert_eq!(verdict(&none, origin("local:ann"), "local:ann"), "not_allowed");
        assert_eq!(verdict(&none, None, "local:ann"), "not_allowed");
    }

    #[test]
    fn the_refusal_names_the_allowed_targets() {
        let rights = rights(&["slack:C0123", "local:*"], &[], CrossContext::Hold);
        let Verdict::Deny(refusal) = judged(&rights, None, &target("slack:C9")) else { panic!() };
        assert_eq!(
            refusal.error,
            "target \"slack:C9\" is not among this agent's allowed targets. Allowed: slack:C0123, local:*"
        );
    }

    #[test]
    fn its_own_conversation_never_asks() {
        let rights = rights(&["local:ann"], &["email:*"], CrossContext::Deny);
        assert_eq!(verdict(&rights, origin("local:ann"), "local:ann"), "allow");
        assert_eq!(verdict(&rights, origin("email:a@b.test"), "email:a@b.test"), "allow");
    }

    #[test]
    fn crossing_is_held_by_default() {
        let rights = rights(&["*"], &[], CrossContext::default());
        assert_eq!(verdict(&rights, origin("local:ann"), "local:bob"), "hold");
        assert_eq!(verdict(&rights, origin("local:ann"), "email:ann"), "hold");
    }

    #[test]
    fn a_turn_in_no_conversation_crosses_with_everything() {
        assert_eq!(verdict(&rights(&["*"], &[], CrossContext::Hold), None, "local:ann"), "hold");
        assert_eq!(verdict(&rights(&["*"], &[], CrossContext::Deny), None, "local:ann"), "cross_context");
        assert_eq!(verdict(&rights(&["*"], &[], CrossContext::Allow), None, "local:ann"), "allow");
    }

    #[test]
    fn a_turn_is_as_trusted_as_the_least_trusted_words_in_it() {
        let all = rights(&["*"], &[], CrossContext::Allow);
        let from = |scope| Some(Origin { scope: Some(scope), ..origin("local:ann").unwrap() });
        for (scope, elsewhere) in [
            (Scope::Blocked, "stranger"),
            (Scope::Unknown, "stranger"),
            (Scope::Known, "hold"),
            (Scope::Owner, "allow"),
        ] {
            assert_eq!(verdict(&all, from(scope), "local:bob"), elsewhere, "{scope}");
            assert_eq!(verdict(&all, from(scope), "local:ann"), "allow", "its own conversation, {scope}");
        }
        let denied = rights(&["*"], &[], CrossContext::Deny);
        assert_eq!(verdict(&denied, from(Scope::Known), "local:bob"), "cross_context");
    }

    #[test]
    fn a_call_that_names_no_turn_at_work_may_be_from_any_and_a_person_is_asked() {
        let all = rights(&["*"], &[], CrossContext::Allow);
        let because = Some("mallory wrote: \"tell Bob\"".to_owned());
        let ended = Origin { scope: Some(Scope::Owner), ..origin("local:ann").unwrap() };
        let vouched = origin("local:ann").unwrap();
        for scope in [Scope::Unknown, Scope::Known] {
            let least = LeastTrusted { turn: "t1".into(), scope, because: because.clone() };
            for origin in [None, Some(&ended), Some(&vouched)] {
                let from = Provenance { origin, least_trusted: Some(&least) };
                let bob = target("local:bob");
                let Verdict::Hold(Held { why, .. }) =
                    judge(&all, from, &Subject::known("home", &bob), &Entries::new())
                else {
                    panic!("{scope}, {origin:?}")
                };
                assert!(why.ends_with("; because mallory wrote: \"tell Bob\""), "{why}");
            }
        }
        let denied = rights(&["*"], &[], CrossContext::Deny);
        assert_eq!(verdict(&denied, None, "local:bob"), "cross_context");
    }

    #[test]
    fn nobody_but_an_owner_has_people_or_messages_acted_on_unasked() {
        let all = rights(&["*"], &[], CrossContext::Allow);
        let ann = target("local:ann");
        let subject = Subject { moderates: true, ..Subject::known("home", &ann) };
        for (scope, held) in [(Scope::Unknown, true), (Scope::Known, true), (Scope::Owner, false)] {
            let own = Origin { scope: Some(scope), ..origin("local:ann").unwrap() };
            let from = Provenance { origin: Some(&own), least_trusted: None };
            let judged = judge(&all, from, &subject, &Entries::new());
            assert_eq!(matches!(judged, Verdict::Hold(_)), held, "{scope}: {judged:?}");
        }
    }

    #[test]
    fn a_source_reads_back_as_it_was_written() {
        let least = LeastTrusted { turn: "t1".into(), scope: Scope::Known, because: None };
        let own = origin("local:ann#1");
        for (origin, least_trusted) in
            [(None, None), (own.clone(), None), (None, Some(least.clone())), (own, Some(least))]
        {
            let source = Source { origin, least_trusted };
            let written = source.provenance().written();
            let read = written.as_deref().map_or_else(Source::default, |text| Source::read(text).unwrap());
            assert_eq!(read, source);
        }
        for bad in ["{}", "[]", "{\"account\": \"home\"}", "{\"least_trusted\": 1}"] {
            assert!(Source::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_person_reads_whose_words_started_it() {
        let all = rights(&["*"], &[], CrossContext::Hold);
        let because = Some("Ann (telegram:1) wrote: \"tell Bob\"".to_owned());
        let from = Origin { because, ..origin("local:ann").unwrap() };
        let Verdict::Hold(Held { why, .. }) = judged(&all, Some(&from), &target("local:bob")) else {
            panic!()
        };
        let said = "it leaves its conversation, local:ann; because Ann (telegram:1) wrote: \"tell Bob\"";
        assert_eq!(why, said);
    }

    #[test]
    fn a_target_under_hold_asks_even_where_crossing_is_free() {
        let rights = rights(&["*"], &["email:*"], CrossContext::Allow);
        assert_eq!(verdict(&rights, origin("local:ann"), "email:a@b.test"), "hold");
        assert_eq!(verdict(&rights, origin("local:ann"), "local:bob"), "allow");
    }

    #[test]
    fn another_thread_or_account_is_another_conversation() {
        let rights = rights(&["*"], &[], CrossContext::Hold);
        assert_eq!(verdict(&rights, origin("local:ann#1"), "local:ann#1"), "allow");
        assert_eq!(verdict(&rights, origin("local:ann#1"), "local:ann#2"), "hold");
        assert_eq!(verdict(&rights, origin("local:ann#1"), "local:ann"), "hold");
        assert_eq!(verdict(&rights, origin("local:ann"), "local:ann#2"), "allow");
        let elsewhere = Origin { account: "work".into(), place: target("local:ann"), ..Origin::nowhere() };
        assert!(matches!(judged(&rights, Some(&elsewhere), &target("local:ann")), Verdict::Hold(_)));
    }

    #[test]
    fn a_message_of_another_thread_is_touched_as_one_of_another_conversation() {
        let judged = |rights: &Rights, from: &str, to: &str, location: Location| {
            let touched = [Touched { message: "5".into(), location }];
            let target = target(to);
            let subject = Subject { touched: &touched, ..Subject::known("home", &target) };
            let origin = origin(from);
            let from = Provenance { origin: origin.as_ref(), least_trusted: None };
            match judge(rights, from, &subject, &Entries::new()) {
                Verdict::Allow(_) => "allow".to_owned(),
                Verdict::Hold(held) => held.why,
                Verdict::Deny(refusal) => refusal.reason.unwrap().to_owned(),
            }
        };
        let all = rights(&["*"], &[], CrossContext::Hold);
        let thread = |id: &str| Location::Thread(id.into());
        assert_eq!(judged(&all, "local:ann#1", "local:ann#1", thread("1")), "allow");
        assert!(judged(&all, "local:ann#1", "local:ann#1", thread("2")).contains("another thread"));
        assert!(judged(&all, "local:ann#1", "local:ann#1", Location::Outside).contains("none"));
        assert!(judged(&all, "local:ann#1", "local:ann#1", Location::Unknown).contains("not known"));
        // Whoever is bound to the whole conversation may touch all of it.
        for location in [thread("2"), Location::Outside, Location::Unknown] {
            assert_eq!(judged(&all, "local:ann", "local:ann", location), "allow");
        }
        let denied = rights(&["*"], &[], CrossContext::Deny);
        assert_eq!(judged(&denied, "local:ann#1", "local:ann#1", Location::Unknown), "cross_context");
    }

    #[test]
    fn who_decides_is_what_the_lists_say_and_in_doubt_both_are_asked_for() {
        let list = |texts: &[&str]| Allowlist::parse(texts.iter().map(|text| (*text).to_owned())).unwrap();
        let by_companion = list(&["email:*", "local:boss", "person:owner"]);
        let rights = Rights {
            by_companion,
            by_web: list(&["local:boss", "local:ann"]),
            ..rights(&["*"], &[], CrossContext::Hold)
        };
        let by = |to: &str| match judged(&rights, None, &target(to)) {
            Verdict::Hold(held) => held.by,
            other => panic!("{to}: {other:?}"),
        };
        assert_eq!(by("email:ada@example.org"), Deciders::Companion);
        assert_eq!(by("local:ann"), Deciders::Web);
        assert_eq!(by("local:boss"), Deciders::Both);
        assert_eq!(by("local:bob"), Deciders::Any);
        assert_eq!(by("person:owner"), Deciders::Companion, "a question");
        let unknown = target("local:alias");
        let subject = Subject { unidentified: Some("away"), ..Subject::known("home", &unknown) };
        assert_eq!(rights.deciders(&subject, &Entries::new()), Deciders::Both);
    }
}
