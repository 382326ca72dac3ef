//! The commands in documents: found in shell, in units of systemd and in the set-up of MCP clients, and held against the
//! program's own command line.
//!
//! A command is parsed by the program itself: with `--help` behind it, it does nothing, and an option, a value or a
//! subcommand that the program does not know is an error.

use anyhow::{Context as _, Result, bail, ensure};
use gatepost_tests::hub::gatepost;
use serde_json::Value;

/// The arguments of every call of `gatepost` in a piece of shell.
pub(crate) fn in_shell(text: &str) -> Result<Vec<Vec<String>>> {
    let mut shell = Shell { rest: text.chars().collect::<Vec<_>>().into_iter().peekable(), commands: vec![] };
    shell.list(false)?;
    Ok(shell.commands.into_iter().filter_map(of_gatepost).collect())
}

/// The same in a unit of systemd: behind `Exec…=`.
pub(crate) fn in_unit(text: &str) -> Result<Vec<Vec<String>>> {
    let lines = text.lines().filter(|line| line.starts_with("Exec"));
    let values = lines.filter_map(|line| line.split_once('=')).map(|(_, command)| in_shell(command));
    Ok(values.collect::<Result<Vec<_>>>()?.concat())
}

/// The same in JSON: objects with `command` and `args`, as MCP clients have them.
pub(crate) fn in_json(value: &Value) -> Vec<Vec<String>> {
    let mut found = vec![];
    if let (Some(command), Some(arguments)) = (value["command"].as_str(), value["args"].as_array()) {
        let words = arguments.iter().filter_map(Value::as_str).map(str::to_owned);
        found.extend(of_gatepost([command.to_owned()].into_iter().chain(words).collect()));
    }
    let members: Vec<&Value> = match value {
        Value::Object(members) => members.values().collect(),
        Value::Array(values) => values.iter().collect(),
        _ => vec![],
    };
    found.extend(members.into_iter().flat_map(in_json));
    found
}

/// Has the program parse these arguments.
pub(crate) fn parse(arguments: &[String]) -> Result<()> {
    let mut arguments = arguments.to_vec();
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    arguments.insert(end, "--help".into());
    let ended = gatepost(&arguments, b"", &[])?;
    ensure!(ended.status == 0, "gatepost {}: {}", arguments.join(" "), ended.stderr);
    Ok(())
}

/// Checks a command that prose names: that there is such a subcommand. Options and values may be placeholders there.
pub(crate) fn exists(span: &str) -> Result<()> {
    let words = span.split_whitespace().skip(1);
    let path: Vec<String> = words
        .take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
        .take(2)
        .map(str::to_owned)
        .collect();
    let Some(first) = path.first().filter(|first| *first != "help") else { return Ok(()) };
    let help = gatepost(&[first, "--help"], b"", &[])?.well().with_context(|| span.to_owned())?;
    match path.get(1) {
        Some(second) if help.contains("<COMMAND>") => {
            gatepost(&[first, second, "--help"], b"", &[])?.well().with_context(|| span.to_owned()).map(drop)
        }
        _ => Ok(()),
    }
}

