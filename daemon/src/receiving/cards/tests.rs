use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::*;
use crate::{
    config::Config,
    outbox::Outbox,
    people::{People, Person},
    pipeline::tests::fixture::shared,
    policy::{Allowlist, Scope},
    router::{Route, Routing},
    store::Store,
};

struct Hub {
    _directory: tempfile::TempDir,
    pipeline: Pipeline,
}

impl Hub {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let config = Config::parse("[channels.local.home]\n", Path::new("test.toml")).unwrap();
        let accounts = crate::hub::open_accounts(&config, &store).unwrap();
        let from = Allowlist::parse(["local:*".to_owned()]).unwrap();
        let routes = vec![Route { from, ..Route::granted("a", "a") }];
        let shared = shared(Outbox::new(store), accounts, BTreeMap::new());
        let routing = Arc::new(Routing { routes, ..Routing::default() });
        Self { _directory: directory, pipeline: Pipeline::new(crate::pipeline::Shared { routing, ..shared }) }
    }

    /// Somebody has asked by this code, and their words wait.
    async fn asks(&self, code: &'static str, facts: &'static str) {
        let now = now_ms();
        let put = move |tx: &Transaction<'_>| {
            tx.execute(
                "INSERT INTO access_requests (code, what, subject, channel, account, address, agent, at, expires_at)
                 VALUES (?1, 'person', 'local:' || ?1, 'local', 'home', ?1, 'a', ?2, ?2 + 60000)",
                params![code, now],
            )?;
            tx.execute(
                "INSERT INTO inbound (channel, account, peer, sender, text, at, kind, facts, scope, request)
                 VALUES ('local', 'home', ?1, ?1, 'The pipe is broken.', ?2, 'message', ?3, 'unknown', ?1)",
                params![code, now, facts],
            )?;
            Ok::<_, StoreError>(())
        };
        self.pipeline.outbox().store().write(put).await.unwrap();
    }

    fn texts(&self, sql: &str) -> Vec<String> {
        self.pipeline.outbox().store().look(|db| rows(db, sql, |row| row.get(0))).unwrap()
    }

    fn decided(&self) -> Vec<String> {
        self.texts("SELECT code || ' ' || coalesce(decided, 'open') FROM access_requests ORDER BY seq")
    }
}

const DIRECT: &str = "{\"direct\": true}";

#[tokio::test]
async fn a_request_that_cannot_be_settled_keeps_no_other_from_it() {
    let hub = Hub::new();
    hub.asks("bad", DIRECT).await;
    hub.asks("good", DIRECT).await;
    let stuck = "UPDATE access_requests SET decided = 'refused';
        CREATE TRIGGER stuck BEFORE DELETE ON inbound WHEN OLD.request = 'bad' BEGIN SELECT RAISE(ABORT, 'stuck'); END";
    let store = hub.pipeline.outbox().store().clone();
    store.write(move |tx| Ok::<_, StoreError>(tx.execute_batch(stuck)?)).await.unwrap();
    let (_, wait) = hub.pipeline.look_after_cards().await.unwrap();
    assert_eq!((hub.texts("SELECT request FROM inbound"), wait), (vec!["bad".to_owned()], AGAIN));
}

#[tokio::test]
async fn a_grant_answers_the_open_request_of_whom_it_is_about() {
    let hub = Hub::new();
    hub.asks("eve", DIRECT).await;
    hub.asks("bob", DIRECT).await;
    hub.asks("zoe", DIRECT).await;
    hub.pipeline.grant("local:eve", Scope::Owner, "operator").await.unwrap();
    hub.pipeline.grant("local:bob", Scope::Blocked, "operator").await.unwrap();
    assert_eq!(hub.decided(), ["eve allowed", "bob refused", "zoe open"]);
    assert_eq!(hub.texts("SELECT session || ' ' || scope FROM turns"), ["local/home:eve owner"]);
    assert_eq!(hub.texts("SELECT sender FROM inbound ORDER BY seq"), ["eve", "zoe"]);
}

#[tokio::test]
async fn an_entry_in_the_configuration_answers_it_unless_nobody_vouches_for_the_author() {
    let hub = Hub::new();
    hub.asks("eve", "{\"direct\": true, \"same_as\": [\"evelyn\"]}").await;
    hub.asks("bob", "{\"direct\": true, \"unverified\": true}").await;
    let known =
        |name: &str, id: &str| (Person { name: name.into(), scope: Scope::Known }, vec![id.to_owned()]);
    let people = People::new([known("eve", "local:evelyn"), known("bob", "local:bob")]).unwrap();
    let routing = Arc::new(Routing { people, ..(*hub.pipeline.0.routing).clone() });
    let reloaded = hub.pipeline.reconfigured(|shared| shared.routing = routing);
    assert!(reloaded.settle_cards().await.unwrap());
    assert_eq!(hub.decided(), ["eve allowed", "bob open"]);
    assert_eq!(hub.texts("SELECT session || ' ' || scope FROM turns"), ["local/home:eve known"]);
    assert!(hub.texts("SELECT user FROM grants").is_empty(), "it holds as long as the configuration says so");
}
