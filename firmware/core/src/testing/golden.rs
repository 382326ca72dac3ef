//! Golden files: `tests/golden` holds every screen as text and as an image.
//!
//! `GATEPOST_GOLDEN=write cargo test -p gatepost-companion golden` writes them anew. Those tests then fail all the same,
//! so that a run that writes is never taken for one that compares: look at the new files, and run it again without.

use std::{collections::BTreeSet, env, format, fs, path::PathBuf, string::String, vec::Vec};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Compares what the screens are with the golden files of this kind (`txt`, `png`), and these with what there is.
///
/// `same` tells whether a file's bytes show the same as the actual bytes.
pub(crate) fn check(kind: &str, actual: &[(String, Vec<u8>)], same: impl Fn(&[u8], &[u8]) -> bool) {
    let folder = folder();
    let known: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(kind))
        .collect();
    let named: BTreeSet<String> = actual.iter().map(|(name, _)| format!("{name}.{kind}")).collect();
    assert_eq!(named.len(), actual.len(), "two screens have one name");
    if env::var("GATEPOST_GOLDEN").is_ok_and(|mode| mode == "write") {
        known.difference(&named).for_each(|name| fs::remove_file(folder.join(name)).unwrap());
        for (name, bytes) in actual {
            let path = folder.join(format!("{name}.{kind}"));
            if !fs::read(&path).is_ok_and(|old| same(&old, bytes)) {
                fs::write(path, bytes).unwrap();
            }
        }
        panic!("the golden files are written: look at them, and run the tests without GATEPOST_GOLDEN");
    }
    let differ: Vec<&String> = actual
        .iter()
        .filter(|(name, bytes)| {
            !fs::read(folder.join(format!("{name}.{kind}"))).is_ok_and(|golden| same(&golden, bytes))
        })
        .map(|(name, _)| name)
        .collect();
    let left: Vec<&String> = known.difference(&named).collect();
    assert!(
        differ.is_empty() && left.is_empty(),
        "other screens than the golden files ({kind}): {differ:?}; files without a screen: {left:?}. \
         GATEPOST_GOLDEN=write takes the new ones"
    );
}
