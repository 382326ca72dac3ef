use std::os::unix::fs::PermissionsExt as _;

use gatepost_link::{
    decision::PublicKey,
    seal::{SealKey, SealSecret},
};

use super::*;

fn bond() -> Bond {
    Bond {
        hub: PublicKey([1; 32]),
        seal: SealKey([2; 32]),
        user: "u".repeat(64).as_str().try_into().unwrap(),
        password: "p".repeat(64).as_str().try_into().unwrap(),
        version: 3,
    }
}

#[test]
fn what_is_kept_is_there_after_a_restart_and_its_owners_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("companion");
    let keys = Keys { sign: [7; 32], seal: SealSecret([8; 32]) };
    let mut store = Store::folder(&path);
    assert_eq!((store.load_keys().unwrap(), store.load_bond().unwrap()), (None, None));
    store.store_keys(&keys).unwrap();
    store.store_bond(&bond()).unwrap();
    assert_eq!(store.reserve().unwrap(), 1);
    let mut again = Store::folder(&path);
    assert_eq!((again.load_keys().unwrap(), again.load_bond().unwrap()), (Some(keys), Some(bond())));
    assert_eq!(again.reserve().unwrap(), 2);
    for file in ["keys", "bond", "counter"] {
        let mode = fs::metadata(path.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    again.wipe_bond().unwrap();
    again.wipe_bond().unwrap();
    assert_eq!(Store::folder(&path).load_bond().unwrap(), None);
    assert_eq!(Store::folder(&path).reserve().unwrap(), 3, "the counter stays");
}

#[test]
fn what_is_under_a_passphrase_is_there_after_a_restart_and_for_no_other_passphrase() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("companion");
    let keys = Keys { sign: [7; 32], seal: SealSecret([8; 32]) };
    assert_eq!(Store::lying(&path).unwrap(), Lying::Nowhere);
    let mut store = Store::sealed(&path, "correct horse").unwrap();
    store.store_keys(&keys).unwrap();
    store.store_bond(&bond()).unwrap();
    assert_eq!((store.reserve().unwrap(), Store::lying(&path).unwrap()), (1, Lying::Sealed));
    for file in ["keys", "bond"] {
        let bytes = fs::read(path.join(file)).unwrap();
        assert!(
            !bytes.windows(8).any(|bytes| [[7; 8], [8; 8], [b'p'; 8]].contains(&bytes.try_into().unwrap()))
        );
    }
    let wrong = Store::sealed(&path, "correct mule").unwrap_err();
    assert!(matches!(wrong, StoreError::Passphrase(_)) && wrong.to_string().contains("is wrong"), "{wrong}");
    let mut again = Store::sealed(&path, "correct horse").unwrap();
    assert_eq!((again.load_keys().unwrap(), again.load_bond().unwrap()), (Some(keys), Some(bond())));
    assert_eq!(again.reserve().unwrap(), 2);
    // A bond that somebody puts in the place of the keys, and one that was never sealed.
    fs::copy(path.join("bond"), path.join("keys")).unwrap();
    assert!(matches!(again.load_keys(), Err(StoreError::Damaged(_))));
    Store::folder(&path).store_bond(&bond()).unwrap();
    assert!(matches!(again.load_bond(), Err(StoreError::Damaged(_))));
}

#[test]
fn a_folder_is_one_processes_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("companion");
    let lock = Store::lock(&path).unwrap();
    assert!(matches!(Store::lock(&path), Err(StoreError::InUse(_))));
    drop(lock);
    Store::lock(&path).unwrap();
    assert_eq!(Store::lying(&path).unwrap(), Lying::Nowhere);
    Store::folder(&path).store_keys(&Keys { sign: [7; 32], seal: SealSecret([8; 32]) }).unwrap();
    assert_eq!(Store::lying(&path).unwrap(), Lying::Open);
}

#[test]
fn a_damaged_file_is_an_error_and_not_a_new_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::folder(folder.path());
    for damage in ["", "x", "-1"] {
        fs::write(folder.path().join("counter"), damage).unwrap();
        let error = store.reserve().unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{damage:?}: {error}");
    }
    store.store_bond(&bond()).unwrap();
    let whole = fs::read(folder.path().join("bond")).unwrap();
    for damage in [&[][..], &whole[..whole.len() - 1], &[&whole[..], &[0]].concat()] {
        fs::write(folder.path().join("bond"), damage).unwrap();
        assert!(matches!(store.load_bond(), Err(StoreError::Damaged(_))), "{} bytes", damage.len());
    }
}

#[test]
fn a_counter_that_cannot_be_written_reserves_nothing() {
    let mut store = Store::folder("/proc/nowhere/companion");
    assert!(matches!(store.reserve(), Err(StoreError::File { .. })));
}

#[test]
fn a_counter_never_starts_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("counter"), u64::MAX.to_string()).unwrap();
    assert!(matches!(Store::folder(folder.path()).reserve(), Err(StoreError::UsedUp)));
}
