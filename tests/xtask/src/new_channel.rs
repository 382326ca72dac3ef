//! `cargo xtask new-channel NAME`: begins a channel.
//!
//! What it writes is `daemon/src/channels/testing/skeleton` under another name. That folder is compiled with the daemon's tests, so what
//! is written compiles too, and the suite of all channels is tried on it: it says what is missing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

/// Where channels are.
const CHANNELS: &str = "daemon/src/channels";
/// Where the skeleton is, in there; and its name, which stands for the channel's.
const SKELETON: (&str, &str) = ("testing/skeleton", "skeleton");
/// The line behind which the registry lists no more channels.
const END: &str = "];\n";

/// The longest name: it stands in addresses, and in a column of `gatepost check`.
const MAX_NAME: usize = 12;

/// Words that Rust keeps for itself, and that are so short and plain that somebody may choose one.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try",
];

/// Writes the folder, and a line for it in `mod.rs` and `registry.rs`; what to do next.
pub(crate) fn new_channel(root: &Path, name: &str) -> Result<String> {
    let channels = root.join(CHANNELS);
    let folder = channels.join(name);
    check(&channels, name)?;
    let (modules, registry) = (channels.join("mod.rs"), channels.join("registry.rs"));
    // Whatever cannot be read or understood is found before anything is written.
    let declared = with_module(&read(&modules)?, name).context("mod.rs has no list of modules")?;
    let registered = with_line(&read(&registry)?, name).context("registry.rs has no list KINDS")?;
    let files = skeleton(&channels.join(SKELETON.0), name)?;
    fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (file, text) in files.into_iter().map(|(file, text)| (folder.join(file), text)) {
        write(&file, &text)?;
    }
    // Where a line breaks depends on how long the name is.
    format(&folder.join("mod.rs"))?;
    write(&modules, &declared)?;
    write(&registry, &registered)?;
    Ok(format!(
        "{CHANNELS}/{name} is written. What is missing is said by:\n\n    cargo test -p gatepost --lib channels\n\n\
         Then `cargo xtask configuration-md`, the table of channels in README.md, and CHANGELOG.md."
    ))
}

/// Formats a module with those that it declares.
fn format(module: &Path) -> Result<()> {
    let status = Command::new("rustfmt").args(["--edition", "2024"]).arg(module).status();
    let status = status.context("cannot run rustfmt: rustup component add rustfmt")?;
    ensure!(status.success(), "rustfmt cannot format {}", module.display());
    Ok(())
}

fn check(channels: &Path, name: &str) -> Result<()> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    ensure!(is_name, "{name:?} is no name of a channel: write lower-case letters and digits, a letter first");
    ensure!(name.len() <= MAX_NAME, "{name:?} is too long: {MAX_NAME} letters and digits at most");
    ensure!(!KEYWORDS.contains(&name), "{name:?} is a word of Rust, which no module can have as a name");
    let taken = channels.join(name).exists() || channels.join(format!("{name}.rs")).exists();
    ensure!(!taken && name != SKELETON.1, "there is {CHANNELS}/{name} already: choose another name");
    Ok(())
}

/// The skeleton's files, under the channel's name.
fn skeleton(folder: &Path, name: &str) -> Result<Vec<(PathBuf, String)>> {
    let capital = |name: &str| name[..1].to_uppercase() + &name[1..];
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let text = read(&path)?.replace(SKELETON.1, name).replace(&capital(SKELETON.1), &capital(name));
        files.push((PathBuf::from(path.file_name().expect("an entry has a name")), text));
    }
    ensure!(!files.is_empty(), "{} is empty", folder.display());
    Ok(files)
}

/// `pub mod NAME;` where it belongs in the order of the alphabet.
fn with_module(text: &str, name: &str) -> Option<String> {
    let line = format!("pub mod {name};\n");
    let is_module = |other: &&str| other.starts_with("pub mod ") && other.ends_with(";\n");
    let lines = || text.split_inclusive('\n').filter(is_module);
    Some(match lines().find(|other| *other > line.as_str()) {
        Some(next) => text.replacen(next, &format!("{line}{next}"), 1),
        None => {
            let last = lines().next_back()?;
            text.replacen(last, &format!("{last}{line}"), 1)
        }
    })
}

