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
    assert!(fs::read_dir(folder(directory.path())).unwrap().count() == 2, "nothing is left beside them");
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
