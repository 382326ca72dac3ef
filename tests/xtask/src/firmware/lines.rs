//! Runners stay small: what one decides, nobody tests without its board. Below 300 lines of code, its pin table apart.

use std::{fs, path::Path};

use crate::root;

/// Lines of code that a runner has less than.
const MOST: usize = 300;
/// The comments that a pin table lies between.
const TABLE: &str = "// ---- the pin table ---";
const TABLE_END: &str = "// ------";

/// Lines that are neither empty nor comments nor of a pin table.
fn count(source: &str) -> usize {
    let mut in_table = false;
    let lines = source.lines().map(str::trim).filter(|line| {
        in_table = line.starts_with(TABLE) || in_table && !line.starts_with(TABLE_END);
        !in_table && !line.is_empty() && !line.starts_with("//")
    });
    lines.count()
}

/// Of all modules in a folder.
fn count_all(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let lines = entries.map(|path| match path.is_dir() {
        true => count_all(&path),
        false => count(&fs::read_to_string(path).unwrap()),
    });
    lines.sum()
}

#[test]
fn comments_empty_lines_and_a_pin_table_are_not_counted() {
    let source = "//! A runner.\n\nfn main() {\n    // ---- the pin table ------\n    let pin = 3;\n    // Never 9.\n    \
                  // -----------\n    run(); // It ends never.\n}\n";
    assert_eq!(count(source), 3);
    assert_eq!(count(""), 0);
}

#[test]
fn every_runner_is_below_300_lines() {
    for runner in ["esp32", "qemu-virt"] {
        let lines = count_all(&root().join("firmware").join(runner).join("src"));
        println!("{runner}: {lines} lines of code");
        assert!(
            lines > 0 && lines < MOST,
            "{runner} has {lines}: move what can be tested into firmware/core"
        );
    }
}
