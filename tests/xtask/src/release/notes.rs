//! What has changed in a version, from CHANGELOG.md.

/// The part of a version, without its heading; [`None`] if there is none, or nothing in it.
pub(super) fn of(changelog: &str, version: &str) -> Option<String> {
    let heading = |line: &str| {
        let title = line.strip_prefix("## ")?;
        // "## 1.0.0" or "## [1.0.0] - 2026-11-26".
        Some(title.split_whitespace().next()?.trim_matches(['[', ']']) == version)
    };
    let mut lines = changelog.lines().skip_while(|line| heading(line) != Some(true));
    lines.next()?;
    let part: Vec<&str> = lines.take_while(|line| heading(line).is_none()).collect();
    let part = part.join("\n").trim().to_owned();
    (!part.is_empty()).then(|| part + "\n")
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_part_of_a_version_ends_before_the_next_one() {
        let log = "# Changelog\n\n## Unreleased\n\n- c\n\n## [1.1.0] - 2026-11-26\n\n### Added\n\n- b\n\n## 1.0.0\n\n- a\n";
        assert_eq!(of(log, "1.1.0").as_deref(), Some("### Added\n\n- b\n"));
        assert_eq!(of(log, "1.0.0").as_deref(), Some("- a\n"));
        assert_eq!(of(log, "0.9.0"), None);
        assert_eq!(of("## 1.0.0\n\n## 0.9.0\n", "1.0.0"), None);
    }
}