/// The arguments, if this is a call of `gatepost`, perhaps as somebody else or somewhere else.
fn of_gatepost(words: Vec<String>) -> Option<Vec<String>> {
    let is_assignment = |word: &String| {
        let (name, _) = word.split_once('=').unwrap_or(("-", ""));
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut words = words.into_iter().skip_while(is_assignment).peekable();
    loop {
        let first = words.next()?;
        let mut skip_options = |with_value: &[&str]| {
            while let Some(option) = words.next_if(|word| word.starts_with('-')) {
                if with_value.contains(&option.as_str()) {
                    words.next();
                }
            }
        };
        match first.rsplit('/').next()? {
            "gatepost" => return Some(words.collect()),
            "sudo" => skip_options(&["-u", "-g"]),
            "nice" => skip_options(&["-n"]),
            "exec" | "env" | "time" => while words.next_if(is_assignment).is_some() {},
            "ssh" => {
                skip_options(&["-p", "-i", "-o"]);
                words.next();
            }
            "cargo" if words.next_if(|word| word == "run").is_some() => {
                return words.position(|word| word == "--").map(|_| words.collect());
            }
            _ => return None,
        }
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads shell as far as documents use it: words, quotes, pipes, lists, redirections, substitutions.
struct Shell {
    rest: std::iter::Peekable<std::vec::IntoIter<char>>,
    commands: Vec<Vec<String>>,
}

impl Shell {
    /// Reads commands up to the end, or up to `)` inside a substitution.
    fn list(&mut self, nested: bool) -> Result<()> {
        let (mut command, mut word): (Vec<String>, Option<String>) = (vec![], None);
        let mut redirected = false;
        loop {
            let next = self.rest.next();
            let ends_word = next.is_none_or(|next| next.is_whitespace() || "|&;()<>".contains(next));
            // `2>&1`: a descriptor is no word.
            if matches!(next, Some('<' | '>')) && word.as_ref().is_some_and(|word| is_number(word)) {
                word = None;
            }
            if ends_word && let Some(word) = word.take() {
                match redirected {
                    true => redirected = false,
                    false => command.push(word),
                }
            }
            match next {
                None => {
                    ensure!(!nested, "a substitution does not end");
                    self.commands.push(command);
                    return Ok(());
                }
                Some(')') if nested => {
                    self.commands.push(command);
                    return Ok(());
                }
                Some('\n' | '|' | ';' | '&' | '(' | ')') => self.commands.push(std::mem::take(&mut command)),
                Some('<' | '>') => {
                    while self.rest.next_if(|next| matches!(next, '<' | '>' | '&')).is_some() {}
                    match self.rest.next_if_eq(&'(') {
                        Some(_) => self.list(true)?,
                        None => redirected = true,
                    }
                }
                Some(space) if space.is_whitespace() => {}
                Some('#') if word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
                Some('\\') => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(escaped) => word.get_or_insert_default().push(escaped),
                },
                Some(quote @ ('\'' | '"')) => {
                    let quoted = self.quoted(quote)?;
                    word.get_or_insert_default().push_str(&quoted);
                }
                Some('$') if self.rest.next_if_eq(&'(').is_some() => {
                    self.list(true)?;
                    word.get_or_insert_default().push_str("substituted");
                }
                Some(letter) => word.get_or_insert_default().push(letter),
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String> {
        let mut quoted = String::new();
        loop {
            match self.rest.next() {
                None => bail!("a quotation does not end: {quoted}"),
                Some(end) if end == quote => return Ok(quoted),
                Some('\\') if quote == '"' => quoted.extend(self.rest.next()),
                Some('$') if quote == '"' && self.rest.next_if_eq(&'(').is_some() => {
                    self.list(true)?;
                    quoted.push_str("substituted");
                }
                Some(letter) => quoted.push(letter),
            }
        }
    }
}

#[test]
fn commands_are_found_in_shell() -> Result<()> {
    let text = r#"
        GATEPOST_TOKEN="$(sudo -u hub gatepost agent add "a b")" gatepost send --to x "hello # not" # gatepost no
        echo '{"a": "gatepost"}' | gatepost message --wait 5 > out && sudo /usr/local/bin/gatepost \
            -c f run; cargo run --release -- demo --decide deny < in
        (umask 077; cat > gatepost); ssh -t hub gatepost companion run 2>&1
        diff <(gatepost init --print) gatepost.toml
    "#;
    let found: Vec<_> = in_shell(text)?.iter().map(|words| words.join("|")).collect();
    assert_eq!(
        found,
        [
            "agent|add|a b",
            "send|--to|x|hello # not",
            "message|--wait|5",
            "-c|f|run",
            "demo|--decide|deny",
            "companion|run",
            "init|--print",
        ]
    );
    assert!(in_shell("gatepost \"").is_err());
    assert_eq!(in_unit("[Service]\nExecStart=/usr/bin/gatepost -c a run\n")?, [["-c", "a", "run"]]);
    let client = serde_json::json!({"mcpServers": {"x": {"command": "/bin/gatepost", "args": ["mcp"]}}});
    assert_eq!(in_json(&client), [["mcp"]]);
    Ok(())
}
