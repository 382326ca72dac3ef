use super::*;
use crate::store::{
    Store,
    restore::{as_it_is, as_it_is_by},
    tests::{add, close, look},
};

/// The program of one migration less.
fn before() -> Schema {
    Schema { migrations: &MIGRATIONS[..MIGRATIONS.len() - 1] }
}

/// A directory that this program has used, and then a later one with so many migrations more.
async fn used_by_a_later_one(steps: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    add(&store, "one").await;
    close(store);
    let db = open(directory.path());
    db.execute_batch(
        "CREATE TABLE later (n INTEGER); ALTER TABLE devices ADD COLUMN later INTEGER NOT NULL DEFAULT 3",
    )
    .unwrap();
    db.pragma_update(None, "user_version", Schema::OWN.newest() + steps).unwrap();
    directory
}

fn open(directory: &Path) -> Connection {
    Connection::open(directory.join("gatepost.db")).unwrap()
}

/// The later program says this of its database.
fn says(directory: &Path, oldest: u32, by: &str) {
    let db = open(directory);
    let of = version(&db).unwrap();
    db.execute("UPDATE hub SET oldest_schema = ?, of_schema = ?, changed_by = ?", (oldest, of, by)).unwrap();
}

#[tokio::test]
async fn a_database_of_one_step_further_is_used_and_left_as_it_is() {
    let directory = used_by_a_later_one(1).await;
    let found = Schema::OWN.newest() + 1;
    for devices in 1..3 {
        let store = Store::open(directory.path()).unwrap();
        assert_eq!(look(&store).await, (devices, false));
        add(&store, "another").await;
        close(store);
        let db = open(directory.path());
        assert_eq!(version(&db).unwrap(), found);
        let later: u32 = db.query_row("SELECT sum(later) FROM devices", [], |row| row.get(0)).unwrap();
        assert_eq!(i64::from(later), 3 * (devices + 1));
    }
    assert!(backup::list(directory.path()).is_empty(), "nothing is migrated, so nothing is copied");
    let newer = newer(&open(directory.path()), directory.path()).unwrap().unwrap().to_string();
    assert!(newer.contains(&format!("schema version {found} of a newer gatepost")), "{newer}");
}

#[tokio::test]
async fn a_backup_of_a_later_program_is_put_back_and_keeps_its_schema() {
    let directory = used_by_a_later_one(1).await;
    let store = Store::open(directory.path()).unwrap();
    let backup = store.back_up(7).await.unwrap();
    add(&store, "two").await;
    close(store);
    as_it_is(directory.path(), &backup).unwrap();
    assert_eq!(look(&Store::open(directory.path()).unwrap()).await, (1, true));
    assert_eq!(version(&open(directory.path())).unwrap(), Schema::OWN.newest() + 1);
    let kept = backup::list(directory.path());
    assert!(kept.iter().all(|copy| copy.schema.is_none()), "{kept:?}");
}

#[tokio::test]
async fn how_far_back_its_database_can_be_used_the_later_program_says() {
    let known = Schema::OWN.newest();
    for (steps, oldest, is_used) in [
        (1, None, true),
        (2, None, false),
        (5, Some(known), true),
        (5, Some(known + 1), false),
        (1, Some(known + 1), false),
    ] {
        let directory = used_by_a_later_one(steps).await;
        if let Some(oldest) = oldest {
            says(directory.path(), oldest, "0.9.0");
        }
        let file = || std::fs::read(directory.path().join("gatepost.db")).unwrap();
        let before = file();
        let opened = Store::open(directory.path());
        assert_eq!(opened.is_ok(), is_used, "{steps} steps, {oldest:?}");
        if let Err(error) = opened {
            assert!(matches!(error, StoreError::Newer { .. }), "{error}");
            assert!(file() == before, "it is left as it is");
        }
    }
    // What was said of an older schema says nothing of this one.
    let directory = used_by_a_later_one(1).await;
    says(directory.path(), 1, "0.9.0");
    open(directory.path()).pragma_update(None, "user_version", known + 2).unwrap();
    assert!(
        matches!(Store::open(directory.path()), Err(StoreError::Newer { oldest, .. }) if oldest == known + 1)
    );
}

