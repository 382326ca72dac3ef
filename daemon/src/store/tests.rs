use super::*;

pub(crate) async fn add(store: &Store, name: &'static str) {
    let sql = "INSERT INTO devices (key, name, software, added_at) VALUES (randomblob(8), ?, 0, 0)";
    store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, [name]).map(drop)?)).await.unwrap();
}

pub(crate) async fn look(store: &Store) -> (i64, bool) {
    let sql = "SELECT (SELECT count(*) FROM devices), restored FROM hub";
    store
        .read(move |db| Ok::<_, StoreError>(db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?))
        .await
        .unwrap()
}

/// Also gives the lock back.
pub(crate) fn close(store: Store) {
    store.close();
}

#[tokio::test]
async fn an_error_rolls_the_whole_transaction_back() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let failed: Result<(), StoreError> = store
        .write(|tx| {
            tx.execute("INSERT INTO devices (key, name, software, added_at) VALUES (x'00', 'a', 0, 0)", [])?;
            Err(StoreError::Closed)
        })
        .await;
    assert!(failed.is_err());
    let rows: i64 = store
        .read(|db| {
            db.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).map_err(StoreError::from)
        })
        .await
        .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn who_fails_takes_nobody_along() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let writes = (0..200_u8).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .write(move |tx| {
                    let sql = "INSERT INTO devices (key, name, software, added_at) VALUES (?, 'a', 0, 0)";
                    tx.execute(sql, [[n]])?;
                    if n % 3 == 0 { Err(StoreError::Closed) } else { Ok(n) }
                })
                .await
        })
    });
    let writes: Vec<_> = writes.collect();
    let mut written = 0;
    for (n, write) in (0..200_u8).zip(writes) {
        let result = write.await.unwrap();
        assert_eq!(result.is_ok(), n % 3 != 0, "{n}: {result:?}");
        written += i64::from(result.is_ok());
    }
    let rows: i64 = store
        .read(|db| {
            db.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).map_err(StoreError::from)
        })
        .await
        .unwrap();
    assert_eq!(rows, written);
}

#[tokio::test]
async fn who_comes_after_a_transaction_that_the_disk_ended_is_refused_and_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let sql = "INSERT INTO devices (key, name, software, added_at) VALUES (?, 'a', 0, 0)";
    let insert = |n: u8| {
        let store = store.clone();
        tokio::spawn(async move {
            store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, [[n]]).map(drop)?)).await
        })
    };
    // Keeps the writer busy until the next three are there, so that all come together.
    let busy = store.clone();
    let busy = tokio::spawn(async move {
        busy.write(|_| {
            thread::sleep(std::time::Duration::from_millis(300));
            Ok::<_, StoreError>(())
        })
        .await
    });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let before = insert(1);
    tokio::task::yield_now().await;
    let ends = store.clone();
    // What SQLite does by itself when the disk fails in the midst of a statement.
    let ends = tokio::spawn(async move {
        ends.write(|tx| {
            tx.execute_batch("ROLLBACK")?;
            Err::<(), _>(StoreError::Closed)
        })
        .await
    });
    tokio::task::yield_now().await;
    let after = insert(2);
    assert!(matches!(ends.await.unwrap(), Err(StoreError::Closed)), "its own error is told");
    for refused in [busy.await.unwrap(), before.await.unwrap(), after.await.unwrap()] {
        assert!(refused.as_ref().is_err_and(StoreError::passes), "{refused:?}");
    }
    let count = "SELECT count(*) FROM devices";
    let rows: i64 =
        store.read(move |db| Ok::<_, StoreError>(db.query_row(count, [], |row| row.get(0))?)).await.unwrap();
    assert_eq!(rows, 0);
    insert(3).await.unwrap().unwrap();
}

/// A row of about 20 KB.
async fn add_long(store: &Store) {
    let sql = "INSERT INTO devices (key, name, software, added_at) VALUES (randomblob(8), hex(zeroblob(10000)), 0, 0)";
    store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, []).map(drop)?)).await.unwrap();
}

#[tokio::test]
async fn what_was_written_is_in_the_database_itself_once_it_is_quiet() {
    let (directory, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::open(directory.path()).unwrap();
    for _ in 0..80 {
        add_long(&store).await;
    }
    // Without the log beside it.
    let path = copy.path().join("copy.db");
    let rows = || {
        std::fs::copy(directory.path().join("gatepost.db"), &path).unwrap();
        let count = "SELECT count(*) FROM devices";
        let db = Connection::open(&path).unwrap();
        db.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap_or(0)
    };
    let began = std::time::Instant::now();
    // A last megabyte may wait for more to come.
    while rows() < 80 - 50 {
        assert!(began.elapsed().as_secs() < 30, "{} rows", rows());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_log_stays_short_where_somebody_always_writes() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..300 {
                    add_long(&store).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let bytes = std::fs::metadata(directory.path().join("gatepost.db-wal")).unwrap().len();
    // All of it was 24 MB.
    assert!(bytes < 3 * checkpoint::LONG.unsigned_abs(), "{bytes} bytes");
}

#[tokio::test]
async fn a_second_store_on_the_same_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let first = Store::open(directory.path()).unwrap();
    let Err(error) = Store::open(directory.path()) else { panic!("both opened") };
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    first.close();
    drop(first);
    assert!(Store::open(directory.path()).is_ok(), "the lock goes with the store");
}

#[test]
fn what_others_could_read_of_the_hub_is_its_owners_alone_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    drop(Store::open(directory.path()).unwrap());
    let files = ["gatepost.db", "hub.key", "operator.token"].map(|name| directory.path().join(name));
    for file in &files {
        let _ = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).unwrap();
    }
    let _store = Store::open(directory.path()).unwrap();
    for file in &files {
        assert_eq!(
            std::fs::metadata(file).unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_newer_database_is_refused_with_both_versions() {
    let directory = tempfile::tempdir().unwrap();
    drop(Store::open(directory.path()).unwrap());
    let db = Connection::open(directory.path().join("gatepost.db")).unwrap();
    db.pragma_update(None, "user_version", 999).unwrap();
    drop(db);
    let Err(error) = Store::open(directory.path()) else { panic!("opened") };
    assert!(error.to_string().contains("999"), "{error}");
}

#[tokio::test]
async fn a_new_database_that_was_not_finished_is_begun_anew_and_is_no_copy() {
    let directory = tempfile::tempdir().unwrap();
    // Of a process that was killed: half of a database beside its place, and one without a single table in its place.
    std::fs::write(directory.path().join("gatepost.db.new"), [0xa5; 9_000]).unwrap();
    std::fs::write(directory.path().join("gatepost.db.new-journal"), [0xa5; 9_000]).unwrap();
    std::fs::write(directory.path().join("gatepost.db"), "").unwrap();
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(look(&store).await, (0, false));
    store.close();
    drop(store);
    // Killed between the epoch in the database and the one beside it.
    std::fs::write(directory.path().join("epoch"), "0\n").unwrap();
    assert_eq!(look(&Store::open(directory.path()).unwrap()).await, (0, false));
}

#[tokio::test]
async fn a_database_whose_epoch_was_never_recorded_beside_it_is_new_before_its_first_life() {
    let directory = tempfile::tempdir().unwrap();
    fresh::create(directory.path(), Schema::OWN).unwrap();
    assert_eq!(look(&Store::open(directory.path()).unwrap()).await, (0, false));
}
