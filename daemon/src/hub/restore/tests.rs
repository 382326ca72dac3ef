use std::fs;

use gatepost_link::{decision::PublicKey, envelope::VERSION, seal::SealKey};

use super::*;
use crate::{
    agents::Role,
    approval::device::{Device, register},
    store::Store,
};

/// A directory whose backup has tokens and companions of two names each, of which one was revoked since.
async fn revoked_since() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    for (number, name) in [(1, "stays"), (2, "goes")] {
        agents::register(&store, name, Role::Agent, name, "test").await.unwrap();
        let (key, seal) = (PublicKey([number; 32]), SealKey([number; 32]));
        let device = Device { key, name: name.into(), software: false, seal, login: None, version: VERSION };
        register(&store, device).await.unwrap();
    }
    let backup = store.back_up(7).await.unwrap();
    agents::revoke(&store, "goes", "test").await.unwrap();
    registry::revoke(&store, "goes", "test").await.unwrap();
    // The same name again, for somebody whom the backup does not know.
    agents::register(&store, "goes", Role::Agent, "another", "test").await.unwrap();
    store.close();
    drop(store);
    (directory, backup)
}

/// Whose tokens and companions are valid, after a start.
async fn valid_in(directory: &Path) -> (Vec<String>, Vec<String>) {
    let store = Store::open(directory).unwrap();
    let mut tokens = vec![];
    for token in ["stays", "goes", "another"] {
        if agents::recognise(&store, token).await.unwrap().is_some() {
            tokens.push(token.to_owned());
        }
    }
    let devices = registry::list(&store).await.unwrap();
    let devices = devices.into_iter().filter(|device| device.revoked_at.is_none());
    let devices = devices.map(|device| device.name).collect();
    assert_eq!(store.read(crate::audit::first_broken).await.unwrap(), None);
    store.close();
    (tokens, devices)
}

fn goes() -> Vec<Holder> {
    vec![Holder::Token("goes".into()), Holder::Companion("goes".into())]
}

#[tokio::test]
async fn what_was_revoked_after_the_backup_stays_revoked() {
    // What the operator says is of those alone that nobody knows of.
    for access in [None, Some(Access::Keep), Some(Access::Revoke)] {
        let (directory, backup) = revoked_since().await;
        let restored = restore(directory.path(), &backup, access).unwrap();
        assert_eq!(restored.revoked, goes());
        assert_eq!(valid_in(directory.path()).await, (vec!["stays".into()], vec!["stays".into()]));
        // Nor does the same backup give it back when it is restored once more.
        restore(directory.path(), &backup, None).unwrap();
        assert_eq!(valid_in(directory.path()).await, (vec!["stays".into()], vec!["stays".into()]));
    }
}

#[tokio::test]
async fn who_is_trusted_less_since_the_backup_is_not_trusted_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let grant = async |user: &'static str, scope| {
        store.write(move |tx| users::grant(tx, user, scope, "test", 1)).await.unwrap();
    };
    for (user, scope) in
        [("tg:1", Scope::Owner), ("tg:2", Scope::Known), ("tg:3", Scope::Owner), ("tg:4", Scope::Known)]
    {
        grant(user, scope).await;
    }
    let backup = store.back_up(7).await.unwrap();
    for (user, scope) in [
        ("tg:1", Scope::Unknown),
        ("tg:2", Scope::Blocked),
        ("tg:3", Scope::Known),
        // More than before is given again by a person, and not by a restore.
        ("tg:4", Scope::Owner),
        ("tg:5", Scope::Blocked),
        ("tg:6", Scope::Owner),
    ] {
        grant(user, scope).await;
    }
    store.close();
    drop(store);
    let trusted = || people(&Connection::open(directory.path().join("gatepost.db")).unwrap()).unwrap();
    let known =
        [("tg:2", Scope::Blocked), ("tg:3", Scope::Known), ("tg:4", Scope::Known), ("tg:5", Scope::Blocked)];
    let known: BTreeMap<_, _> = known.map(|(user, scope)| (user.to_owned(), scope)).into();
    let restored = restore(directory.path(), &backup, None).unwrap();
    assert_eq!(list(&restored.revoked), "tg:1 as owner, tg:2 as known, tg:3 as owner");
    assert_eq!(trusted(), known);
    // Where nobody knows better, the operator says it.
    fs::remove_file(directory.path().join("gatepost.db")).unwrap();
    let undecided = restore(directory.path(), &backup, None).unwrap_err().to_string();
    assert!(undecided.contains("tg:1 as owner, tg:2 as known, tg:3 as owner, tg:4 as known"), "{undecided}");
    restore(directory.path(), &backup, Some(Access::Revoke)).unwrap();
    assert_eq!(trusted(), BTreeMap::new());
}

