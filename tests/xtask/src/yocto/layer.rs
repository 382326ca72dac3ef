//! The layer's files as text, and what each of them has to keep to.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

/// Where it is in the repository.
const LAYER: &str = "yocto/meta-gatepost";
/// What only this distribution changes in recipes of others.
const OVERRIDE: &str = ":gatepost-os";
/// Marks of keys and certificates in PEM, and the ends of their files.
const KEYS: [&str; 2] = ["-----BEGIN", "PRIVATE KEY"];
const KEY_FILES: [&str; 6] = ["crt", "der", "key", "p12", "pem", "pfx"];

/// The files by their paths in the layer.
pub(super) struct Layer(BTreeMap<PathBuf, String>);

impl Layer {
    /// All files, which are text.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let (folder, mut files) = (root.join(LAYER), BTreeMap::new());
        read_into(&folder, &folder, &mut files)?;
        ensure!(files.contains_key(Path::new("conf/layer.conf")), "{LAYER} has no conf/layer.conf");
        Ok(Self(files))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn text(&self, file: impl AsRef<Path>) -> Result<&str> {
        let file = file.as_ref();
        self.0.get(file).map(String::as_str).with_context(|| format!("{LAYER}/{} is missing", file.display()))
    }

    /// The files whose paths begin so.
    pub(super) fn named(&self, start: &str) -> impl Iterator<Item = &PathBuf> {
        self.0.keys().filter(move |path| path.to_string_lossy().starts_with(start))
    }

    /// Says what is wrong unless the file has this text.
    pub(super) fn expect(&self, file: impl AsRef<Path>, text: &str, wrong: &mut Vec<String>) -> Result<()> {
        if !self.text(&file)?.contains(text) {
            wrong.push(format!("{}: it should say {}", file.as_ref().display(), text.trim().escape_debug()));
        }
        Ok(())
    }

    /// What a recipe installs of its source, as paths in there.
    pub(super) fn installed(&self, recipe: &Path) -> Result<Vec<String>> {
        let lines = self.text(recipe)?.lines().filter(|line| line.trim_start().starts_with("install "));
        let words = lines.flat_map(str::split_whitespace);
        Ok(words.filter_map(|word| word.strip_prefix("${S}/")).map(str::to_owned).collect())
    }

    /// The numbers of a disk's partitions, by their labels.
    pub(super) fn partitions(&self, file: &str) -> Result<impl Fn(&str) -> Option<usize>> {
        let parts = self.text(file)?.lines().filter(|line| line.starts_with("part "));
        let labels: Vec<String> = parts
            .map(|line| {
                line.split_whitespace()
                    .skip_while(|word| *word != "--label")
                    .nth(1)
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        Ok(move |label: &str| labels.iter().position(|other| other == label).map(|index| index + 1))
    }

    /// Statements in `.bbappend` files that would change other distributions too: yocto-check-layer refuses them.
    pub(super) fn unbound_appends(&self) -> Vec<String> {
        let appends = self.0.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "bbappend"));
        appends
            .flat_map(|(path, text)| text.lines().map(move |line| (path, line)))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with([' ', '\t', '#', '}', '"']))
            .filter(|(_, line)| !line.contains(OVERRIDE))
            .map(|(path, line)| format!("{}: not bound to {OVERRIDE}: {line}", path.display()))
            .collect()
    }

    /// Files that a recipe names and that are not beside it.
    pub(super) fn missing_files(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (path, text) in &self.0 {
            let recipe = path.extension().is_some_and(|end| end == "bb" || end == "bbappend");
            let lines = text.lines().filter(|line| recipe && !line.trim_start().starts_with('#'));
            for name in lines.flat_map(|line| line.split("file://").skip(1)) {
                let name = name.split(['"', ' ', ';']).next().unwrap_or_default();
                // A licence of the source or of OE has its own check.
                if name.starts_with("${") || name.starts_with("LICENSE-") {
                    continue;
                }
                if !self.0.contains_key(&path.with_file_name("files").join(name)) {
                    wrong.push(format!("{}: files/{name} is missing", path.display()));
                }
            }
        }
        wrong
    }

    /// Keys and certificates: whoever builds brings their own.
    pub(super) fn keys(&self) -> Vec<String> {
        let has = |path: &Path, text: &str| {
            path.extension().is_some_and(|end| KEY_FILES.iter().any(|key| end == *key))
                || KEYS.iter().any(|mark| text.contains(mark))
        };
        let found = self.0.iter().filter(|(path, text)| has(path, text));
        found.map(|(path, _)| format!("{}: a key or a certificate", path.display())).collect()
    }

    #[cfg(test)]
    pub(super) fn replace(&mut self, file: &Path, from: &str, to: &str) {
        let text = self.0.get_mut(file).expect("the file is there");
        assert!(text.contains(from), "{} has no {from:?}", file.display());
        *text = text.replacen(from, to, 1);
    }
}

fn read_into(layer: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            read_into(layer, &path, files)?;
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        files.insert(path.strip_prefix(layer).unwrap_or(&path).to_owned(), text);
    }
    Ok(())
}
