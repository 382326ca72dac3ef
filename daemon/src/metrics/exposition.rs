//! The text format: a family's help and type, then its samples.

use std::fmt::Write as _;

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only grows; its name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// A text that grows.
#[derive(Debug, Default)]
pub(super) struct Text {
    text: String,
    name: &'static str,
}

impl Text {
    /// Begins a family; the samples that follow are its.
    pub(super) fn family(&mut self, name: &'static str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        self.name = name;
        let _ = write!(self.text, "# HELP {name} {}\n# TYPE {name} {kind}\n", escaped(help, false));
    }

    /// Adds a sample.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(self.name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{}\"", escaped(value, true));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.text
    }
}

fn escaped(text: &str, quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if quotes { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_quotes_or_its_line() {
        let mut text = Text::default();
        text.family("a_total", Kind::Counter, "Two\nlines \\ \"quoted\".");
        text.sample(&[("x", "a\"} 1\nb_total 2\\"), ("y", "")], 3.0);
        text.family("b", Kind::Gauge, "Plain.");
        text.sample(&[], 0.25);
        let expected = "# HELP a_total Two\\nlines \\\\ \"quoted\".\n# TYPE a_total counter\n\
            a_total{x=\"a\\\"} 1\\nb_total 2\\\\\",y=\"\"} 3\n# HELP b Plain.\n# TYPE b gauge\nb 0.25\n";
        assert_eq!(String::from(text), expected);
    }
}
