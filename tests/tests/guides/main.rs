//! What README, guides and the set-up of channels say is true: their commands are parsed or run, their configurations checked,
//! their JSON parsed, their links followed; and the tables of calls, metrics and messages have what the program has.
//!
//! Every fenced block has one of the languages in [`check`]: there is none that nobody looks at.

mod asking;
mod commands;
mod configuration;
mod documents;
mod recipes;
mod session;
mod yocto;

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail, ensure};
use gatepost_tests::{hub::SpawnedHub, main_job::CONFIG, peers};
use pulldown_cmark::HeadingLevel;
use serde_json::Value;

use documents::{Block, Document, all, find, guides, root};

/// What a stranger reads first.
const MAX_README_BYTES: u64 = 8 * 1024;
/// A shorter piece of a message stands in too many others.
const MIN_PIECE_BYTES: usize = 7;

/// Checks each of these, and tells everything that is wrong at once.
fn each<T>(of: impl IntoIterator<Item = T>, mut check: impl FnMut(T) -> Result<()>) -> Result<()> {
    let wrong: Vec<_> =
        of.into_iter().filter_map(|one| check(one).err()).map(|error| format!("{error:#}")).collect();
    ensure!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    Ok(())
}

#[test]
fn every_block_is_what_its_fence_says() -> Result<()> {
    let guides = guides()?;
    ensure!(guides.len() > 10, "the documents are elsewhere: {guides:?}");
    let blocks =
        guides.iter().flat_map(|document| document.blocks.iter().map(move |block| (document, block)));
    each(blocks, |(document, block)| check(block).with_context(|| document.at(block)))
}

/// Checks a block by its language.
fn check(block: &Block) -> Result<()> {
    let Block { language, marker, text, .. } = block;
    match (&**language, &**marker) {
        ("sh" | "", "") | ("sh", "run" | "hub") => {
            each(commands::in_shell(text)?, |words| commands::parse(&words))
        }
        ("toml", "" | "run") => configuration::check(text),
        ("json", "") => {
            let values: Vec<Value> =
                serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>()?;
            each(values.iter().flat_map(commands::in_json), |words| commands::parse(&words))
        }
        ("ini", "") => {
            let is_line = |line: &&str| line.is_empty() || line.starts_with(['[', '#']) || line.contains('=');
            ensure!(text.lines().all(|line| is_line(&line)), "a line is no setting");
            each(commands::in_unit(text)?, |words| commands::parse(&words))
        }
        ("yaml", "") if text.contains("groups:") => {
            validated_by("promtool", &["check", "rules"], "rules.yml", text)
        }
        ("yaml", "") if text.contains("scrape_configs:") => {
            validated_by("promtool", &["check", "config", "--syntax-only"], "prometheus.yml", text)
        }
        ("yaml", "") => {
            let python = peers::python()?;
            // `!input` and `!secret` are Home Assistant's.
            let parse = "import sys, yaml; yaml.add_multi_constructor('!', lambda *_: '', yaml.SafeLoader); \
                         list(yaml.safe_load_all(open(sys.argv[1])))";
            validated_by(python.to_str().context("UTF-8")?, &["-c", parse], "example.yml", text)
        }
        ("js", "") => validated_by("node", &["--check"], "example.mjs", text),
        ("python", "") => {
            let python = peers::python()?;
            let python = python.to_str().context("UTF-8")?;
            validated_by(python, &["-m", "py_compile"], "example.py", text)
        }
        ("http", "") => http(text),
        // What a program prints, and pictures: those of blocks that are run are compared.
        ("text", "") => Ok(()),
        _ => bail!("nothing checks {language:?} {marker:?}: write another fence, or a check for it"),
    }
}

/// Checks a request or an answer: its first line, its headers, and that its body is JSON.
fn http(text: &str) -> Result<()> {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let (first, headers) = head.split_once('\n').unwrap_or((head, ""));
    let (version, request) = ("HTTP/1.1", first.split(' ').count() == 3);
    ensure!(
        first.starts_with(version) || (request && first.ends_with(version)),
        "{first:?} is no first line"
    );
    ensure!(headers.lines().all(|line| line.contains(": ")), "a line is no header: {headers}");
    ensure!(body.trim().is_empty() || serde_json::from_str::<Value>(body).is_ok(), "the body is no JSON");
    Ok(())
}

/// Has a program check a file.
fn validated_by(program: &str, arguments: &[&str], name: &str, text: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::File::create(folder.path().join(name))?.write_all(text.as_bytes())?;
    let validated = Command::new(program)
        .args(arguments)
        .arg(name)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{program} is missing: run `tests/run --setup-only`"))?;
    let said = String::from_utf8_lossy(&validated.stdout) + String::from_utf8_lossy(&validated.stderr);
    ensure!(validated.status.success(), "{program}: {said}");
    Ok(())
}

#[test]
fn commands_that_prose_names_exist() -> Result<()> {
    let spans = guides()?.into_iter().flat_map(|Document { path, spans, .. }| {
        let spans = spans.into_iter().filter(|span| span.starts_with("gatepost "));
        spans.map(move |span| (path.clone(), span)).collect::<Vec<_>>()
    });
    each(spans, |(path, span)| commands::exists(&span).with_context(|| path.display().to_string()))
}

#[test]
fn links_lead_to_documents_and_their_headings() -> Result<()> {
    let documents = all()?;
    let links = documents.iter().flat_map(|document| document.links.iter().map(move |link| (document, link)));
    each(links, |(document, link): (&Document, &String)| {
        document.leads(link).with_context(|| format!("{}: {link}", document.path.display()))
    })
}

