//! What a person reads about Gatepost: README, guides, and the set-up of each channel, as Markdown taken apart.
//!
//! A block that is indented, or whose fence is not closed, is an error: a reader may see it as a block, and nothing would check it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

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
    /// Its headings.
    pub(crate) headings: Vec<Heading>,
    /// The code spans of its prose, in headings too.
    pub(crate) spans: Vec<String>,
    /// Those with which items of its lists begin.
    pub(crate) items: Vec<String>,
    /// Where its links lead to, as they are written.
    pub(crate) links: Vec<String>,
}

/// A heading.
#[derive(Debug, Clone)]
pub(crate) struct Heading {
    pub(crate) level: HeadingLevel,
    /// Its text without marks.
    text: String,
    /// Its code spans.
    pub(crate) spans: Vec<String>,
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
    let others = ["SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "firmware/README.md", "yocto/README.md"];
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
    pub(crate) fn read(path: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(root().join(&path)).with_context(|| path.display().to_string())?;
        Self::parse(path, &text)
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self> {
        let (mut blocks, mut headings): (Vec<Block>, Vec<Heading>) = (Vec::new(), Vec::new());
        let (mut spans, mut items, mut links) = (Vec::new(), Vec::new(), Vec::new());
        // What the next text belongs to, and whether it begins an item of a list.
        let (mut in_block, mut in_heading, mut begins) = (false, false, false);
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let is_paragraph = matches!(event, Event::Start(Tag::Paragraph));
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let line = text[..range.start].matches('\n').count() + 1;
                    let CodeBlockKind::Fenced(info) = kind else {
                        bail!("{}:{line}: put the block between fences", path.display())
                    };
                    let last = text[range].trim_end().rsplit_once('\n').map(|(_, last)| last.trim());
                    ensure!(last == Some("```"), "{}:{line}: the block does not end", path.display());
                    let (language, marker) = info.split_once(' ').unwrap_or((&info, ""));
                    let (language, marker) = (language.to_owned(), marker.trim().to_owned());
                    blocks.push(Block { language, marker, line, text: String::new() });
                    in_block = true;
                }
                Event::End(TagEnd::CodeBlock) => in_block = false,
                Event::Start(Tag::Heading { level, .. }) => {
                    headings.push(Heading { level, text: String::new(), spans: Vec::new() });
                    in_heading = true;
                }
                Event::End(TagEnd::Heading(_)) => in_heading = false,
                Event::Start(Tag::Link { link_type, dest_url, .. }) if link_type != LinkType::Email => {
                    links.push(dest_url.into_string());
                }
                Event::Start(Tag::Image { dest_url, .. }) => links.push(dest_url.into_string()),
                Event::Start(Tag::Item) => {
                    begins = true;
                    continue;
                }
                Event::Text(said) => match (blocks.last_mut(), headings.last_mut()) {
                    (Some(block), _) if in_block => block.text.push_str(&said),
                    (_, Some(heading)) if in_heading => heading.text.push_str(&said),
                    _ => {}
                },
                Event::Code(span) => {
                    if let (Some(heading), true) = (headings.last_mut(), in_heading) {
                        heading.text.push_str(&span);
                        heading.spans.push(span.to_string());
                    }
                    if begins {
                        items.push(span.to_string());
                    }
                    spans.push(span.into_string());
                }
                _ => {}
            }
            // An item's first paragraph is its beginning.
            begins &= is_paragraph;
        }
        Ok(Self { path, blocks, headings, spans, items, links })
    }

    /// Where a block is, for errors.
    pub(crate) fn at(&self, block: &Block) -> String {
        format!("{}:{}", self.path.display(), block.line)
    }

    /// The anchors of its headings, as GitHub makes them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let numbered = |heading: &Heading| {
            let anchor = anchor(&heading.text);
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        };
        self.headings.iter().map(numbered).collect()
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
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
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
    let blocks: Vec<_> = document
        .blocks
        .iter()
        .map(|block| (&*block.language, &*block.marker, block.line, &*block.text))
        .collect();
    assert_eq!(blocks, [("sh", "run", 6, "ls\n"), ("json", "", 12, "{}\n")]);
    assert_eq!(document.links, ["a.md#d"]);
    assert_eq!(document.spans, ["b", "x", "two lines", "b"]);
    assert_eq!(document.anchors(), ["a-b-c", "a-b-c-1"]);
    let anchors = |text: &str| Document::parse("x.md".into(), text).map(|document| document.anchors());
    assert_eq!(anchors("## What is defended, and how\n")?, ["what-is-defended-and-how"]);
    assert_eq!(anchors("## [Approve](approve.md) it\n")?, ["approve-it"]);
    let items = Document::parse("x.md".into(), "- `a` b\n- c `d`\n\n  `e`\n\n- `f`\n")?.items;
    assert_eq!(items, ["a", "f"]);
    for wrong in ["```\n", "```sh\nls\n", "Text:\n\n    ls\n"] {
        assert!(Document::parse("x.md".into(), wrong).is_err(), "{wrong:?}");
    }
    Ok(())
}
