//! `gatepost render` and `gatepost chunk`: filters, Markdown or text in, parts out; for a person each under a line that says how
//! much of the limit it has, for a program one JSON object a line.

use std::{
    io::{self, Read as _},
    num::NonZeroUsize,
    str::FromStr,
};

use gatepost_chunk::{Chunk, Mode, Unit};
use serde_json::json;

use super::Failed;
use crate::{
    channels::registry::{NAMES, format},
    printing::{print_all, print_note},
    render::{self, Tables},
};

/// The most that is read from stdin, in bytes.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(super) struct RenderArguments {
    /// The channel to render for, such as `local`, `telegram`, `slack`.
    #[arg(long)]
    channel: String,
    /// The most that a part may have, in the channel's unit, if not the channel's own limit.
    #[arg(long)]
    limit: Option<usize>,
    /// How tables are shown, if not the channel's own way.
    #[arg(long, value_enum)]
    tables: Option<TablesArgument>,
    /// Print JSON: an object for each part, on a line of its own.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum TablesArgument {
    /// The platform's own tables, where it has them.
    Native,
    /// Aligned in a block of code.
    Code,
    /// A list, one item a row.
    Bullets,
    /// Cells with bars between them.
    Plain,
}

#[derive(Debug, clap::Args)]
pub(super) struct ChunkArguments {
    /// The most that a chunk may have.
    #[arg(long, required_unless_present_all = ["columns", "rows"])]
    limit: Option<usize>,
    /// What is counted: bytes, codepoints, utf16 or graphemes.
    #[arg(long, default_value = "utf16")]
    unit: Unit,
    /// Where to break: length, newline (paragraphs first), markdown (fences closed and opened again) or page (for a display).
    #[arg(long, default_value = "newline")]
    mode: ModeArgument,
    /// The width of a page's lines: what a letter takes is one, what is wide (CJK, emoji) two.
    #[arg(long, requires = "rows", conflicts_with = "limit")]
    columns: Option<NonZeroUsize>,
    /// The lines of a page.
    #[arg(long, requires = "columns")]
    rows: Option<NonZeroUsize>,
    /// Print JSON: an object for each chunk, on a line of its own.
    #[arg(long)]
    json: bool,
}

/// A mode of the splitter, or its pages.
#[derive(Debug, Clone, Copy)]
enum ModeArgument {
    Split(Mode),
    Page,
}

impl FromStr for ModeArgument {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "page" => Ok(Self::Page),
            _ => name
                .parse()
                .map(Self::Split)
                .map_err(|_| "no such mode: use length, newline, markdown or page"),
        }
    }
}

pub(super) fn render(arguments: &RenderArguments) -> Result<(), Failed> {
    let format = format(&arguments.channel).ok_or_else(|| {
        Failed::Usage(format!("there is no channel {:?}: there are {}", arguments.channel, NAMES.join(", ")))
    })?;
    let mut flavour = format.flavour;
    flavour.limit = arguments.limit.or(flavour.limit);
    if let Some(tables) = arguments.tables {
        flavour.tables = match tables {
            TablesArgument::Native => Tables::Native,
            TablesArgument::Code => Tables::Code,
            TablesArgument::Bullets => Tables::Bullets,
            TablesArgument::Plain => Tables::Plain,
        };
    }
    let document = render::parse(&stdin()?);
    let parts = render::render(&document, &flavour).map_err(|error| Failed::Usage(error.to_string()))?;
    if !arguments.json {
        let extent = |part: &render::Part| extent(part.units, flavour.limit, flavour.unit);
        let shown = parts.iter().map(|part| Shown { extent: extent(part), text: as_sent(part) });
        return print_shown("part", shown.collect());
    }
    Ok(print_all(parts.iter().enumerate().map(|(index, part)| {
        let mut line = json!({"index": index, "text": part.text, "units": part.units});
        if let Some(html) = &part.html {
            line["html"] = html.as_str().into();
        }
        if !part.styles.is_empty() {
            let style = |style: &render::Style| {
                json!({"start": style.start, "length": style.len, "style": style.kind.name()})
            };
            line["styles"] = part.styles.iter().map(style).collect();
        }
        if let Some(preview) = &part.preview {
            line["preview"] = preview.as_str().into();
        }
        line
    }))?)
}