#[test]
fn blocks_that_are_to_be_run_print_what_is_said() -> Result<()> {
    let documents = guides()?;
    let mut run = documents.iter().filter(|document| document.blocks.iter().any(session::is_run)).peekable();
    ensure!(run.peek().is_some(), "no document has a block to run");
    each(run, session::run)
}

#[test]
fn the_readme_is_two_pages() -> Result<()> {
    let bytes = fs::metadata(root().join("README.md"))?.len();
    ensure!(bytes <= MAX_README_BYTES, "{bytes} bytes: move something into a guide");
    Ok(())
}

fn guide(path: &str) -> Result<Document> {
    guides()?.into_iter().find(|document| document.path == Path::new(path)).context(path.to_owned())
}

/// A span as a call, `POST /v1/messages`, without what stands in brackets.
fn as_call(span: &str) -> Option<(String, String)> {
    let (method, path) = span.split_once(' ')?;
    let is_call = ["GET", "POST", "DELETE", "PUT", "PATCH"].contains(&method) && path.starts_with('/');
    is_call.then(|| (method.to_owned(), path.split(['[', '?']).next().unwrap_or(path).to_owned()))
}

#[test]
fn the_guide_to_http_has_the_calls_that_there_are() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    let described = hub.anybody(None).get("/openapi.json")?.taken()?;
    let paths = described["paths"].as_object().context("paths")?;
    let calls = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flat_map(|item| item.keys());
        methods
            .filter(|method| *method != "parameters")
            .map(|method| (method.to_uppercase(), path.clone()))
            .collect::<Vec<_>>()
    });
    let calls: BTreeSet<_> = calls.collect();
    let guide: BTreeSet<_> =
        guide("daemon/docs/http.md")?.spans.iter().filter_map(|span| as_call(span)).collect();
    // Both ways: what the guide leaves out, and what only it has.
    each(calls.symmetric_difference(&guide), |(method, path)| bail!("{method} {path}"))
}

#[test]
fn the_guide_to_operating_has_the_metrics_that_there_are() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    let metrics = hub.operator()?.get("/metrics")?.body;
    let metrics = metrics.as_str().context("a text")?;
    let families = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let families: BTreeSet<_> = families.map(str::to_owned).collect();
    let is_metric = |span: &String| span.starts_with("gatepost_") || span.starts_with("process_");
    let guide: BTreeSet<_> = guide("daemon/docs/operate.md")?.spans.into_iter().filter(is_metric).collect();
    each(families.symmetric_difference(&guide), |name| bail!("{name}"))
}

#[test]
fn the_guide_to_troubles_quotes_what_the_program_says() -> Result<()> {
    let mut sources = Vec::new();
    for folder in
        ["daemon/src", "daemon/flash/src", "firmware/core/src", "firmware/desktop/src", "shared/link/src"]
    {
        find(folder.as_ref(), &|path| path.extension().is_some_and(|end| end == "rs"), &mut sources)?;
    }
    let mut code = String::new();
    for path in sources {
        code += &as_printed(&fs::read_to_string(root().join(path))?);
    }
    let guide = guide("daemon/docs/troubleshooting.md")?;
    // The messages are the headings, and the first words of list items.
    let titles = guide.headings.iter().filter(|heading| heading.level == HeadingLevel::H3);
    let messages: Vec<&String> = titles.flat_map(|title| &title.spans).chain(&guide.items).collect();
    ensure!(messages.len() > 20, "{messages:?}");
    each(messages, |message| {
        let pieces = message.split('…').flat_map(|piece| piece.split(": ")).map(str::trim);
        let unknown: Vec<_> =
            pieces.filter(|piece| piece.len() >= MIN_PIECE_BYTES && !code.contains(piece)).collect();
        ensure!(unknown.is_empty(), "no message has {unknown:?}");
        Ok(())
    })
}

/// Code, its texts as they are printed: `…` in place of what is filled in.
fn as_printed(code: &str) -> String {
    let mut lines = String::new();
    for line in code.lines() {
        match line.strip_suffix('\\') {
            // A text that goes on in the next line.
            Some(text) => lines.push_str(if lines.ends_with('\n') { text } else { text.trim_start() }),
            None if lines.ends_with('\n') => lines.extend([line, "\n"]),
            None => lines.extend([line.trim_start(), "\n"]),
        }
    }
    let mut printed = String::new();
    let mut rest = lines.as_str();
    while let Some((before, behind)) = rest.split_once('{') {
        printed.push_str(before);
        match behind.split_once('}').filter(|(name, _)| !name.contains(['\n', '{'])) {
            Some((_, after)) => {
                printed.push('…');
                rest = after;
            }
            None => {
                printed.push('{');
                rest = behind;
            }
        }
    }
    printed.push_str(rest);
    printed.replace("\\\"", "\"")
}

#[test]
fn texts_of_the_code_are_read_as_they_are_printed() {
    let code = "    #[error(\"a {0} \\\"b\\\" and \\\n        c {}\")]\nfn a() {\n}\n";
    assert!(as_printed(code).contains("a … \"b\" and c …"), "{}", as_printed(code));
    assert_eq!(as_call("POST /v1/messages[?wait=S]"), Some(("POST".into(), "/v1/messages".into())));
    assert_eq!(as_call("POST it"), None);
}
