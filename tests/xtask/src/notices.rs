//! The licences of what is compiled into the hub's programs: MIT, BSD, ISC and Unicode want their notices to go along with it.
//!
//! Each crate is listed with its version and its licence; the texts in its folder follow, equal ones once. The same `Cargo.lock` makes
//! the same bytes. What only builds another crate is left out; what makes code of it as it is compiled (a macro) is not.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{cargo, deb::said, hub::Machine, root};

/// How the names of files with licences begin, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
/// The ends of files that begin so and are something else: `license.rs`.
const NO_TEXTS: [&str; 10] = ["rs", "c", "h", "py", "sh", "js", "json", "toml", "yml", "html"];
/// How many folders deep they are looked for: C that a crate brings along has its own.
const DEPTH: usize = 4;
/// The most bytes of a text.
const LONGEST: u64 = 256 * 1024;
const BEGIN: &str = "What is compiled into Gatepost's hub\n\n\
    Gatepost itself is under the MIT licence or the Apache License 2.0, as you choose. These are the crates of others in its programs,\n\
    each with its licence as an SPDX expression and the numbers of the texts that it came with. The texts follow.\n\n";

/// A crate of somebody else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
    /// An SPDX expression.
    licence: String,
    authors: String,
    /// [`None`] for what has no folder here.
    folder: Option<PathBuf>,
    /// The file that the manifest names, if its name says nothing.
    licence_file: Option<PathBuf>,
}

/// The texts that we have of our own, for crates that bring none.
struct Standard {
    apache: String,
    mit: String,
}

/// The notices for the hub's programs on these machines.
///
/// # Errors
/// Cargo does not have the crates, or their texts cannot be read.
pub(crate) fn of_the_hub(machines: &[Machine]) -> Result<String> {
    // No manifest names it (<https://github.com/rust-lang/rust/blob/master/COPYRIGHT>).
    let mut crates = BTreeSet::from([Crate {
        name: "Rust's standard library".into(),
        version: String::new(),
        licence: "MIT OR Apache-2.0".into(),
        authors: "The Rust Project Developers".into(),
        folder: None,
        licence_file: None,
    }]);
    for machine in machines {
        let mut cargo = cargo();
        cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", machine.target()]);
        let metadata = serde_json::from_str(&said(cargo.current_dir(root()))?)?;
        crates.extend(needed(&metadata)?);
    }
    let standard =
        Standard { apache: text(&root().join("LICENSE-APACHE"))?, mit: text(&root().join("LICENSE-MIT"))? };
    notices(&crates, &standard)
}

/// The crates of others that the hub and the program that writes boards need when they run.
fn needed(metadata: &Value) -> Result<Vec<Crate>> {
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"]["nodes"]).filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let of = |name: &'static str| {
        let found = packages.iter().find(|(_, package)| package["name"] == name);
        found.map(|(id, _)| *id).with_context(|| format!("there is no package {name}"))
    };
    let (mut found, mut open) = (BTreeSet::new(), vec![of("gatepost")?, of("gatepost-flash")?]);
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        let node = nodes.get(id).with_context(|| format!("cargo does not say what {id} needs"))?;
        let at_run_time = list(&node["deps"])
            .filter(|dependency| list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()));
        open.extend(at_run_time.filter_map(|dependency| dependency["pkg"].as_str()));
    }
    let packages = found.iter().filter_map(|id| packages.get(id));
    // What has no source is Gatepost's own.
    packages.filter(|package| !package["source"].is_null()).map(|package| one(package)).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn one(package: &Value) -> Result<Crate> {
    let string = |name: &str| package[name].as_str().map(str::to_owned);
    let manifest = PathBuf::from(string("manifest_path").context("a crate has a manifest")?);
    Ok(Crate {
        name: string("name").context("a crate has a name")?,
        version: string("version").context("a crate has a version")?,
        // Cargo took a slash for "or" once.
        licence: string("license").unwrap_or_default().replace('/', " OR "),
        authors: list(&package["authors"]).filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        folder: Some(manifest.parent().context("a manifest is in a folder")?.into()),
        licence_file: string("license_file").map(PathBuf::from),
    })
}

fn notices(crates: &BTreeSet<Crate>, standard: &Standard) -> Result<String> {
    let (mut notices, mut texts) = (BEGIN.to_owned(), Vec::<String>::new());
    for one in crates {
        let licence = if one.licence.is_empty() { "as its text says" } else { &one.licence };
        writeln!(notices, "{}\n    {licence}", format!("{} {}", one.name, one.version).trim_end())?;
        let mut found = one.texts()?;
        if found.is_empty() {
            found.extend(standard.of(one));
        }
        if found.is_empty() {
            writeln!(notices, "    it came without a text of its licence")?;
        }
        for (name, text) in found {
            let number = texts.iter().position(|other| *other == text).unwrap_or_else(|| {
                texts.push(text);
                texts.len() - 1
            });
            writeln!(notices, "    text {}: {name}", number + 1)?;
        }
    }
    for (number, text) in texts.iter().enumerate() {
        write!(notices, "\n---- text {} ----\n\n{text}", number + 1)?;
    }
    Ok(notices)
}

