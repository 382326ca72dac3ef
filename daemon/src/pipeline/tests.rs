//! The whole pipeline, with platforms that answer as they are told.

mod accounts;
mod answers;
mod broadcast;
mod identities;
mod operations;
mod spellings;
mod uncertain;

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatepost_chunk::Unit;
use gatepost_link::decision::PublicKey;
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

use super::{
    AgentRules, Pipeline, SendOptions, Shared, address_book::AddressBook, current::Current,
    identities::Identities, rate_limiter::RateLimiter,
};
use crate::{
    admission::submit::Idempotency,
    approval::Approvals,
    channels::{
        Adapter, Attempt, Capabilities, Delivered, Failure, FileForm, FileRules, IdScope, NotReady,
        OperationRequest, OutgoingPart, PartKey, RateHints, Receiver, Redelivery, Refused, Sender,
        TargetError,
        account::{Accounts, OnUnknown},
        callback::{CallbackRefused, DeliveryStatus, Lost},
        capabilities::{ButtonRules, PollRules},
        fingerprint::Fingerprint,
        formats,
        identity::{Identity, Spelling, Unidentified},
        limits::{Allowance, Scope},
    },
    delivery::{ending::MAX_QUESTIONS, lanes::AT_ONCE},
    files::{Bounds, Files, Sources, fetch_policy::Private},
    hooks::{Hooks, Kinds},
    message::{
        action::Action,
        attachment::Attachment,
        call::Call,
        receipt::Receipt,
        recipients::{Recipients, Unreached},
        state::State,
    },
    outbox::{Outbox, row::MessageRow},
    policy::{Allowlist, CrossContext, Rights},
    render::Flavour,
    store::{Store, now_ms},
};

/// More than any of this takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A platform that takes everything, but for what it was told about an address.
#[derive(Default)]
struct Platform {
    /// Address and text, as they came.
    heard: Mutex<Vec<(String, String)>>,
    /// What is answered at an address the next time.
    answers: Mutex<HashMap<String, Failure>>,
    /// What it says of its limits, an answer each.
    says: Mutex<Vec<Allowance>>,
    /// It reads, and answers nobody.
    silent: bool,
    files: Option<FileForm>,
    /// It has every action.
    able: bool,
    /// What it says when it is asked whether something arrived; where there is nothing, it cannot be asked.
    found: Mutex<Option<Result<Option<String>, Failure>>>,
    /// It can be looked at, and does not show all that arrived.
    looks: bool,
    /// Every question whether something arrived fails.
    deaf: bool,
    /// Where its conversations stand, and where they stood when it was asked whether something arrived.
    stands: Mutex<Option<Result<Option<String>, Failure>>>,
    stood: Mutex<Vec<Option<String>>>,
    /// Whom everything reaches.
    reached: Mutex<Option<Recipients>>,
}

impl Platform {
    fn answers(&self, address: &str, failure: Failure) {
        self.answers.lock().unwrap().insert(address.into(), failure);
    }

    fn heard(&self, address: &str) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|(to, _)| to == address).map(|(_, text)| text.clone()).collect()
    }
}

