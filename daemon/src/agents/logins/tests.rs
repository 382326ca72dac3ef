use super::*;
use crate::agents::{self, Role};

fn client() -> Client {
    Client { browser: "Firefox on Linux".into(), from: "127.0.0.1".into() }
}

/// A hub's database with an operator in it, and the hash of their token.
async fn operator() -> (tempfile::TempDir, Store, TokenHash) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let token = agents::add(&store, "ann", Role::Operator, "hub").await.unwrap();
    (directory, store, hash(&token))
}

/// What the audit says of logins: event, actor, and why.
async fn told(store: &Store) -> Vec<(String, String, String)> {
    const SQL: &str = "SELECT event, actor, coalesce(detail ->> '$.why', '') FROM audit WHERE event LIKE 'login.%' ORDER BY seq";
    store
        .read(|db| {
            let mut rows = db.prepare(SQL)?;
            let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
        })
        .await
        .unwrap()
}

/// As if nobody had used it for so long.
async fn idle(store: &Store, id: &str, ms: i64) {
    let id = id.to_owned();
    let sql = "UPDATE logins SET seen_at = ? WHERE id = ?";
    store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, params![now_ms() - ms, id])?)).await.unwrap();
}

#[tokio::test]
async fn a_login_stands_until_it_is_ended_and_its_cookie_is_never_kept() {
    let (directory, store, token) = operator().await;
    let (id, secret) = begin(&store, token, Way::Code, client()).await.unwrap().unwrap();
    let login = find(&store, &secret).unwrap().unwrap();
    assert_eq!((login.caller.to_string(), login.way, &login.id), ("operator:ann".into(), Way::Code, &id));
    assert_eq!((secret.len(), find(&store, &id).unwrap()), (64, None));
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
    assert_eq!(list(&store).await.unwrap().len(), 1);
    assert!(end(&store, &id, End::SignedOut, "operator:ann").await.unwrap());
    assert!(!end(&store, &id, End::SignedOut, "operator:ann").await.unwrap());
    assert_eq!(find(&store, &secret).unwrap(), None);
    let told = told(&store).await;
    let words: Vec<_> =
        told.iter().map(|(event, actor, why)| (event.as_str(), actor.as_str(), why.as_str())).collect();
    assert_eq!(words, [("login.began", "operator:ann", ""), ("login.ended", "operator:ann", "signed out")]);
}

#[tokio::test]
async fn it_ends_with_its_token_and_begins_by_no_other_right() {
    let (_directory, store, token) = operator().await;
    let (_, secret) = begin(&store, token, Way::Token, client()).await.unwrap().unwrap();
    agents::add(&store, "bob", Role::Operator, "hub").await.unwrap();
    let agent = hash(&agents::add(&store, "engineer", Role::Agent, "hub").await.unwrap());
    for without_right in [agent, [7; 32]] {
        assert!(begin(&store, without_right, Way::Token, client()).await.unwrap().is_none());
    }
    agents::revoke(&store, "bob", "operator:bob").await.unwrap();
    assert!(find(&store, &secret).unwrap().is_some(), "another operator's token");
    agents::revoke(&store, "ann", "operator:bob").await.unwrap();
    assert_eq!(find(&store, &secret).unwrap(), None);
    assert!(list(&store).await.unwrap().is_empty());
    assert!(begin(&store, token, Way::Code, client()).await.unwrap().is_none());
    // Nor does a token that comes in its place give it back.
    agents::add(&store, "ann", Role::Operator, "operator:bob").await.unwrap();
    assert_eq!(find(&store, &secret).unwrap(), None);
    assert_eq!(told(&store).await[1], ("login.ended".into(), "operator:bob".into(), "token revoked".into()));
}

#[tokio::test]
async fn one_that_nobody_uses_is_over_after_thirty_days_and_use_keeps_it() {
    let (_directory, store, token) = operator().await;
    let (id, secret) = begin(&store, token, Way::Code, client()).await.unwrap().unwrap();
    idle(&store, &id, IDLE_MS - 60_000).await;
    assert!(find(&store, &secret).unwrap().unwrap().is_stale());
    seen(&store, &id, "192.0.2.1").await.unwrap();
    assert!(!find(&store, &secret).unwrap().unwrap().is_stale());
    assert_eq!(list(&store).await.unwrap()[0].from, "192.0.2.1");
    idle(&store, &id, IDLE_MS).await;
    assert_eq!(find(&store, &secret).unwrap(), None);
    assert!(list(&store).await.unwrap().is_empty());
    begin(&store, token, Way::Code, client()).await.unwrap().unwrap();
    assert_eq!(told(&store).await[1], ("login.ended".into(), "hub".into(), "not used".into()));
}

#[tokio::test]
async fn there_are_so_many_and_the_one_used_last_longest_ago_goes() {
    let (_directory, store, token) = operator().await;
    let (first, _) = begin(&store, token, Way::Code, client()).await.unwrap().unwrap();
    idle(&store, &first, 1_000).await;
    for _ in 0..MAX_LOGINS {
        begin(&store, token, Way::Code, client()).await.unwrap().unwrap();
    }
    let listed = list(&store).await.unwrap();
    assert_eq!(i64::try_from(listed.len()).unwrap(), MAX_LOGINS);
    assert!(listed.iter().all(|one| one.login != first));
    assert!(told(&store).await.contains(&("login.ended".into(), "hub".into(), "too many logins".into())));
}

#[tokio::test]
async fn none_outlives_the_database_that_a_backup_replaces() {
    let (directory, store, token) = operator().await;
    let (_, secret) = begin(&store, token, Way::Code, client()).await.unwrap().unwrap();
    crate::store::tests::close(store);
    let store = Store::open(directory.path()).unwrap();
    assert!(find(&store, &secret).unwrap().is_some(), "a start alone ends nothing");
    crate::store::tests::close(store);
    std::fs::remove_file(directory.path().join("epoch")).unwrap();
    assert_eq!(find(&Store::open(directory.path()).unwrap(), &secret).unwrap(), None);
}
