//! Where a key stands in its file: an error names the line to look at.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::MAX_FILE_BYTES;
use crate::settings::file::read_text;

/// `FILE:LINE: ` of a key such as `agents.engineer.hold`, of the section that it is missing in, or `FILE: ` where the file
/// says nothing of it.
pub fn locate(text: &str, path: &Path, key: &str) -> String {
    match line_of(text, key) {
        Some(line) => format!("{}:{line}: ", path.display()),
        None => format!("{}: ", path.display()),
    }
}

/// The same for a file, as it is now.
pub fn locate_in(path: &Path, key: &str) -> String {
    locate(&read_text(path, MAX_FILE_BYTES).unwrap_or_default(), path, key)
}

/// The line that a byte stands on, counted from 1.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&b| b == b'\n').count()
}

fn line_of(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (mut table, mut found) = (document.get_ref(), None);
    for name in key.split('.') {
        let Some((at, value)) = table.iter().find(|(known, _)| known.get_ref().as_ref() == name) else {
            break;
        };
        found = Some(at.span().start);
        let DeValue::Table(inner) = value.get_ref() else { break };
        table = inner;
    }
    Some(line_at(text, found?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_on_its_line_and_a_missing_one_in_its_section() {
        let text = "[hub]\nttl = \"1h\"\n\n[agents.a]\nallow = [\"x\"]\n\n[channels.telegram.home]\ntoken = \"env:T\"\n";
        let at = |key| locate(text, Path::new("f.toml"), key);
        assert_eq!(at("hub.ttl"), "f.toml:2: ");
        assert_eq!(at("agents.a.allow"), "f.toml:5: ");
        assert_eq!(at("agents.a.hold"), "f.toml:4: ");
        assert_eq!(at("channels.telegram.home"), "f.toml:7: ");
        assert_eq!(at("queue.backups"), "f.toml: ");
        assert_eq!(locate("no toml", Path::new("f.toml"), "hub"), "f.toml: ");
    }
}
