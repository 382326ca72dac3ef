use super::*;
use crate::store::tests::{add, look};

#[tokio::test]
async fn a_backup_is_one_file_of_one_moment_and_only_so_many_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    add(&store, "one").await;
    let first = store.back_up(2).await.unwrap();
    add(&store, "two").await;
    let copy = Connection::open(&first).unwrap();
    let devices: i64 = copy.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).unwrap();
    assert_eq!(devices, 1);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&first).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    for name in ["gatepost-20200101T000000Z.db", "gatepost-20200102T000000Z.db"] {
        fs::copy(&first, folder(directory.path()).join(name)).unwrap();
    }
    fs::remove_file(&first).unwrap();
    let second = store.back_up(2).await.unwrap();
    let kept = list(directory.path());
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(newest(directory.path()), Some(second));
    let mut files: Vec<_> =
        fs::read_dir(folder(directory.path())).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.retain(|name| !kept.iter().any(|copy| copy.path.file_name() == Some(name)));
    assert_eq!(files, [BESIDE], "nothing is left beside them but what the next is made of");
}

/// All rows of all tables.
fn dump(path: &Path) -> Vec<String> {
    let db = Connection::open(path).unwrap();
    let tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let tables: Vec<String> = db
        .prepare(tables)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let mut all = vec![];
    for table in tables {
        let mut rows = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let row: Vec<_> =
                (0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap())).collect();
            all.push(format!("{table} {row:?}"));
        }
    }
    all
}

#[tokio::test]
async fn a_backup_is_made_of_the_one_that_goes_and_is_the_same_as_one_from_nothing() {
    use std::os::unix::fs::MetadataExt as _;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let fill = async |rows: u32| {
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
            INSERT INTO heartbeat_texts SELECT i, ?1, randomblob(32), hex(randomblob(400)), i FROM n";
        store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, [rows])?)).await.unwrap();
    };
    fill(4_000).await;
    let old = |days: i64| {
        // Two within a second would have one name.
        for copy in list(directory.path()) {
            let made = copy.made.checked_sub(jiff::SignedDuration::from_hours(24 * days)).unwrap();
            let name = format!("{NAME}{}.db", made.strftime(TIME));
            fs::rename(&copy.path, copy.path.with_file_name(name)).unwrap();
        }
    };
    let first = inode(&store.back_up(1).await.unwrap());
    old(1);
    let second = inode(&store.back_up(1).await.unwrap());
    assert_ne!(first, second);
    for round in 0..3 {
        old(1);
        fill(50).await;
        // It grows, and becomes shorter.
        if round == 1 {
            let sql = "DELETE FROM heartbeat_texts WHERE rowid % 2; PRAGMA incremental_vacuum;";
            store
                .write(move |tx| Ok::<_, StoreError>(tx.execute_batch(&sql.replace("rowid", "at"))?))
                .await
                .unwrap();
        }
        let before = inode(&folder(directory.path()).join(BESIDE));
        let copy = store.back_up(1).await.unwrap();
        assert_eq!(inode(&copy), before, "it was made of the one that had gone");
        let whole = directory.path().join("whole");
        let source = Connection::open(directory.path().join("gatepost.db")).unwrap();
        source.execute_batch("BEGIN; SELECT * FROM hub").unwrap();
        fs::File::create(&whole).unwrap();
        copy_to(&source, &whole, || Ok(())).unwrap();
        // The epoch is raised once the copy is there.
        let epochs = |rows: Vec<String>| -> Vec<String> {
            rows.into_iter().filter(|row| !row.starts_with("hub ")).collect()
        };
        assert_eq!(epochs(dump(&copy)), epochs(dump(&whole)));
        assert!(dump(&copy).len() > 2_000);
        let restored: bool = Connection::open(&copy)
            .unwrap()
            .query_row("SELECT restored FROM hub", [], |row| row.get(0))
            .unwrap();
        assert!(restored, "it says that it is a copy");
        fs::remove_file(&whole).unwrap();
    }
}