#[async_trait]
impl Adapter for Platform {
    fn capabilities(&self) -> &'static Capabilities {
        const fn can(files: Option<FileForm>) -> Capabilities {
            let files = match files {
                Some(form) => {
                    Some(FileRules { max_size: 10, everywhere: None, max_together: 15, form, kinds: &[] })
                }
                None => None,
            };
            Capabilities {
                channel: "test",
                threads: true,
                replies: true,
                silent: true,
                address_hint: "x",
                files,
                actions: &[Action::React, Action::Edit, Action::Thread],
                buttons: Some(ButtonRules {
                    rows: 2,
                    per_row: 2,
                    in_all: 3,
                    text: 5,
                    data: 4,
                    data_unit: Unit::Bytes,
                    url: 0,
                }),
                polls: Some(PollRules {
                    options: 3,
                    question: 10,
                    option: 5,
                    unit: Unit::CodePoints,
                    multiple: false,
                    seconds: 0,
                    anonymous: false,
                    stand_in: None,
                }),
                instead: &[(Action::Pin, "write it again")],
                ..Capabilities::PLAIN
            }
        }
        const BARE: Capabilities = can(None);
        const CAPTIONED: Capabilities = can(Some(FileForm::Captioned));
        const TOGETHER: Capabilities = can(Some(FileForm::Together));
        const ABLE: Capabilities = Capabilities { actions: Action::ALL, effects: &["slam"], ..CAPTIONED };
        if self.able {
            return &ABLE;
        }
        match self.files {
            None => &BARE,
            Some(FileForm::Captioned) => &CAPTIONED,
            Some(FileForm::Together) => &TOGETHER,
        }
    }

    fn scope(&self, _: &str) -> IdScope {
        IdScope::Conversation
    }

    fn flavour(&self) -> Flavour {
        Flavour { limit: Some(100), ..formats::LOCAL.flavour }
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        Ok(address.into())
    }

    /// `also-X` is `X`, as the platform knows; `whose` nobody knows.
    fn identity(&self, address: &str) -> Spelling {
        match address.starts_with("also-") || address == "whose" {
            true => Spelling::Ask,
            false => Spelling::known(address),
        }
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        let known = address.strip_prefix("also-").map(Identity::new);
        known.ok_or_else(|| Unidentified::not_known("it has no name on its door"))
    }

    fn joins_album(&self, files: &[Attachment], file: &Attachment) -> bool {
        files.len() < 3 && files.iter().chain([file]).all(|file| file.name.starts_with("picture"))
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        Ok("ready".into())
    }
}

#[async_trait]
impl Sender for Platform {
    type Request = Value;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Value, Refused> {
        if outgoing.part.text.contains("unheard of") {
            return Err(Refused::because("that is unheard of here: say something else"));
        }
        let files = outgoing.files.iter().map(|file| format!("<{}>", file.name));
        let buttons = outgoing.extras.buttons.iter().flatten().map(|button| format!("({})", button.text));
        let text: Vec<String> =
            std::iter::once(outgoing.part.text.clone()).chain(files).chain(buttons).collect();
        Ok(json!({"to": outgoing.address, "text": text.join("")}))
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Value, Refused>> {
        let text = op.part.map_or("", |part| part.text.as_str());
        Some(Ok(json!({"to": op.address, "text": format!("{:?} {text}", op.operation.action())})))
    }

    async fn position(&self, _: &Value, _: &mut RateHints) -> Result<Option<String>, Failure> {
        self.stands.lock().unwrap().clone().unwrap_or(Ok(None))
    }

    async fn find(
        &self,
        _: &Value,
        attempt: &Attempt<'_>,
        _: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        self.stood.lock().unwrap().push(attempt.position.map(str::to_owned));
        if self.deaf {
            return Err(Failure::Retry("nobody answers".into()));
        }
        self.found.lock().unwrap().take().unwrap_or(Ok(None))
    }

    async fn deliver(
        &self,
        request: &Value,
        _: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let (to, text) =
            (request["to"].as_str().unwrap().to_owned(), request["text"].as_str().unwrap().to_owned());
        self.heard.lock().unwrap().push((to.clone(), text));
        if let Some(said) = self.says.lock().unwrap().pop() {
            hints.note(said);
        }
        if self.silent {
            std::future::pending::<()>().await;
        }
        match self.answers.lock().unwrap().remove(&to) {
            Some(failure) => Err(failure),
            None => {
                let recipients = self.reached.lock().unwrap().clone();
                Ok(Delivered { recipients, ..Delivered::from("x".to_owned()) })
            }
        }
    }

    fn redelivery(&self, _: &Value) -> Redelivery {
        match (self.looks, self.found.lock().unwrap().is_some()) {
            (true, _) => Redelivery::Look,
            (false, true) => Redelivery::Ask,
            (false, false) => Redelivery::Never,
        }
    }
}

#[async_trait]
impl Receiver for Platform {
    async fn read_callback(
        &self,
        signature: &str,
        body: &[u8],
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        let text = String::from_utf8_lossy(body);
        let (word, key) = text.split_once(' ').ok_or(CallbackRefused::Body)?;
        let lost = || Lost { id: "x".into(), why: "it never arrives".into(), again: word == "otherwise" };
        let outcome = if word == "arrived" { Ok("told".into()) } else { Err(lost()) };
        match signature {
            "signed" => Ok(vec![DeliveryStatus { key: PartKey(key.into()), outcome }]),
            _ => Err(CallbackRefused::Signature),
        }
    }
}

/// A pipeline at work.
struct Fixture {
    pipeline: Pipeline,
    stop: oneshot::Sender<()>,
    dispatcher: JoinHandle<()>,
}

const CHANNELS: [&str; 2] = ["one", "two"];

impl Fixture {
    async fn open(directory: &Path, one: &Arc<Platform>, two: &Arc<Platform>) -> Self {
        Self::with(directory, one, two, OnUnknown::Report).await
    }

