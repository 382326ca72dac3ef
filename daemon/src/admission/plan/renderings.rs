//! Texts that were rendered already: one that goes to many conversations is rendered once for each flavour.
//!
//! Rendering is the largest part of what a broadcast costs: a long text to a hundred conversations took more than a second. It
//! depends on the text, on what stands before it and on the flavour, so this is no cache that could be out of date. It lasts as
//! long as the call that it is for.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use super::content::{headline, rendered};
use crate::{
    blocking,
    message::{attachment::Attachment, refusal::Refusal},
    render::{self, Document, Flavour, Part},
};

/// The texts of one call.
#[derive(Debug, Default)]
pub struct Renderings {
    kept: Mutex<Vec<(Key, Arc<Rendering>)>>,
    made: AtomicUsize,
}

#[derive(Debug, PartialEq, Eq)]
struct Key {
    markdown: String,
    prefix: Option<String>,
    files: Option<String>,
    flavour: Flavour,
}

/// A text as one channel has it.
#[derive(Debug)]
pub(super) struct Rendering {
    /// Whether there is nothing to be seen.
    pub(super) is_blank: bool,
    /// Its first line, or its first file's.
    pub(super) headline: String,
    /// Its parts.
    pub(super) parts: Vec<Part>,
    /// The text that they are of.
    pub(super) document: Document,
}

impl Renderings {
    /// How many texts were rendered for this call.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn text(&self, markdown: &str, prefix: Option<&str>, flavour: &Flavour) -> String {
        let rendering = self.of(markdown, prefix, &[], flavour).unwrap();
        rendering.parts.iter().map(|part| part.text.as_str()).collect()
    }

    /// A text behind a prefix, unless its place is before the first file.
    pub(super) fn of(
        &self,
        markdown: &str,
        prefix: Option<&str>,
        files: &[Attachment],
        flavour: &Flavour,
    ) -> Result<Arc<Rendering>, Refusal> {
        let first = files.first().map(|file| file.name.as_str());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |key: &Key| {
            key.flavour == *flavour
                && key.prefix.as_deref() == prefix
                && key.files.as_deref() == first
                && key.markdown == markdown
        };
        if let Some((_, rendering)) = kept.iter().find(|(key, _)| same(key)) {
            return Ok(Arc::clone(rendering));
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        blocking::expect_off_runtime(markdown.len());
        let document = render::parse(markdown);
        let (is_blank, headline) = (document.is_blank(), headline(&document, files));
        let document = decorated(document, prefix, files);
        let parts = rendered(&document, flavour)?;
        let rendering = Arc::new(Rendering { is_blank, headline, parts, document });
        let key = Key {
            markdown: markdown.to_owned(),
            prefix: prefix.map(str::to_owned),
            files: first.map(str::to_owned),
            flavour: *flavour,
        };
        kept.push((key, Arc::clone(&rendering)));
        Ok(rendering)
    }
}

/// A text behind a prefix, unless the prefix has its place before the first file.
pub fn decorated(mut document: Document, prefix: Option<&str>, files: &[Attachment]) -> Document {
    if let Some(prefix) = prefix.filter(|_| !document.is_blank() || files.is_empty()) {
        document.decorate(prefix);
    }
    document
}