impl Crate {
    /// The texts in its folder, with their paths there, in order.
    fn texts(&self) -> Result<Vec<(String, String)>> {
        let Some(folder) = &self.folder else { return Ok(vec![]) };
        let mut files = BTreeSet::from_iter(self.licence_file.clone());
        find(folder, Path::new(""), DEPTH, &mut files)?;
        files.iter().map(|file| Ok((file.display().to_string(), text(&folder.join(file))?))).collect()
    }
}

impl Standard {
    /// A text for a crate that brings none, if its licence lets us choose one that we have.
    fn of(&self, one: &Crate) -> Option<(String, String)> {
        let choices: Vec<&str> = one.licence.split(" OR ").map(str::trim).collect();
        if choices.contains(&"Apache-2.0") {
            return Some(("Apache-2.0, of which it came without a text".into(), self.apache.clone()));
        }
        let ours = self.mit.lines().find(|line| line.starts_with("Copyright"))?;
        let theirs = format!("Copyright (c) {}", one.authors);
        let named = choices.contains(&"MIT") && !one.authors.is_empty();
        named.then(|| ("MIT, of which it came without a text".into(), self.mit.replace(ours, &theirs)))
    }
}

/// Files in a folder, and in those beneath it, that are called as licences are.
fn find(root: &Path, beneath: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    let folder = root.join(beneath);
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let path = beneath.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                find(root, &path, depth - 1, found)?;
            }
        } else if is_a_text(&path) {
            found.insert(path);
        }
    }
    Ok(())
}

fn is_a_text(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    let end = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    NAMES.iter().any(|begin| name.starts_with(begin)) && !NO_TEXTS.contains(&end.as_str())
}

/// A text, with the ends of its lines as they are here, so that equal ones are equal.
fn text(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    ensure!(bytes.len() as u64 <= LONGEST, "{}: more than {LONGEST} bytes are no licence", file.display());
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(lines.join("\n").trim_matches('\n').to_owned() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_several_crates_bring_is_there_once_and_one_without_gets_ours() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("a/LICENSE-MIT", "MIT by A\r\n");
        write("b/License.txt", "MIT by A \n\n");
        write("b/third_party/fiat/COPYING", "fiat\n");
        write("b/src/license.rs", "no text\n");
        write("c/README.md", "nothing\n");
        let package = |name: &str, licence: &str, source: Value| {
            let manifest = folder.path().join(name).join("Cargo.toml");
            serde_json::json!({
                "id": name, "name": name, "version": "1.0.0", "license": licence, "authors": ["Ann"],
                "source": source, "manifest_path": manifest,
            })
        };
        let needs = |name: &str, kind: Value| serde_json::json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let registry = || Value::from("registry");
        let metadata = serde_json::json!({
            "packages": [
                package("gatepost", "MIT", Value::Null), package("gatepost-flash", "MIT", Value::Null), package("a", "MIT/Apache-2.0", registry()),
                package("b", "MIT", registry()), package("c", "MIT", registry()),
                package("d", "Zlib", registry()), package("built", "MIT", registry()),
            ],
            "resolve": {"nodes": [
                {"id": "gatepost", "deps": [needs("a", Value::Null), needs("built", "build".into())]},
                {"id": "gatepost-flash", "deps": [needs("d", Value::Null)]},
                {"id": "a", "deps": [needs("b", Value::Null), needs("c", Value::Null)]},
                {"id": "b", "deps": []}, {"id": "c", "deps": []}, {"id": "d", "deps": []},
            ]},
        });
        fs::create_dir(folder.path().join("d")).unwrap();
        let standard = Standard { apache: "Apache\n".into(), mit: "MIT\nCopyright (c) us\n".into() };
        let crates: BTreeSet<Crate> = needed(&metadata).unwrap().into_iter().collect();
        let notices = notices(&crates, &standard).unwrap();
        let expected = "a 1.0.0\n    MIT OR Apache-2.0\n    text 1: LICENSE-MIT\n\
             b 1.0.0\n    MIT\n    text 1: License.txt\n    text 2: third_party/fiat/COPYING\n\
             c 1.0.0\n    MIT\n    text 3: MIT, of which it came without a text\n\
             d 1.0.0\n    Zlib\n    it came without a text of its licence\n\
             \n---- text 1 ----\n\nMIT by A\n\n---- text 2 ----\n\nfiat\n\
             \n---- text 3 ----\n\nMIT\nCopyright (c) Ann\n";
        assert_eq!(notices.strip_prefix(BEGIN), Some(expected), "{notices}");
    }
}
