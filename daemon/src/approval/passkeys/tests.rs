use std::sync::Arc;

use super::{
    testing::{Authenticator, sites},
    *,
};
use crate::agents::{self, Role};

struct Fixture {
    _directory: tempfile::TempDir,
    store: Store,
    token: TokenHash,
}

impl Fixture {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let token = agents::add(&store, "me", Role::Operator, "operator:me").await.unwrap();
        Self { _directory: directory, store, token: agents::hash(&token) }
    }

    async fn add(&self, n: u8, name: &str) -> Result<Passkey, PasskeyError> {
        let new = Authenticator::new(n).new_passkey(name, self.token);
        add(&self.store, new, "operator:me").await
    }

    async fn names(&self) -> Vec<String> {
        list(&self.store).await.unwrap().into_iter().map(|passkey| passkey.name).collect()
    }
}

#[tokio::test]
async fn each_has_a_name_of_its_own_and_room_is_bounded() {
    let fixture = Fixture::new().await;
    let first = fixture.add(1, "phone").await.unwrap();
    assert_eq!((first.name.as_str(), first.short().len()), ("phone", 16));
    assert_eq!(fixture.add(2, "Phone").await.unwrap().name, "Phone 2");
    assert!(matches!(fixture.add(1, "other").await, Err(PasskeyError::Known)));
    for odd in ["", " ", "a\u{202e}b", "a  b", &"x".repeat(41)] {
        assert!(matches!(fixture.add(3, odd).await, Err(PasskeyError::Name(_))), "{odd:?}");
    }
    for n in 3..=32 {
        fixture.add(n, "key").await.unwrap();
    }
    assert!(matches!(fixture.add(33, "key").await, Err(PasskeyError::Full)));
    remove(&fixture.store, &first.short(), "operator:me").await.unwrap();
    fixture.add(33, "phone").await.unwrap();
    assert!(matches!(fixture.add(1, "again").await, Err(PasskeyError::Known)), "also what was removed");
    assert!(matches!(remove(&fixture.store, &first.short(), "me").await, Err(PasskeyError::Missing)));
}

#[tokio::test]
async fn one_key_is_one_passkey_whatever_its_credential_is_called() {
    let (fixture, phone) = (Fixture::new().await, Authenticator::new(1));
    let first = add(&fixture.store, phone.new_passkey("phone", fixture.token), "operator:me").await.unwrap();
    // It would be two where two must approve.
    let again = || New { credential: vec![9; 32], ..phone.new_passkey("again", fixture.token) };
    assert!(matches!(add(&fixture.store, again(), "operator:me").await, Err(PasskeyError::Known)));
    remove(&fixture.store, &first.short(), "operator:me").await.unwrap();
    add(&fixture.store, again(), "operator:me").await.unwrap();
}

#[tokio::test]
async fn it_stands_as_long_as_its_token_and_no_longer() {
    let fixture = Fixture::new().await;
    fixture.add(1, "phone").await.unwrap();
    let agent = agents::add(&fixture.store, "bot", Role::Agent, "operator:me").await.unwrap();
    let new = Authenticator::new(2).new_passkey("bot's", agents::hash(&agent));
    assert!(matches!(add(&fixture.store, new, "agent:bot").await, Err(PasskeyError::Token)));
    assert_eq!(fixture.names().await, ["phone"]);
    agents::revoke(&fixture.store, "me", "operator").await.unwrap();
    assert!(fixture.names().await.is_empty());
}

#[tokio::test]
async fn it_signs_in_by_what_it_was_asked_to_sign_and_with_a_counter_that_rises() {
    let fixture = Fixture::new().await;
    let phone = Authenticator::new(1);
    add(&fixture.store, phone.new_passkey("phone", fixture.token), "operator:me").await.unwrap();
    let sites = Arc::new(sites());
    let sign_in = |key: &Authenticator, challenge: &[u8], counter| {
        let (assertion, sites) = (key.sign(challenge, counter), sites.clone());
        let is_own = move |origin: &str, _: &str| sites[0].origin == origin;
        let (store, credential) = (fixture.store.clone(), key.credential.clone());
        async move { sign_in(&store, &credential, b"given".to_vec(), assertion, is_own).await }
    };
    assert_eq!(sign_in(&phone, b"given", 0).await.unwrap(), fixture.token);
    sign_in(&phone, b"given", 0).await.unwrap();
    sign_in(&phone, b"given", 7).await.unwrap();
    for counter in [0, 6, 7] {
        let refused = sign_in(&phone, b"given", counter).await;
        assert!(matches!(refused, Err(SignInError::Unsigned(Unsigned::Counter))), "{counter}");
    }
    let refused = sign_in(&phone, b"other", 8).await;
    assert!(matches!(refused, Err(SignInError::Unsigned(Unsigned::Challenge))));
    assert!(matches!(sign_in(&Authenticator::new(2), b"given", 8).await, Err(SignInError::Unknown)));
    let other = Authenticator { credential: phone.credential.clone(), ..Authenticator::new(2) };
    let refused = sign_in(&other, b"given", 8).await;
    assert!(matches!(refused, Err(SignInError::Unsigned(Unsigned::Signature))));
    let used = list(&fixture.store).await.unwrap().remove(0);
    assert!(used.used_at.is_some() && used.counter == 7);
    remove(&fixture.store, &used.short(), "operator:me").await.unwrap();
    assert!(matches!(sign_in(&phone, b"given", 8).await, Err(SignInError::Unknown)));
}