#[test]
fn only_what_differs_is_written_to_a_copy() {
    let directory = tempfile::tempdir().unwrap();
    let [ours, copy] = ["ours", "copy"].map(|name| directory.path().join(name));
    let mut bytes: Vec<u8> =
        (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let patch = |bytes: &[u8]| {
        fs::write(&ours, bytes).unwrap();
        let written = patch::patch(&fs::File::open(&ours).unwrap(), &copy, || Ok(())).unwrap();
        assert!(fs::read(&copy).unwrap() == bytes);
        written
    };
    fs::write(&copy, b"").unwrap();
    assert_eq!(patch(&bytes), 3_000_000);
    assert_eq!(patch(&bytes), 0);
    for at in [0, 4_095, 4_096, 1_048_576, 2_999_999] {
        bytes[at] ^= 1;
    }
    // The first block twice, the last one is short.
    assert_eq!(patch(&bytes), 3 * 4_096 + 3_000_000 % 4_096);
    bytes.truncate(1_500_000);
    assert_eq!(patch(&bytes), 0, "what is cut off is not written");
    bytes.extend([7; 10_000]);
    assert!((10_000..=3 * 4_096 + 10_000).contains(&patch(&bytes)));
}

#[tokio::test]
async fn while_the_file_stands_still_others_write_and_what_they_write_is_not_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let database = directory.path().join("gatepost.db");
    add(&store, "one").await;
    let still = patch::hold_still(&database, || Ok(())).unwrap().expect("nobody reads");
    let file = || fs::read(&database).unwrap();
    let before = file();
    // More than a log that the hub takes in by itself, and the hub is asked to.
    for n in 0..40 {
        let text = "x".repeat(200_000);
        let sql = "INSERT INTO heartbeat_texts VALUES ('a', ?1, ?2, 'm', 0)";
        store
            .write(move |tx| Ok::<_, StoreError>(tx.execute(sql, (text, n.to_string().into_bytes()))?))
            .await
            .unwrap();
    }
    assert!(file() == before, "nothing of the log went into it");
    drop(still);
    for n in 40..80 {
        let text = "x".repeat(200_000);
        let sql = "INSERT INTO heartbeat_texts VALUES ('a', ?1, ?2, 'm', 0)";
        store
            .write(move |tx| Ok::<_, StoreError>(tx.execute(sql, (text, n.to_string().into_bytes()))?))
            .await
            .unwrap();
    }
    assert!(file() != before, "and now it does");
}

#[tokio::test]
async fn the_copy_from_before_a_migration_stays_when_daily_ones_go_and_there_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    add(&store, "one").await;
    store.close();
    drop(store);
    let source = Connection::open(directory.path().join("gatepost.db")).unwrap();
    let first = before_migration(&source, directory.path(), 17).unwrap();
    let second = before_migration(&source, directory.path(), 18).unwrap();
    assert!(!first.exists() && second.exists(), "the newest is enough");
    assert_eq!(made(directory.path()), None, "it does not put the daily one off");
    drop(source);
    let store = Store::open(directory.path()).unwrap();
    let daily = store.back_up(1).await.unwrap();
    let kept: Vec<_> = list(directory.path()).into_iter().map(|copy| (copy.path, copy.schema)).collect();
    assert!(kept.contains(&(second.clone(), Some(18))) && kept.contains(&(daily, None)), "{kept:?}");
    drop(store);
    super::super::restore::as_it_is(directory.path(), &second).unwrap();
    assert_eq!(look(&Store::open(directory.path()).unwrap()).await, (1, true));
}

#[test]
fn a_copys_time_is_in_its_name() {
    let copy = Copy::at("/x/gatepost-20261123T131317Z.db".into()).unwrap();
    assert_eq!((copy.made.to_string().as_str(), copy.schema), ("2026-11-23T13:13:17Z", None));
    let copy = Copy::at("/x/gatepost-20261123T131317Z-schema18.db".into()).unwrap();
    assert_eq!((copy.made.to_string().as_str(), copy.schema), ("2026-11-23T13:13:17Z", Some(18)));
    assert_eq!(Copy::at("/x/gatepost.new".into()), None);
}