/// `channel!(NAME)` behind the channels that there are.
fn with_line(text: &str, name: &str) -> Option<String> {
    let list = text.find("const KINDS")?;
    let end = list + text[list..].find(END)?;
    Some(format!("{}    channel!({name}),\n{}", &text[..end], &text[end..]))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let there = to.join(path.file_name().unwrap());
            if path.is_dir() {
                copy(&path, &there);
            } else {
                fs::copy(path, there).unwrap();
            }
        }
    }

    /// The channels of this repository, in a folder of their own.
    fn copied() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy(&crate::root().join(CHANNELS), &folder.path().join(CHANNELS));
        fs::copy(crate::root().join("rustfmt.toml"), folder.path().join("rustfmt.toml")).unwrap();
        folder
    }

    #[test]
    fn a_channel_is_begun_with_its_folder_and_its_lines_and_is_well_formed() {
        let root = copied();
        let channels = root.path().join(CHANNELS);
        let said = new_channel(root.path(), "pigeon").unwrap();
        assert!(said.contains("cargo test -p gatepost --lib channels"), "{said}");
        let text = |file: &str| fs::read_to_string(channels.join(file)).unwrap();
        assert_eq!(text("mod.rs").matches("pub mod pigeon;\n").count(), 1);
        assert_eq!(text("registry.rs").matches("    channel!(pigeon),\n").count(), 1);
        let files = ["mod.rs", "profile.rs", "request.rs", "client.rs", "contract.rs", "SETUP.md"];
        for file in files {
            let text = text(&format!("pigeon/{file}"));
            assert!(!text.to_lowercase().contains(SKELETON.1), "{file}: {text}");
        }
        assert_eq!(fs::read_dir(channels.join("pigeon")).unwrap().count(), files.len());
        assert!(text("pigeon/SETUP.md").starts_with("# pigeon:"));
        assert!(text("pigeon/mod.rs").contains("impl Adapter for Pigeon {"));
        // With all modules that the two declare.
        let checked = Command::new("rustfmt")
            .args(["--check", "--edition", "2024"])
            .args([channels.join("registry.rs"), channels.join("mod.rs")])
            .output()
            .unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    }

    #[test]
    fn what_is_no_name_or_is_taken_changes_nothing() {
        let root = copied();
        let channels = root.path().join(CHANNELS);
        let registry = fs::read_to_string(channels.join("registry.rs")).unwrap();
        for (name, why) in [
            ("", "lower-case letters"),
            ("Pigeon", "lower-case letters"),
            ("carrier-pigeon", "lower-case letters"),
            ("7up", "a letter first"),
            ("../pigeon", "lower-case letters"),
            ("carrierpigeons", "too long"),
            ("match", "a word of Rust"),
            ("telegram", "already"),
            ("kit", "already"),
            ("sender", "already"),
            ("skeleton", "already"),
        ] {
            let error = new_channel(root.path(), name).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
        assert_eq!(fs::read_to_string(channels.join("registry.rs")).unwrap(), registry);
    }

    #[test]
    fn a_module_stands_in_the_order_of_the_alphabet() {
        let text = "pub mod account;\npub mod kit;\n#[cfg(test)]\nmod testing;\npub mod webhook;\n";
        let with = |name| with_module(text, name).unwrap();
        assert!(with("irc").contains("pub mod account;\npub mod irc;\npub mod kit;\n"));
        assert!(with("abc").starts_with("pub mod abc;\npub mod account;\n"));
        assert!(with("zulip").ends_with("pub mod webhook;\npub mod zulip;\n"));
        assert!(with("xmpp").ends_with("pub mod webhook;\npub mod xmpp;\n"));
    }
}
