use std::fs::File;

use super::*;
use crate::store::{
    Store, StoreError,
    tests::{add, close, look},
};

#[tokio::test]
async fn a_backup_that_is_put_back_by_hand_or_by_command_is_known_for_one() {
    for by_hand in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        add(&store, "one").await;
        let backup = store.back_up(7).await.unwrap();
        add(&store, "two").await;
        assert_eq!(look(&store).await, (2, false));
        close(store);
        if by_hand {
            fs::copy(&backup, directory.path().join("gatepost.db")).unwrap();
            for beside in ["gatepost.db-wal", "gatepost.db-shm"] {
                private_file::remove(&directory.path().join(beside)).unwrap();
            }
        } else {
            let kept = as_it_is(directory.path(), &backup).unwrap().unwrap();
            assert!(kept.join("gatepost.db").exists(), "what was there is kept");
        }
        let store = Store::open(directory.path()).unwrap();
        assert_eq!(look(&store).await, (1, true));
        close(store);
        // Until somebody has settled it, however often it is opened.
        let store = Store::open(directory.path()).unwrap();
        assert_eq!(look(&store).await, (1, true));
    }
}

#[tokio::test]
async fn a_damaged_database_is_refused_kept_and_answered_with_the_newest_backup() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gatepost.db");
    let store = Store::open(directory.path()).unwrap();
    for _ in 0..200 {
        add(&store, "a device with a name that is not short at all, so that there are some pages").await;
    }
    let backup = store.back_up(7).await.unwrap();
    close(store);
    let whole = fs::read(&path).unwrap();
    let mut scribbled = whole.clone();
    let middle = whole.len() / 2 / 4096 * 4096;
    scribbled[middle..middle + 8192].fill(0xa5);
    let cut = whole[..whole.len() - 20_000].to_vec();
    for damaged in [scribbled, cut, b"this is no database".repeat(300), vec![]] {
        fs::write(&path, &damaged).unwrap();
        let error = Store::open(directory.path()).err().expect("refused").to_string();
        assert!(error.contains("gatepost restore"), "{error}");
        assert!(error.contains(&backup.display().to_string()), "{error}");
        assert!(fs::read(&path).unwrap() == damaged, "it is kept as it is");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(Store::open(directory.path()), Err(StoreError::Damaged { .. })), "it is gone");
    as_it_is(directory.path(), &backup).unwrap();
    assert_eq!(look(&Store::open(directory.path()).unwrap()).await, (200, true));
}

#[tokio::test]
async fn a_damaged_backup_is_not_put_in_place_of_anything() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let backup = store.back_up(7).await.unwrap();
    assert!(matches!(as_it_is(directory.path(), &backup), Err(BackupError::Lock(_))), "a hub runs");
    close(store);
    drop(fs::OpenOptions::new().write(true).open(&backup).unwrap().set_len(5_000));
    assert!(matches!(as_it_is(directory.path(), &backup), Err(BackupError::Damaged(..))));
    assert!(!look(&Store::open(directory.path()).unwrap()).await.1);
}

#[tokio::test]
async fn a_copy_of_a_stopped_hubs_database_is_known_for_one_after_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    close(Store::open(directory.path()).unwrap());
    let copy = directory.path().join("copy");
    fs::copy(directory.path().join("gatepost.db"), &copy).unwrap();
    let store = Store::open(directory.path()).unwrap();
    assert!(!look(&store).await.1, "its own database is no copy");
    close(store);
    fs::copy(&copy, directory.path().join("gatepost.db")).unwrap();
    let store = Store::open(directory.path()).unwrap();
    assert!(look(&store).await.1);
    close(store);
    // At another hub, without the file beside it.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::copy(&copy, elsewhere.path().join("gatepost.db")).unwrap();
    assert!(look(&Store::open(elsewhere.path()).unwrap()).await.1);
}

/// A directory whose hub was killed: what was written last is in the log alone. And a backup from before that.
async fn killed() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    add(&store, "one").await;
    let backup = store.back_up(7).await.unwrap();
    add(&store, "two").await;
    let killed = tempfile::tempdir().unwrap();
    for name in ["gatepost.db", "gatepost.db-wal", "gatepost.db-shm", "epoch"] {
        fs::copy(directory.path().join(name), killed.path().join(name)).unwrap();
    }
    fs::create_dir(killed.path().join("backups")).unwrap();
    let copy = killed.path().join("backups").join(backup.file_name().unwrap());
    fs::copy(backup, &copy).unwrap();
    (killed, copy)
}

