//! The file of things to look after, which its operator or the agent keeps. It is read anew for every heartbeat.
//!
//! A list that has nothing on it wakes nobody: headings, comments and empty bullets are what is left of one whose work is done.

use std::{io::ErrorKind, path::Path};

use crate::settings::file::{FileError, read_regular_text};

/// The longest list, in bytes: it is part of a prompt.
pub const MAX_BYTES: u64 = 16 * 1024;

/// What stands on a list; nothing if there is nothing to look after, or no such file.
///
/// # Errors
/// It is there and cannot be read.
pub fn read(path: &Path) -> Result<Option<String>, FileError> {
    match read_regular_text(path, MAX_BYTES) {
        Ok(text) => Ok((!is_empty(&text)).then(|| text.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether nothing is on it.
fn is_empty(text: &str) -> bool {
    let mut in_comment = false;
    text.lines().map(str::trim).all(|line| {
        if in_comment || line.starts_with("<!--") {
            in_comment = !line.ends_with("-->");
            return true;
        }
        line.starts_with('#') || ["", "-", "*", "- [ ]", "* [ ]"].contains(&line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_comments_and_empty_bullets_are_nothing() {
        for text in ["", "\n\n", "# To do\n\n- \n- [ ]\n", "<!-- write\nbelow -->\n# List\n*"] {
            assert!(is_empty(text), "{text:?}");
        }
        for text in ["water the plants", "# To do\n- [ ] plants", "<!-- c -->\n1. plants"] {
            assert!(!is_empty(text), "{text:?}");
        }
    }

    #[test]
    fn a_list_that_is_not_there_is_empty_and_one_that_is_too_long_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("HEARTBEAT.md");
        assert_eq!(read(&file).unwrap(), None);
        std::fs::write(&file, "- plants\n").unwrap();
        assert_eq!(read(&file).unwrap().as_deref(), Some("- plants"));
        std::fs::write(&file, "x".repeat(20_000)).unwrap();
        assert!(read(&file).is_err());
    }
}