    async fn with(directory: &Path, one: &Arc<Platform>, two: &Arc<Platform>, on: OnUnknown) -> Self {
        let outbox = Outbox::new(Store::open(directory).unwrap());
        crate::hub::install_tls_provider();
        let files = Files::open(
            outbox.store().clone(),
            Bounds::default(),
            Private::default(),
            crate::voice::Voice::OFF,
        )
        .unwrap();
        let mut accounts = Accounts::default();
        for (channel, platform) in CHANNELS.into_iter().zip([one, two]) {
            let adapter = Arc::clone(platform) as Arc<dyn Adapter>;
            accounts.add((channel, "home"), adapter, on, Fingerprint::default());
        }
        let rules = |cross_context| AgentRules {
            rights: Rights {
                allow: Allowlist::parse(["*".to_owned()]).unwrap(),
                hold: Allowlist::parse([]).unwrap(),
                cross_context,
            },
            decorate: cross_context == CrossContext::Allow && one.files.is_some(),
            accounts: BTreeMap::new(),
            sources: Sources::default(),
            per_minute: 0,
            options: SendOptions::default(),
        };
        let pipeline = Pipeline::new(Shared {
            approvals: Approvals::new(outbox.clone(), PublicKey([0; 32]), true),
            identities: Arc::new(Identities::new(outbox.store().clone())),
            outbox,
            accounts,
            agents: [
                ("courier", CrossContext::Allow),
                ("asker", CrossContext::Hold),
                ("homely", CrossContext::Deny),
            ]
            .map(|(name, cross_context)| (name.to_owned(), rules(cross_context)))
            .into(),
            ttl: Duration::from_hours(24),
            context_ttl: Duration::from_hours(24),
            limiter: RateLimiter::default(),
            rates: Arc::default(),
            book: AddressBook::default(),
            files,
            readiness: Arc::default(),
            hooks: Hooks::new(Kinds::default()),
        });
        crate::hub::recover(&pipeline).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let dispatcher = tokio::spawn(Current::new(pipeline.clone()).dispatch(stopped));
        Self { pipeline, stop, dispatcher }
    }