pub(super) fn chunk(arguments: &ChunkArguments) -> Result<(), Failed> {
    let usage = |text: &str| Err(Failed::Usage(text.to_owned()));
    match (arguments.mode, arguments.limit, arguments.columns, arguments.rows) {
        (ModeArgument::Page, None, Some(columns), Some(rows)) => {
            pages(&stdin()?, columns.get(), rows.get(), arguments.json)
        }
        (ModeArgument::Page, ..) => usage("a page has no limit: give --columns and --rows"),
        (ModeArgument::Split(mode), Some(limit), None, None) => {
            split(&stdin()?, limit, arguments.unit, mode, arguments.json)
        }
        (ModeArgument::Split(_), ..) => usage("--columns and --rows are for --mode page"),
    }
}

fn split(text: &str, limit: usize, unit: Unit, mode: Mode, json: bool) -> Result<(), Failed> {
    let chunks =
        gatepost_chunk::split(text, limit, unit, mode).map_err(|error| Failed::Usage(error.to_string()))?;
    if !json {
        let shown = |chunk: Chunk<'_>| Shown {
            extent: extent(chunk.units, Some(limit), unit),
            text: chunk.to_string(),
        };
        return print_shown("chunk", chunks.map(shown).collect());
    }
    Ok(print_all(chunks.enumerate().map(|(index, chunk)| {
        let range = [chunk.range.start, chunk.range.end];
        json!({"index": index, "text": chunk.to_string(), "units": chunk.units, "range": range})
    }))?)
}

fn pages(text: &str, columns: usize, rows: usize, json: bool) -> Result<(), Failed> {
    let pages = gatepost_chunk::pages(text, columns, rows, gatepost_chunk::display_width);
    if !json {
        let shown = pages.map(|page| {
            let lines: Vec<&str> = page.lines().collect();
            Shown { extent: format!("{} of {} lines", lines.len(), grouped(rows)), text: lines.join("\n") }
        });
        return print_shown("page", shown.collect());
    }
    Ok(print_all(pages.enumerate().map(|(index, page)| {
        let (range, lines) = (page.range(), page.lines().collect::<Vec<_>>());
        json!({"index": index, "lines": lines, "range": [range.start, range.end]})
    }))?)
}

/// A part as a person sees it.
struct Shown {
    /// How large it is, and how large it may be.
    extent: String,
    text: String,
}

fn print_shown(what: &str, parts: Vec<Shown>) -> Result<(), Failed> {
    if parts.is_empty() {
        print_note!("nothing to send: the text is blank");
    }
    let all = grouped(parts.len());
    Ok(print_all((1..).zip(parts).map(|(number, Shown { extent, text })| {
        format!("--- {what} {} of {all} · {extent}\n{text}", grouped(number))
    }))?)
}

/// The text of a part, and what goes with it where the channel has HTML or styles, or a preview leaves a spoiler out.
fn as_sent(part: &render::Part) -> String {
    let mut text = part.text.clone();
    if let Some(html) = &part.html {
        text.push_str(&format!("\n--- the same as HTML\n{html}"));
    }
    if !part.styles.is_empty() {
        text.push_str("\n--- its styles, by UTF-16 units");
        for style in &part.styles {
            let (first, last) = (style.start, style.start + style.len.saturating_sub(1));
            text.push_str(&format!("\n{}: {first} to {last}", style.kind.name()));
        }
    }
    if let Some(preview) = &part.preview {
        text.push_str(&format!("\n--- without what is hidden, for previews\n{preview}"));
    }
    text
}

fn extent(units: usize, limit: Option<usize>, unit: Unit) -> String {
    let unit = match unit {
        Unit::Bytes => "bytes",
        Unit::CodePoints => "code points",
        Unit::Utf16 => "UTF-16 units",
        Unit::Graphemes => "graphemes",
    };
    match limit {
        Some(limit) => format!("{} of {} {unit}", grouped(units), grouped(limit)),
        None => format!("{} {unit}", grouped(units)),
    }
}

/// A number with a comma between its thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn stdin() -> Result<String, Failed> {
    let mut bytes = vec![];
    io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes).map_err(Failed::refused)?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        return Err(Failed::Usage(format!("stdin has more than {MAX_INPUT_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        Failed::Usage(format!("stdin is not UTF-8 (at byte {})", error.utf8_error().valid_up_to()))
    })
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_set_apart() {
        let grouped = [0, 12, 999, 1_000, 4_096, 1_234_567].map(grouped);
        assert_eq!(grouped, ["0", "12", "999", "1,000", "4,096", "1,234,567"]);
    }
}
