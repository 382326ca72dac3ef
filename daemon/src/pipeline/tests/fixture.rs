//! A pipeline at work, with two channels; and what every pipeline of a test is made of.

use super::*;
use crate::{heartbeat::Heartbeats, turns::wake::Wake};

/// A pipeline at work.
pub(super) struct Fixture {
    pub(super) pipeline: Pipeline,
    pub(super) stop: oneshot::Sender<()>,
    pub(super) dispatcher: JoinHandle<()>,
}

pub(super) const CHANNELS: [&str; 2] = ["one", "two"];

impl Fixture {
    pub(super) async fn open(directory: &Path, one: &Arc<Platform>, two: &Arc<Platform>) -> Self {
        Self::with(directory, one, two, OnUnknown::Report).await
    }

    pub(super) async fn with(
        directory: &Path,
        one: &Arc<Platform>,
        two: &Arc<Platform>,
        on: OnUnknown,
    ) -> Self {
        Self::over(Store::open(directory).unwrap(), one, two, on).await
    }

    pub(super) async fn over(store: Store, one: &Arc<Platform>, two: &Arc<Platform>, on: OnUnknown) -> Self {
        let outbox = Outbox::new(store);
        crate::hub::install_tls_provider();
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
                ..Rights::default()
            },
            decorate: cross_context == CrossContext::Allow && one.files.is_some(),
            accounts: BTreeMap::new(),
            sources: Sources::default(),
            per_minute: 0,
            options: SendOptions::default(),
        };
        let agents =
            [("courier", CrossContext::Allow), ("asker", CrossContext::Hold), ("homely", CrossContext::Deny)];
        let agents = agents.map(|(name, cross_context)| (name.to_owned(), rules(cross_context)));
        let pipeline = Pipeline::new(shared(outbox, accounts, agents.into()));
        crate::hub::recover(&pipeline).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let dispatcher = tokio::spawn(Current::new(pipeline.clone()).dispatch(stopped));
        Self { pipeline, stop, dispatcher }
    }

    /// With this platform as channel `one`, and one that takes everything as `two`.
    pub(super) async fn of(one: Platform) -> (tempfile::TempDir, Arc<Platform>, Self) {
        let (directory, _, two) = platforms();
        let one = Arc::new(one);
        let fixture = Self::open(directory.path(), &one, &two).await;
        (directory, one, fixture)
    }

    pub(super) async fn send_as(&self, agent: &str, to: &str, more: Value) -> i64 {
        let mut call = json!({"to": to, "message": "Hello"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let call = Call::parse(&call, &CHANNELS).unwrap();
        let once = Idempotency::NONE;
        let receipt = self.pipeline.submit(agent, call, once).await.unwrap();
        self.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq
    }

    pub(super) async fn send(&self, to: &str, text: &str) -> i64 {
        self.send_as("courier", to, json!({"message": text})).await
    }

    pub(super) async fn end(&self, seq: i64) -> Receipt {
        self.pipeline.wait(seq, PATIENCE).await.unwrap()
    }

    /// The message, once it looks like this.
    pub(super) async fn until(&self, seq: i64, like: impl Fn(&MessageRow) -> bool) -> MessageRow {
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
    pub(super) async fn set(&self, seq: i64, sql: &'static str) {
        let outbox = self.pipeline.outbox();
        outbox.change(seq, move |tx| Ok(tx.execute(sql, [seq])?)).await.unwrap();
    }

    pub(super) async fn close(self) {
        let _ = self.stop.send(());
        self.dispatcher.await.unwrap();
        self.pipeline.outbox().store().close();
    }
}

pub(super) fn platforms() -> (tempfile::TempDir, Arc<Platform>, Arc<Platform>) {
    (tempfile::tempdir().unwrap(), Arc::default(), Arc::default())
}

pub(super) fn wait(seconds: u64) -> Failure {
    Failure::Wait { after: Duration::from_secs(seconds), why: "slow down".into() }
}

/// What a pipeline needs beside its accounts and agents: nothing is limited, and nobody has hooks.
pub(crate) fn shared(outbox: Outbox, accounts: Accounts, agents: BTreeMap<String, AgentRules>) -> Shared {
    let store = outbox.store().clone();
    let voice = crate::voice::Voice::OFF;
    Shared {
        approvals: Approvals::new(outbox.clone(), PublicKey([0; 32]), true),
        identities: Arc::new(Identities::new(store.clone())),
        files: Files::open(store, Bounds::default(), Private::default(), voice).unwrap(),
        outbox,
        accounts,
        agents,
        ttl: Duration::from_hours(24),
        context_ttl: Duration::from_hours(24),
        limiter: RateLimiter::default(),
        rates: Arc::default(),
        book: AddressBook::default(),
        readiness: Arc::default(),
        hooks: Hooks::new(Kinds::default()),
        routing: Arc::default(),
        wake: Wake::default(),
        heartbeats: Heartbeats::default(),
        itself: Arc::new(AgentRules::of_hub(vec![])),
        notify: None,
        home_assistant: None,
        asking: Wake::default(),
        attempts: Arc::default(),
        strangers_files: Arc::default(),
    }
}

pub(super) async fn hand_in(fixture: &Fixture, call: Value) -> Result<Receipt, Refusal> {
    let once = Idempotency::NONE;
    fixture.pipeline.submit("courier", Call::parse(&call, &CHANNELS).unwrap(), once).await
}