    async fn send_as(&self, agent: &str, to: &str, more: Value) -> i64 {
        let mut call = json!({"to": to, "message": "Hello"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let call = Call::parse(&call, &CHANNELS).unwrap();
        let once = Idempotency::NONE;
        let receipt = self.pipeline.submit(agent, call, once).await.unwrap();
        self.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq
    }

    async fn send(&self, to: &str, text: &str) -> i64 {
        self.send_as("courier", to, json!({"message": text})).await
    }

    async fn end(&self, seq: i64) -> Receipt {
        self.pipeline.wait(seq, PATIENCE).await.unwrap()
    }

    /// The message, once it looks like this.
    async fn until(&self, seq: i64, like: impl Fn(&MessageRow) -> bool) -> MessageRow {
        let row = async {
            loop {
                let row = self.pipeline.outbox().get(seq).await.unwrap();
                if like(&row) {
                    return row;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, row).await.expect("it never looks like this")
    }

    /// Lets its time come.
    async fn set(&self, seq: i64, sql: &'static str) {
        let outbox = self.pipeline.outbox();
        outbox.change(seq, move |tx| Ok(tx.execute(sql, [seq])?)).await.unwrap();
    }

    async fn close(self) {
        let _ = self.stop.send(());
        self.dispatcher.await.unwrap();
        self.pipeline.outbox().store().close();
    }
}

fn platforms() -> (tempfile::TempDir, Arc<Platform>, Arc<Platform>) {
    (tempfile::tempdir().unwrap(), Arc::default(), Arc::default())
}

fn wait(seconds: u64) -> Failure {
    Failure::Wait { after: Duration::from_secs(seconds), why: "slow down".into() }
}

#[tokio::test]
async fn a_platform_that_answers_nobody_delays_no_other() {
    let (directory, _, two) = platforms();
    let silent = Arc::new(Platform { silent: true, ..Platform::default() });
    let fixture = Fixture::open(directory.path(), &silent, &two).await;
    for n in 0..AT_ONCE + 20 {
        fixture.send(&format!("one:{n}"), "Hello").await;
    }
    for n in 0..20 {
        let seq = fixture.send(&format!("two:{n}"), "Hello").await;
        assert_eq!(fixture.end(seq).await.state, State::Sent);
    }
    assert_eq!(silent.heard.lock().unwrap().len(), AT_ONCE, "and it holds a bounded number of connections");
    fixture.dispatcher.abort();
}

#[tokio::test]
async fn what_waits_keeps_its_lane_in_order_and_no_other_lane() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    one.answers("ann", Failure::Retry("away".into()));
    let first = fixture.send("one:ann", "first").await;
    let due = fixture.until(first, |row| row.attempts == 1).await.due_at - now_ms();
    assert!((4_000..=5_500).contains(&due), "{due}");
    let second = fixture.send("one:ann", "second").await;
    let other = fixture.send("one:bob", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.pipeline.outbox().get(second).await.unwrap().state, State::Ready);
    fixture.set(first, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
    assert_eq!(fixture.end(second).await.state, State::Sent);
    assert_eq!(one.heard("ann"), ["first", "first", "second"]);
    fixture.close().await;
}

#[tokio::test]
async fn a_held_message_blocks_nobody() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let held = fixture.send_as("asker", "one:ann", json!({})).await;
    let other = fixture.send("one:ann", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.pipeline.outbox().get(held).await.unwrap().state, State::Held);
    fixture.close().await;
}

#[tokio::test]
async fn a_pause_is_kept_by_all_that_goes_the_same_way_also_after_a_restart_and_spends_no_attempt() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    one.answers("ann", wait(6_775));
    let first = fixture.send("one:ann", "first").await;
    let row = fixture.until(first, |row| row.reason.is_some()).await;
    let due = row.due_at - now_ms();
    assert!((6_770_000..=6_775_000).contains(&due), "{due}");
    assert_eq!((row.attempts, row.state), (0, State::Ready));
    // Its successor does not try in its place, nor after a restart.
    fixture.pipeline.cancel(first, crate::message::state::Actor::Operator, "test").await.unwrap();
    let second = fixture.send("one:ann", "second").await;
    fixture.close().await;
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let other = fixture.send("one:bob", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.pipeline.outbox().get(second).await.unwrap().state, State::Ready);
    assert_eq!(one.heard("ann"), ["first"]);

    // What is said of an account holds for all of its conversations.
    one.says.lock().unwrap().push(Allowance::none(Scope::Account, Duration::from_secs(6_775)));
    let last = fixture.send("one:bob", "last").await;
    assert_eq!(fixture.end(last).await.state, State::Sent);
    let waits = fixture.send("one:carol", "waits").await;
    let other = fixture.send("two:carol", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.pipeline.outbox().get(waits).await.unwrap().state, State::Ready);
    assert!(one.heard("carol").is_empty());
    fixture.close().await;
}

#[tokio::test]
async fn a_platforms_own_numbers_are_kept_to_by_the_lanes_that_they_are_about() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let lasts = Duration::from_millis(1_500);
    let route = Allowance { scope: Scope::Chat, quota: "route".into(), left: 1, lasts };
    one.says.lock().unwrap().push(route);
    let since = std::time::Instant::now();
    let first = fixture.send("one:ann", "first").await;
    assert_eq!(fixture.end(first).await.state, State::Sent);
    let second = fixture.send("one:ann", "second").await;
    let long = "All work and no play makes Jack a dull boy. ".repeat(5);
    let third = fixture.send_as("courier", "one:ann", json!({"message": long, "bestEffort": true})).await;
    let other = fixture.send("one:bob", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.end(second).await.state, State::Sent);
    assert_eq!(one.heard("ann"), ["first", "second"]);
    assert_eq!(fixture.end(third).await.state, State::Sent, "what is brief drops nothing");
    assert!(since.elapsed() >= lasts, "{:?}", since.elapsed());
    fixture.close().await;
}

#[tokio::test]
async fn a_message_of_which_nothing_more_goes_says_how_far_it_came() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    // The pause comes with the answer to the first part.
    one.says.lock().unwrap().push(Allowance::none(Scope::Account, Duration::from_secs(6_775)));
    let long = "All work and no play makes Jack a dull boy. ".repeat(5);
    let seq = fixture.send_as("courier", "one:ann", json!({"message": long, "bestEffort": true})).await;
    let receipt = fixture.end(seq).await;
    assert_eq!(receipt.state, State::Failed);
    assert_eq!(receipt.sent.as_deref(), Some("1 of 3"));
    let error = receipt.error.unwrap();
    assert!(error.contains("pause") && error.contains("bestEffort"), "{error}");
    fixture.close().await;
}

#[tokio::test]
async fn a_lost_answer_is_reported_or_resent_as_the_account_or_the_call_says() {
    let lost = || Failure::Unknown("no answer".into());
    for (on, call, resent) in [
        (OnUnknown::Report, json!({}), false),
        (OnUnknown::Resend, json!({}), true),
        (OnUnknown::Report, json!({"onUnknown": "resend"}), true),
        (OnUnknown::Resend, json!({"onUnknown": "report"}), false),
    ] {
        let (directory, one, two) = platforms();
        let fixture = Fixture::with(directory.path(), &one, &two, on).await;
        one.answers("ann", lost());
        let seq = fixture.send_as("courier", "one:ann", call).await;
        let row = fixture.until(seq, |row| row.reason.is_some()).await;
        if resent {
            assert_eq!(row.state, State::Ready);
            fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
        }
        let expected = if resent { (State::Sent, 2) } else { (State::Unknown, 1) };
        assert_eq!((fixture.end(seq).await.state, one.heard("ann").len()), expected);
        fixture.close().await;
    }
}

#[tokio::test]
async fn what_may_have_arrived_is_unknown_also_when_its_time_is_over() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::with(directory.path(), &one, &two, OnUnknown::Resend).await;
    one.answers("ann", Failure::Unknown("no answer".into()));
    let seq = fixture.send("one:ann", "Hello").await;
    fixture.until(seq, |row| row.reason.is_some()).await;
    fixture.set(seq, "UPDATE messages SET deadline = 1 WHERE seq = ?").await;
    let receipt = fixture.end(seq).await;
    assert_eq!(receipt.state, State::Unknown, "{receipt:?}");
    assert_eq!(receipt.code.as_deref(), Some("unknown_outcome"));
    fixture.close().await;
}