fn devices(database: &Path) -> i64 {
    let db = Connection::open(database).unwrap();
    let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok", "{}", database.display());
    db.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn what_is_replaced_is_kept_with_its_log_and_can_be_put_back() {
    let (fixture, backup) = killed().await;
    let kept = as_it_is(fixture.path(), &backup).unwrap().unwrap();
    assert!(BESIDE.iter().all(|name| !fixture.path().join(name).exists()), "nothing lies beside the copy");
    assert_eq!(devices(&fixture.path().join("gatepost.db")), 1);
    let replaced = kept.join("gatepost.db");
    as_it_is(fixture.path(), &replaced).unwrap();
    assert_eq!(look(&Store::open(fixture.path()).unwrap()).await, (2, true), "with what was in its log");
}

#[tokio::test]
async fn a_journal_of_another_database_is_never_rolled_into_the_copy() {
    let (fixture, backup) = killed().await;
    fs::copy(fixture.path().join("gatepost.db-wal"), fixture.path().join("gatepost.db-journal")).unwrap();
    hot_journal(fixture.path());
    assert!(fs::metadata(fixture.path().join("gatepost.db-journal")).unwrap().len() > 0);
    let kept = as_it_is(fixture.path(), &backup).unwrap().unwrap();
    assert!(kept.join("gatepost.db-journal").exists(), "it went with its database");
    assert_eq!(devices(&fixture.path().join("gatepost.db")), 1);
}

#[tokio::test]
async fn a_restore_that_is_stopped_anywhere_leaves_one_or_the_other_whole() {
    // What it moves, in its order; it is stopped before each of them, and after the last.
    let moves = ["gatepost.db", "gatepost.db-wal", "gatepost.db-shm", "gatepost.db-journal"];
    for stopped in 0..=moves.len() + 1 {
        let (fixture, backup) = killed().await;
        let path = |name: &str| fixture.path().join(name);
        fs::write(path("gatepost.db-journal"), "").unwrap();
        let ready = tempfile::tempdir().unwrap();
        fs::copy(&backup, ready.path().join("gatepost.db")).unwrap();
        let made = Connection::open(ready.path().join("gatepost.db")).unwrap();
        alone::seal(made, &ready.path().join("gatepost.db")).unwrap();
        fs::copy(ready.path().join("gatepost.db"), path(READY)).unwrap();
        fs::create_dir(path(AWAY)).unwrap();
        for name in &moves[..stopped.min(moves.len())] {
            fs::rename(path(name), path(AWAY).join(name)).unwrap();
        }
        if stopped > moves.len() {
            fs::rename(path(READY), path("gatepost.db")).unwrap();
        }
        let store = Store::open(fixture.path()).unwrap();
        assert_eq!(look(&store).await, (1, true), "stopped before move {stopped}");
        store.close();
        drop(store);
        let away: Vec<_> = fs::read_dir(fixture.path())
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("replaced-"))
            .collect();
        assert_eq!(away.len(), 1, "{away:?}");
        assert_eq!(devices(&away[0].join("gatepost.db")), 2, "what was there is whole as well");
        assert_eq!(devices(&path("gatepost.db")), 1);
    }
    // Before it is ready, nothing of it counts.
    let (fixture, backup) = killed().await;
    fs::copy(&backup, fixture.path().join("gatepost.db.new")).unwrap();
    File::options().write(true).open(fixture.path().join("gatepost.db.new")).unwrap().set_len(9_000).unwrap();
    let store = Store::open(fixture.path()).unwrap();
    assert_eq!(look(&store).await, (2, false));
}

/// Leaves a journal that somebody has to roll back beside the database, which is not in WAL mode any more.
fn hot_journal(directory: &Path) {
    let work = tempfile::tempdir().unwrap();
    let path = |name: &str| work.path().join(name);
    for name in ["gatepost.db", "gatepost.db-wal"] {
        fs::copy(directory.join(name), path(name)).unwrap();
    }
    let db = Connection::open(path("gatepost.db")).unwrap();
    db.pragma_update(None, "journal_mode", "delete").unwrap();
    // Few pages fit into memory, so that the journal is synced and the database half written.
    db.pragma_update(None, "cache_size", 2).unwrap();
    db.execute_batch(
        "BEGIN; CREATE TABLE half (n INTEGER, filler BLOB);
         WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 500)
         INSERT INTO half SELECT n, randomblob(1000) FROM n;
         UPDATE devices SET name = name || ' half'",
    )
    .unwrap();
    for name in ["gatepost.db", "gatepost.db-journal"] {
        fs::copy(path(name), directory.join(name)).unwrap();
    }
    for name in ["gatepost.db-wal", "gatepost.db-shm"] {
        private_file::remove(&directory.join(name)).unwrap();
    }
}

#[tokio::test]
async fn a_start_rolls_back_what_a_killed_process_left_half_done() {
    let (fixture, _) = killed().await;
    hot_journal(fixture.path());
    let reads =
        Connection::open_with_flags(fixture.path().join("gatepost.db"), OpenFlags::SQLITE_OPEN_READ_ONLY);
    let refused = reads.unwrap().query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    assert!(refused.is_err(), "the journal is hot: {refused:?}");
    let store = Store::open(fixture.path()).unwrap();
    let count = "SELECT count(*) FROM sqlite_schema WHERE name = 'half'";
    let half: i64 =
        store.read(move |db| Ok::<_, StoreError>(db.query_row(count, [], |row| row.get(0))?)).await.unwrap();
    assert_eq!((look(&store).await.0, half), (2, 0));
}