#[tokio::test]
async fn without_a_database_that_knows_the_operator_says_who_is_let_in() {
    let scribble = b"scribble ".repeat(5_000);
    let cases: [(Option<&[u8]>, &str); 3] =
        [(None, "there is no database"), (Some(b""), "is damaged"), (Some(&scribble), "is damaged")];
    for (left, because) in cases {
        let destroy = |file: &Path| match left {
            None => fs::remove_file(file).unwrap(),
            Some(bytes) => fs::write(file, bytes).unwrap(),
        };
        let (directory, backup) = revoked_since().await;
        let file = directory.path().join("gatepost.db");
        destroy(&file);
        let before = fs::read(&file).ok();
        let refused = restore(directory.path(), &backup, None).unwrap_err().to_string();
        assert!(refused.contains(because) && refused.contains("--access keep"), "{refused}");
        assert!(refused.contains("the token of goes, the token of stays, the companion goes"), "{refused}");
        assert_eq!(fs::read(&file).ok(), before, "it was replaced all the same");
        let restored = restore(directory.path(), &backup, Some(Access::Revoke)).unwrap();
        assert_eq!(restored.revoked.len(), 4);
        assert_eq!(valid_in(directory.path()).await, (vec![], vec![]));

        let (directory, backup) = revoked_since().await;
        destroy(&directory.path().join("gatepost.db"));
        let restored = restore(directory.path(), &backup, Some(Access::Keep)).unwrap();
        assert_eq!(restored.revoked, []);
        let names = vec!["goes".to_owned(), "stays".to_owned()];
        let (mut tokens, mut devices) = valid_in(directory.path()).await;
        tokens.sort();
        devices.sort();
        assert_eq!((tokens, devices), (names.clone(), names));
    }
}

#[tokio::test]
async fn a_database_that_never_knew_somebody_does_not_speak_for_them() {
    let (directory, backup) = revoked_since().await;
    let kept = directory.path().join("kept.db");
    fs::copy(&backup, &kept).unwrap();
    // A hub that was begun anew knows nobody.
    for file in ["gatepost.db", "gatepost.db-wal", "gatepost.db-shm", "epoch"] {
        drop(fs::remove_file(directory.path().join(file)));
    }
    Store::open(directory.path()).unwrap().close();
    let refused = restore(directory.path(), &kept, None).unwrap_err().to_string();
    assert!(refused.contains("does not know all"), "{refused}");
    restore(directory.path(), &kept, Some(Access::Revoke)).unwrap();
    assert_eq!(valid_in(directory.path()).await, (vec![], vec![]));
}

#[tokio::test]
async fn of_a_damaged_database_a_revocation_counts_and_nothing_else() {
    let (directory, backup) = revoked_since().await;
    damage(&directory.path().join("gatepost.db"));
    assert!(restore(directory.path(), &backup, None).is_err());
    let restored = restore(directory.path(), &backup, Some(Access::Keep)).unwrap();
    assert_eq!(restored.revoked, goes());
}

#[tokio::test]
async fn a_damaged_database_is_not_believed_that_somebody_is_trusted_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let grant = async |user: &'static str, scope| {
        store.write(move |tx| users::grant(tx, user, scope, "test", 1)).await.unwrap();
    };
    grant("tg:less", Scope::Owner).await;
    grant("tg:same", Scope::Known).await;
    let backup = store.back_up(7).await.unwrap();
    grant("tg:less", Scope::Known).await;
    store.close();
    drop(store);
    damage(&directory.path().join("gatepost.db"));
    let undecided = restore(directory.path(), &backup, None).unwrap_err().to_string();
    assert!(undecided.contains("tg:same as known") && !undecided.contains("tg:less"), "{undecided}");
    let restored = restore(directory.path(), &backup, Some(Access::Revoke)).unwrap();
    assert_eq!(list(&restored.revoked), "tg:less as owner, tg:same as known");
}

/// Makes a database one that is not whole, and still says whom it trusts.
fn damage(file: &Path) {
    let file = file.to_owned();
    let db = Connection::open(&file).unwrap();
    let root: i64 = db
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'messages_agent'", [], |row| row.get(0))
        .unwrap();
    let page: i64 = db.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
    db.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(db);
    let mut bytes = fs::read(&file).unwrap();
    let [at, end] = [root - 1, root].map(|page_number| usize::try_from(page_number * page).unwrap());
    bytes[at..end].fill(0xa5);
    fs::write(&file, bytes).unwrap();
}
