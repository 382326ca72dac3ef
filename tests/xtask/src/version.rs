//! The version is that of `Cargo.toml`'s workspace. What cannot take it from there has the same, and here is the list of it.
//!
//! Packages of other workspaces cannot inherit it, and each lock file names the packages of its own. What the Yocto layer says is
//! compared by `yocto-check`.

use std::{fs, path::Path};

use crate::{VERSION, root};

/// What has a workspace of its own, or is part of one that is not the repository's.
const APART: [&str; 5] =
    ["firmware/esp", "firmware/esp32", "firmware/net", "firmware/qemu-virt", "firmware/virtio"];
const LOCKS: [&str; 4] =
    ["Cargo.lock", "firmware/esp32/Cargo.lock", "firmware/qemu-virt/Cargo.lock", "tests/fuzz/Cargo.lock"];

/// The versions of the packages without a source in a lock file: those of this repository.
fn own(lock: &str) -> Vec<(String, String)> {
    let value = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").skip(1).filter(|package| value(package, "source").is_none());
    packages.filter_map(|package| Some((value(package, "name")?, value(package, "version")?))).collect()
}

#[test]
fn everything_has_the_version_of_the_workspace() {
    let read =
        |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut wrong = Vec::new();
    for folder in APART {
        let file = root().join(folder).join("Cargo.toml");
        if !read(&file).contains(&format!("\nversion = \"{VERSION}\"\n")) {
            wrong.push(format!("{folder}/Cargo.toml"));
        }
    }
    for name in LOCKS {
        let own = own(&read(&root().join(name)));
        assert!(own.len() > 1, "{name} has none of ours: {own:?}");
        // A package that is never released keeps its 0.0.0.
        let other = own.iter().filter(|(_, version)| version != VERSION && version != "0.0.0");
        wrong.extend(other.map(|(package, version)| format!("{name}: {package} {version}")));
    }
    assert!(wrong.is_empty(), "the workspace's version is {VERSION}; these have another: {wrong:#?}");
}

#[test]
fn no_manifest_of_the_workspace_has_a_version_of_its_own() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
    let members =
        manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).expect("members").0;
    let members: Vec<&str> = members
        .split(',')
        .map(|name| name.trim().trim_matches('"'))
        .filter(|name| !name.is_empty())
        .collect();
    assert!(members.len() > 5, "{members:?}");
    for member in members {
        let text = fs::read_to_string(root().join(member).join("Cargo.toml")).expect("a member");
        assert!(text.contains("\nversion.workspace = true\n"), "{member}/Cargo.toml");
    }
}

#[test]
fn a_lock_files_own_packages_are_those_without_a_source() {
    let lock = "[[package]]\nname = \"ours\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"theirs\"\nversion = \"2.0.0\"\n\
                source = \"registry\"\n";
    assert_eq!(own(lock), [("ours".to_owned(), "1.0.0".to_owned())]);
}
