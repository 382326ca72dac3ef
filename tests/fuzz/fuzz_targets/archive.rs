//! A backup, whatever its bytes: it is unpacked into its folder or refused, and nothing is written beside that.
#![no_main]

use std::{fs, path::PathBuf, sync::LazyLock};

use gatepost::archive::read_anything;
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("gatepost-fuzz-archive-{}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let into = FOLDER.join("into");
    let _ = read_anything(bytes, &into);
    let _ = fs::remove_dir_all(&into);
    let beside = fs::read_dir(&*FOLDER).expect("the folder is there").count();
    assert_eq!(beside, 0, "something was written beside its folder");
});