#[test]
fn the_log_of_a_database_that_is_not_there_is_moved_away_from_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    for name in BESIDE {
        fs::write(directory.path().join(name), "somebody else's").unwrap();
    }
    Store::open(directory.path()).unwrap().close();
    assert_eq!(devices(&directory.path().join("gatepost.db")), 0);
    let kept = fs::read_dir(directory.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .find(|path| path.to_str().unwrap().contains("replaced-"));
    assert_eq!(fs::read_dir(kept.unwrap()).unwrap().count(), 3);
}

/// A directory with a database of its own and keys of another hub's, and a backup of one that has another message.
async fn with_a_backup_to_restore() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    add(&store, "one").await;
    let copy = store.back_up(7).await.unwrap();
    add(&store, "two").await;
    close(store);
    for (name, content) in [("hub.key", "old"), ("hub.seal", "old"), ("audit.checkpoint", "old")] {
        fs::write(directory.path().join(name), content).unwrap();
    }
    (directory, copy)
}

/// Unpacks a backup with these keys, and a file.
fn unpacked_with_keys(copy: &Path, into: &Path) -> PathBuf {
    for folder in ["", "keys", "files"] {
        fs::create_dir(into.join(folder)).unwrap();
    }
    for (name, content) in [("keys/hub.key", "new"), ("keys/hub.seal", "new"), ("files/abc", "attached")] {
        fs::write(into.join(name), content).unwrap();
    }
    let database = into.join("gatepost.db");
    fs::copy(copy, &database).unwrap();
    database
}

fn restored_with_keys(directory: &Path, copy: &Path) -> Result<Option<PathBuf>, BackupError> {
    restore_unpacked(directory, |into| Ok(unpacked_with_keys(copy, into)), |_, _| Ok(()))
}

#[tokio::test]
async fn keys_and_files_come_along_with_the_database_and_what_was_there_is_kept() {
    let (directory, copy) = with_a_backup_to_restore().await;
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    let kept = restored_with_keys(directory.path(), &copy).unwrap().unwrap();
    assert_eq!([read("hub.key"), read("hub.seal"), read("files/abc")], ["new", "new", "attached"]);
    for name in ["hub.key", "hub.seal", "audit.checkpoint"] {
        assert_eq!(fs::read_to_string(kept.join(name)).unwrap(), "old", "{name}");
    }
    // What another hub signed would be taken for a fault.
    assert!(!directory.path().join("audit.checkpoint").exists());
    assert!(!unpacked::place(directory.path()).exists());
    assert_eq!(look(&Store::open(directory.path()).unwrap()).await, (1, true));
}

#[tokio::test]
async fn whatever_stops_a_restore_with_keys_the_next_start_has_all_of_it_or_nothing() {
    // How far it came: unpacked, keys waiting, the database ready, and then one rename after the other.
    for stopped in 0..8 {
        let (directory, copy) = with_a_backup_to_restore().await;
        let (at, part) = (|name: &str| directory.path().join(name), unpacked::place(directory.path()));
        unpacked_with_keys(&copy, &part);
        let away = at(AWAY);
        let moved = |name: &str| {
            fs::create_dir_all(&away).unwrap();
            fs::rename(at(name), away.join(name)).unwrap();
        };
        let steps: [&dyn Fn(); 7] = [
            &|| unpacked::prepare(directory.path()).unwrap(),
            &|| assert!(fs::copy(&copy, at(READY)).is_ok()),
            &|| moved("audit.checkpoint"),
            &|| moved("hub.key"),
            &|| fs::rename(at("restored.keys/hub.key"), at("hub.key")).unwrap(),
            &|| moved("hub.seal"),
            &|| fs::rename(at("restored.keys/hub.seal"), at("hub.seal")).unwrap(),
        ];
        steps[..stopped].iter().for_each(|step| step());
        let is_restored = stopped > 1;
        let wanted = if is_restored { (1, true) } else { (2, false) };
        assert_eq!(look(&Store::open(directory.path()).unwrap()).await, wanted, "stopped {stopped}");
        for name in ["hub.key", "hub.seal"] {
            let found = fs::read_to_string(at(name)).unwrap();
            assert_eq!(found, if is_restored { "new" } else { "old" }, "{name}, stopped {stopped}");
        }
        assert!(!part.exists() && !at("restored.keys").exists(), "keys are left lying, stopped {stopped}");
    }
}

#[tokio::test]
async fn a_backup_that_is_refused_leaves_nothing_behind() {
    let (directory, copy) = with_a_backup_to_restore().await;
    let refused = |_: &Transaction<'_>, _: Option<&Connection>| Err(BackupError::None(PathBuf::new()));
    let unpack = |into: &Path| Ok(unpacked_with_keys(&copy, into));
    assert!(restore_unpacked(directory.path(), unpack, refused).is_err());
    assert!(!unpacked::place(directory.path()).exists());
    assert_eq!(fs::read_to_string(directory.path().join("hub.key")).unwrap(), "old");
    assert_eq!(look(&Store::open(directory.path()).unwrap()).await, (2, false));
}