fn files(files: Value) -> Value {
    let mut call = json!({"to": "one:ann", "message": "Hello", "attachments": files});
    if call["attachments"][0]["name"] == "mute" {
        call.as_object_mut().unwrap().remove("message");
    }
    call
}

async fn hand_in(fixture: &Fixture, call: Value) -> Result<Receipt, crate::message::refusal::Refusal> {
    let once = Idempotency::NONE;
    fixture.pipeline.submit("courier", Call::parse(&call, &CHANNELS).unwrap(), once).await
}

#[tokio::test]
async fn a_channel_without_files_refuses_them_at_the_door_and_one_with_files_what_is_too_large_for_it() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let refused = hand_in(&fixture, files(json!([{"base64": "aGk="}]))).await.unwrap_err();
    assert_eq!((refused.reason, refused.error.as_str()), (Some("not_supported"), "test has no files"));
    assert!(refused.hint.contains("link"), "{}", refused.hint);
    fixture.close().await;

    let (directory, _, two) = platforms();
    let one = Arc::new(Platform { files: Some(FileForm::Captioned), ..Platform::default() });
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    for sizes in [&[12][..], &[9, 9]] {
        let large = sizes.iter().map(|n| json!({"base64": "eHh4".repeat(n / 3)})).collect();
        let refused = hand_in(&fixture, files(large)).await.unwrap_err();
        assert_eq!((refused.code.word(), refused.reason), ("too_large", Some("files")), "{sizes:?}");
    }
    let listed = fixture.pipeline.outbox().list(crate::outbox::Filter { limit: 9, ..Default::default() });
    assert!(listed.await.unwrap().is_empty());
    fixture.close().await;
}