#[tokio::test]
async fn a_database_of_too_far_ahead_is_refused_with_the_program_and_the_copy_that_can_be_used() {
    let directory = used_by_a_later_one(2).await;
    let refused = || Store::open(directory.path()).err().expect("refused").to_string();
    let said = refused();
    let known = Schema::OWN.newest();
    for part in [
        format!("has schema version {}", known + 2),
        format!("schema version {} or newer", known + 1),
        format!("this one has {known}"),
        "Run the newer gatepost again".into(),
        "there is no copy in backups".into(),
    ] {
        assert!(said.contains(&part), "{said}");
    }
    // Copies of schemas that can be used, and a newer one that cannot.
    let copies = backup::folder(directory.path());
    std::fs::create_dir(&copies).unwrap();
    let mut usable = PathBuf::new();
    for (day, schema) in [(1, known - 1), (2, known), (3, known + 2)] {
        let path = copies.join(format!("gatepost-2026010{day}T000000Z.db"));
        std::fs::copy(directory.path().join("gatepost.db"), &path).unwrap();
        Connection::open(&path).unwrap().pragma_update(None, "user_version", schema).unwrap();
        if schema == known {
            usable = path;
        }
    }
    says(directory.path(), known + 1, "0.9.0");
    let said = refused();
    assert!(said.contains("Run gatepost 0.9.0 or newer again"), "{said}");
    assert!(said.contains(&format!("gatepost restore {} ", usable.display())), "{said}");
    says(directory.path(), known + 1, "\u{1b}[2J");
    assert!(refused().contains("Run the newer gatepost again"), "a name that is none is not shown");
    // Nor is a copy put back that cannot be used.
    let newest = backup::newest(directory.path()).unwrap();
    let error = as_it_is(directory.path(), &newest).unwrap_err().to_string();
    assert!(
        error.contains("Run the newer gatepost again") && error.contains(&usable.display().to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn an_old_daily_backup_that_is_put_back_stays_as_a_copy_from_before_the_migration() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open_as(directory.path(), before()).unwrap();
    add(&store, "one").await;
    let daily = store.back_up(1).await.unwrap();
    close(store);
    let copies = || {
        let all = backup::list(directory.path()).into_iter().filter(|copy| copy.schema.is_some());
        all.map(|copy| (copy.path, copy.schema)).collect::<Vec<_>>()
    };
    // The update, with its copy; then the daily one is put back, and another takes its place.
    let store = Store::open(directory.path()).unwrap();
    add(&store, "two").await;
    close(store);
    let at_start = copies();
    assert_eq!(at_start.len(), 1, "{at_start:?}");
    // Its name has its time, in seconds.
    std::fs::rename(
        &at_start[0].0,
        backup::folder(directory.path()).join("gatepost-20260101T000000Z-schema3.db"),
    )
    .unwrap();
    as_it_is(directory.path(), &daily).unwrap();
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(look(&store).await, (1, true));
    std::fs::remove_file(&daily).unwrap();
    close(store);
    let kept = copies();
    assert!(matches!(kept.as_slice(), [(_, Some(schema))] if *schema == before().newest()), "{kept:?}");

    // A copy of that kind is put back, by either program, and stays the only one.
    for program in [before(), Schema::OWN] {
        as_it_is_by(program, directory.path(), &kept[0].0).unwrap();
        let store = Store::open_as(directory.path(), program).unwrap();
        assert_eq!(look(&store).await, (1, true));
        close(store);
        assert_eq!(copies(), kept);
        assert_eq!(version(&open(directory.path())).unwrap(), program.newest());
    }
}
