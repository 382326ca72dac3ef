//! `gatepost render` and `gatepost chunk`: filters, Markdown or text in, one JSON object a line out.

use std::{
    io::{self, Read as _, Write as _},
    num::NonZeroUsize,
    str::FromStr,
};

use gatepost_chunk::{Mode, Unit};
use serde_json::json;

use super::Failed;
use crate::{
    channels::formats::{FORMATS, format},
    render::{self, Tables},
};

/// The most that is read from stdin, in bytes.
const MAX_INPUT: u64 = 64 * 1024 * 1024;

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
    /// Print JSON lines; that is what is always printed.
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
        let known: Vec<&str> = FORMATS.iter().map(|format| format.channel).collect();
        Failed::Usage(format!("there is no channel {:?}: there are {}", arguments.channel, known.join(", ")))
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
    print(parts.iter().enumerate().map(|(index, part)| {
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
    }))
}

pub(super) fn chunk(arguments: &ChunkArguments) -> Result<(), Failed> {
    let usage = |text: &str| Err(Failed::Usage(text.to_owned()));
    match (arguments.mode, arguments.limit, arguments.columns, arguments.rows) {
        (ModeArgument::Page, None, Some(columns), Some(rows)) => pages(&stdin()?, columns.get(), rows.get()),
        (ModeArgument::Page, ..) => usage("a page has no limit: give --columns and --rows"),
        (ModeArgument::Split(mode), Some(limit), None, None) => split(&stdin()?, limit, arguments.unit, mode),
        (ModeArgument::Split(_), ..) => usage("--columns and --rows are for --mode page"),
    }
}

fn split(text: &str, limit: usize, unit: Unit, mode: Mode) -> Result<(), Failed> {
    let chunks =
        gatepost_chunk::split(text, limit, unit, mode).map_err(|error| Failed::Usage(error.to_string()))?;
    print(chunks.enumerate().map(|(index, chunk)| {
        let range = [chunk.range.start, chunk.range.end];
        json!({"index": index, "text": chunk.to_string(), "units": chunk.units, "range": range})
    }))
}

fn pages(text: &str, columns: usize, rows: usize) -> Result<(), Failed> {
    let pages = gatepost_chunk::pages(text, columns, rows, gatepost_chunk::display_width);
    print(pages.enumerate().map(|(index, page)| {
        let (range, lines) = (page.range(), page.lines().collect::<Vec<_>>());
        json!({"index": index, "lines": lines, "range": [range.start, range.end]})
    }))
}

fn stdin() -> Result<String, Failed> {
    let mut bytes = vec![];
    io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(Failed::refused)?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(Failed::Usage(format!("stdin has more than {MAX_INPUT} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        Failed::Usage(format!("stdin is not UTF-8 (at byte {})", error.utf8_error().valid_up_to()))
    })
}

fn print(lines: impl Iterator<Item = serde_json::Value>) -> Result<(), Failed> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in lines {
        match writeln!(out, "{line}") {
            // The reader has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            result => result.map_err(Failed::refused)?,
        }
    }
    out.flush().or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failed::refused(error)),
    })
}