#[tokio::test]
async fn files_follow_the_text_each_with_its_caption_or_behind_one_that_is_too_long_for_it() {
    let (directory, _, two) = platforms();
    let one = Arc::new(Platform { files: Some(FileForm::Captioned), ..Platform::default() });
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let long = "word ".repeat(30);
    let call = files(json!([
        {"base64": "eA==", "name": "a", "caption": "*A*"},
        {"base64": "eA==", "name": "b", "caption": long},
        {"base64": "eA==", "name": "c"},
    ]));
    let receipt = hand_in(&fixture, call).await.unwrap();
    let seq = fixture.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    let heard = one.heard("ann");
    assert_eq!(heard[..2], ["[courier] Hello", "A<a>"]);
    assert_eq!(heard[2..heard.len() - 2].join(" "), long.trim());
    assert!(heard.len() > 5, "{heard:?}");
    assert_eq!(heard[heard.len() - 2..], ["<b>", "<c>"]);
    fixture.close().await;
}

#[tokio::test]
async fn what_is_shown_together_goes_in_one_request_but_for_what_has_words_of_its_own() {
    let (directory, _, two) = platforms();
    let one = Arc::new(Platform { files: Some(FileForm::Captioned), ..Platform::default() });
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let file = |name: &str| json!({"base64": "eA==", "name": name});
    let mut list: Vec<Value> = (1..=5).map(|n| file(&format!("picture{n}"))).collect();
    list[0]["caption"] = json!("A");
    list.extend([file("other"), file("picture6"), file("picture7")]);
    list[6]["caption"] = json!("B");
    let receipt = hand_in(&fixture, files(json!(list))).await.unwrap();
    let seq = fixture.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    let expected = [
        "[courier] Hello",
        "A<picture1><picture2><picture3>",
        "<picture4><picture5>",
        "<other>",
        "B<picture6><picture7>",
    ];
    assert_eq!(one.heard("ann"), expected);
    fixture.close().await;
}

#[tokio::test]
async fn without_a_text_whose_it_is_stands_at_the_first_file() {
    for (form, expected) in [
        (FileForm::Captioned, &["[courier]<mute>", "B<b>"][..]),
        (FileForm::Together, &["[courier]\n\nb: B<mute><b>"]),
    ] {
        let (directory, _, two) = platforms();
        let one = Arc::new(Platform { files: Some(form), ..Platform::default() });
        let fixture = Fixture::open(directory.path(), &one, &two).await;
        let call = files(json!([
            {"base64": "eA==", "name": "mute"}, {"base64": "eQ==", "name": "b", "caption": "B"},
        ]));
        let receipt = hand_in(&fixture, call).await.unwrap();
        let seq = fixture.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq;
        assert_eq!(fixture.end(seq).await.state, State::Sent);
        assert_eq!(one.heard("ann"), expected);
        fixture.close().await;
    }
}
