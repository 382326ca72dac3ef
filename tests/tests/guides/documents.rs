//! What a person reads about Gatepost: README, guides, and the set-up of each channel, as Markdown taken apart.
//!
//! Only as much Markdown as these documents use: fenced blocks, code spans, inline links, headings with `#`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first word behind the fence.
    pub(crate) language: String,
    /// What stands behind that word, such as `run`.
    pub(crate) marker: String,
    /// The line of the opening fence, counted from 1.
    pub(crate) line: usize,
    /// What is in it.
    pub(crate) text: String,
}

/// One document.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    /// Its path in the repository.
    pub(crate) path: PathBuf,
    /// Its fenced blocks.
    pub(crate) blocks: Vec<Block>,
    /// Its lines, those of fenced blocks empty.
    pub(crate) prose: String,
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// README, guides, and the set-up of each channel: what is checked in whole.
pub(crate) fn guides() -> Result<Vec<Document>> {
    let mut paths = vec![PathBuf::from("README.md")];
    find("daemon/docs".as_ref(), &|path| path.extension().is_some_and(|end| end == "md"), &mut paths)?;
    find("daemon/src/channels".as_ref(), &|path| path.ends_with("SETUP.md"), &mut paths)?;
    paths.sort();
    paths.into_iter().map(Document::read).collect()
}

/// The same, and the other documents, of which the links are checked.
pub(crate) fn all() -> Result<Vec<Document>> {
    let others = ["SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "firmware/README.md"];
    let others: Result<Vec<_>> = others.into_iter().map(|path| Document::read(path.into())).collect();
    Ok([guides()?, others?].concat())
}

/// The files in a folder, however deep, that fit; by their paths in the repository.
pub(crate) fn find(folder: &Path, fits: &dyn Fn(&Path) -> bool, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(root().join(folder)).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            find(&path, fits, into)?;
        } else if fits(&path) {
            into.push(path);
        }
    }
    Ok(())
}

impl Document {
    fn read(path: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(root().join(&path)).with_context(|| path.display().to_string())?;
        Self::parse(path, &text)
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self> {
        let (mut blocks, mut prose) = (Vec::new(), String::new());
        let mut open: Option<(Block, usize)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let inner = line.trim_start();
            let indent = line.len() - inner.len();
            match (&mut open, inner.strip_prefix("```")) {
                (None, None) => prose.push_str(line),
                (None, Some(info)) => {
                    let (language, marker) = info.split_once(' ').unwrap_or((info, ""));
                    let (language, marker) = (language.to_owned(), marker.trim().to_owned());
                    open = Some((Block { language, marker, line: number, text: String::new() }, indent));
                }
                (Some(_), Some("")) => blocks.extend(open.take().map(|(block, _)| block)),
                (Some((block, indent)), _) => {
                    block.text.push_str(line.get((*indent).min(line.len() - inner.len())..).unwrap_or(line));
                    block.text.push('\n');
                }
            }
            prose.push('\n');
        }
        if let Some((block, _)) = open {
            anyhow::bail!("{}:{}: the block does not end", path.display(), block.line);
        }
        Ok(Self { path, blocks, prose })
    }

    /// Where a block is, for errors.
    pub(crate) fn at(&self, block: &Block) -> String {
        format!("{}:{}", self.path.display(), block.line)
    }

    /// The code spans of its prose.
    pub(crate) fn spans(&self) -> Vec<String> {
        pieces(&self.prose).into_iter().filter_map(|(text, is_code)| is_code.then_some(text)).collect()
    }

    /// Where its links lead to, as they are written.
    pub(crate) fn links(&self) -> Vec<String> {
        // A code span may be a link's text, so something stays in its place.
        let text: String = pieces(&self.prose)
            .into_iter()
            .map(|(text, is_code)| if is_code { "code".to_owned() } else { text })
            .collect();
        let behind = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        behind.map(|(target, _)| target.split_whitespace().next().unwrap_or("").to_owned()).collect()
    }

    /// The anchors of its headings, as GitHub makes them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let headings = self.prose.lines().filter_map(|line| {
            let title = line.trim_start_matches('#');
            (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
        });
        headings
            .map(|title| {
                let anchor = anchor(title.trim());
                let count = seen.entry(anchor.clone()).or_default();
                *count += 1;
                if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
            })
            .collect()
    }

    /// Whether a link of its leads somewhere.
    pub(crate) fn leads(&self, link: &str) -> Result<()> {
        if ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme)) {
            return Ok(());
        }
        let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
        let target = match path {
            "" => self.path.clone(),
            path => normal(&self.path.parent().unwrap_or(Path::new("")).join(path)),
        };
        ensure!(root().join(&target).exists(), "there is no {}", target.display());
        let Some(anchor) = anchor else { return Ok(()) };
        let known = Self::read(target)?.anchors();
        ensure!(known.iter().any(|known| known == anchor), "there is no heading #{anchor} among {known:?}");
        Ok(())
    }
}

/// The text of a heading as GitHub's anchor.
fn anchor(title: &str) -> String {
    let mut plain = String::new();
    let mut rest = title;
    while let Some((before, behind)) = rest.split_once("](") {
        plain.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    plain.push_str(rest);
    let kept = plain.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The text in pieces: code spans, and what is between them. A span's line breaks are spaces.
fn pieces(text: &str) -> Vec<(String, bool)> {
    let mut pieces = Vec::new();
    // A span never leaves its paragraph.
    for paragraph in text.split("\n\n") {
        let mut rest = paragraph;
        while let Some(start) = rest.find('`') {
            let ticks = rest.get(start..).unwrap_or("").bytes().take_while(|byte| *byte == b'`').count();
            let (before, inside) = (&rest[..start], &rest[start + ticks..]);
            let fence = "`".repeat(ticks);
            let Some(end) = inside.find(&fence) else { break };
            pieces.push((before.to_owned(), false));
            pieces.push((inside[..end].replace('\n', " "), true));
            rest = &inside[end + ticks..];
        }
        pieces.push((format!("{rest}\n\n"), false));
    }
    pieces
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[test]
fn a_document_is_taken_apart() -> Result<()> {
    let text = "# A `b` c\n\nSee [it `x`](a.md#d) and `two\nlines`.\n\n```sh run\nls\n```\n\n- item\n\n  ```json\n  {}\n  ```\n\n# A `b` c\n";
    let document = Document::parse("x.md".into(), text)?;
    let blocks: Vec<_> =
        document.blocks.iter().map(|block| (&*block.language, &*block.marker, &*block.text)).collect();
    assert_eq!(blocks, [("sh", "run", "ls\n"), ("json", "", "{}\n")]);
    assert_eq!(document.links(), ["a.md#d"]);
    assert_eq!(document.spans(), ["b", "x", "two lines", "b"]);
    assert_eq!(document.anchors(), ["a-b-c", "a-b-c-1"]);
    assert_eq!(anchor("What is defended, and how"), "what-is-defended-and-how");
    assert_eq!(anchor("[Approve](approve.md) it"), "approve-it");
    assert!(Document::parse("x.md".into(), "```\n").is_err());
    Ok(())
}
