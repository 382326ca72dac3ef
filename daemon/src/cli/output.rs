//! How answers are printed for people.

use serde_json::Value;

use crate::printing::{visible, visible_line};

/// A text member of an answer, or nothing.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

/// A moment (RFC 3339, UTC) to the second; a dash where there was none.
pub(super) fn moment(at: &str) -> String {
    match at.split_once('.') {
        _ if at.is_empty() => "-".into(),
        Some((seconds, _)) => format!("{seconds}Z"),
        None => at.into(),
    }
}

/// Why a message is where it is.
pub(super) fn why(message: &Value) -> &str {
    match text(message, "error") {
        "" => text(message, "reason"),
        error => error,
    }
}

/// A receipt as a few lines.
pub(super) fn receipt(receipt: &Value) -> String {
    let mut lines = format!("{} {} to {}", text(receipt, "id"), text(receipt, "state"), text(receipt, "to"));
    if let Some(sent) = receipt.get("sent").and_then(Value::as_str) {
        lines.push_str(&format!(", {sent} parts sent"));
    }
    for name in ["reason", "error", "detail", "hint"] {
        if !text(receipt, name).is_empty() {
            lines.push_str(&format!("\n  {}", text(receipt, name)));
        }
    }
    for line in receipt.get("history").and_then(Value::as_array).into_iter().flatten() {
        lines.push_str(&format!("\n  history: {}", line.as_str().unwrap_or_default()));
    }
    // Where nobody can be asked, the hint has said it.
    let asked = receipt.get("asked").is_none_or(|asked| asked.get("problem").is_none());
    if text(receipt, "state") == "held" && asked {
        lines.push_str(&format!("\n  waits until {}", moment(text(receipt, "deadline"))));
    }
    if receipt.get("decided_by_software") == Some(&Value::Bool(true)) {
        lines.push_str("\n  decided by a software companion");
    }
    let parts = receipt.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (number, part) in (1..).zip(parts) {
        lines.push_str(&format!("\n  part {number}: {}", text(part, "state")));
        for name in ["platform_id", "reason", "error"] {
            if !text(part, name).is_empty() {
                lines.push_str(&format!(" {}", text(part, name)));
            }
        }
        for (name, word) in [("delivered_at", "delivered"), ("read_at", "read")] {
            if !text(part, name).is_empty() {
                lines.push_str(&format!(", {word} {}", moment(text(part, name))));
            }
        }
    }
    visible(&lines).into_owned()
}

/// A question and its answer.
pub(super) fn question(question: &Value) -> String {
    let mut lines = format!("{} {}", text(question, "id"), text(question, "state"));
    for name in ["reason", "hint"] {
        if !text(question, name).is_empty() {
            lines.push_str(&format!("\n  {}", text(question, name)));
        }
    }
    if !text(question, "deadline").is_empty() {
        lines.push_str(&format!("\n  waits until {}", moment(text(question, "deadline"))));
    }
    if question.get("decided_by_software") == Some(&Value::Bool(true)) {
        lines.push_str("\n  answered by a software companion");
    }
    visible(&lines).into_owned()
}

/// A file that goes along, in one line.
pub(super) fn file(file: &Value) -> String {
    let what = if file.get("voice") == Some(&Value::Bool(true)) { "voice" } else { "file" };
    let claim = match text(file, "said_to_be") {
        "" => String::new(),
        claim => format!(", said to be {claim}"),
    };
    let size = file.get("size").and_then(Value::as_u64).unwrap_or(0);
    let (name, kind, hash) = (text(file, "name"), text(file, "kind"), text(file, "sha256"));
    visible(&format!("  {what}: {name} ({kind}{claim}, {size} bytes, sha256 {hash})")).into_owned()
}

/// Rows as a table with aligned columns.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| visible_line(cell).into_owned()).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([header[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let head = line(header.to_vec());
    let body = rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
    std::iter::once(head).chain(body).collect::<Vec<_>>().join("\n")
}
