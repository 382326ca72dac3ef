//! What was set up, and what the person does next: lines to copy, and none that shows a secret.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    apply::{Done, Running},
    plan::Approval,
    writing::is_services,
};
use crate::{
    cli::Failed,
    config::paths,
    printing::{print_result, visible, visible_line},
};

pub(super) fn tell(done: &Done, as_json: bool) -> Result<(), Failed> {
    let client = McpClient::of(done);
    match as_json {
        true => print_result!("{}", json(done, client.as_ref()))?,
        false => print_result!("{}", visible(&for_people(done, client.as_ref())))?,
    }
    match &done.companion {
        Some(Err(why)) => Err(Failed::Refused(format!(
            "all was written, but no terminal is a companion yet: {}. Start one with gatepost companion run, and pair it with \
             gatepost companion pair",
            why.trim_end_matches('.')
        ))),
        _ => Ok(()),
    }
}

/// How a client of the Model Context Protocol starts this agent's tools.
struct McpClient(Vec<String>);

impl McpClient {
    fn of(done: &Done) -> Option<Self> {
        let token = done.token.as_deref()?;
        let hub = format!("http://{}", done.plan.standing.config.hub.listen);
        let token = absolute(token);
        Some(Self(["mcp", "--hub", &hub, "--token-file", &token].map(str::to_owned).into()))
    }

    fn line(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|word| word_of_shell(word)).collect();
        format!("claude mcp add gatepost -- gatepost {}", words.join(" "))
    }

    fn snippet(&self) -> Value {
        json!({"mcpServers": {"gatepost": {"command": "gatepost", "args": self.0}}})
    }
}

/// Commands that a person runs next, and what each is for.
fn commands(done: &Done) -> Vec<(String, &'static str)> {
    let path = &done.plan.standing.path;
    let gatepost = |command: &str| match path {
        path if is_services(path) => format!("sudo gatepost {command}"),
        path if path == Path::new(paths::DEFAULT_FILE) => format!("gatepost {command}"),
        path => format!("gatepost -c {} {command}", word_of_shell(&path.to_string_lossy())),
    };
    let mut commands = vec![];
    match (done.running, is_services(path)) {
        (Some(Running::HasTakenIt), _) => {}
        (None, true) => commands.push(("sudo systemctl enable --now gatepost".into(), "the hub")),
        (Some(Running::MustRestart), true) => {
            commands
                .push(("sudo systemctl restart gatepost".into(), "the hub, which needs it for some of this"));
        }
        (None, false) => commands.push((gatepost("run"), "the hub: leave it running")),
        (Some(Running::MustRestart), false) => {
            commands.push((gatepost("run"), "stop the hub, and start it again: some of this needs it"));
        }
    }
    if done.companion == Some(Ok(())) {
        commands.push((gatepost("companion run"), "in a second terminal: your companion, which asks you"));
    } else if done.companion.is_none() && done.plan.standing.is_new() {
        commands.push((gatepost("companion pair"), "pairs a companion, which asks you"));
    }
    let approval = done.plan.approval();
    if let (Some(token), Approval::Needed | Approval::Spared) = (&done.token, approval) {
        let target = word_of_shell(&done.plan.target());
        let file = word_of_shell(&token.to_string_lossy());
        let account = match done.plan.has_siblings() {
            true => format!("--account {} ", done.plan.account),
            false => String::new(),
        };
        let text = format!("{account}'Hello from my agent'");
        let command = match is_services(path) {
            // An agent is not root, and does not read the service's configuration.
            true => {
                let hub = done.plan.standing.config.hub.listen;
                format!(
                    "GATEPOST_TOKEN=\"$(sudo cat {file})\" gatepost --hub http://{hub} send --to {target} {text}"
                )
            }
            false => {
                format!(
                    "GATEPOST_TOKEN=\"$(cat {file})\" {}",
                    gatepost(&format!("send --to {target} {text}"))
                )
            }
        };
        let what = match approval {
            Approval::Needed => "in another terminal: a message as your agent, which you approve",
            _ => "in another terminal: a message as your agent, which nobody has to approve",
        };
        commands.push((command, what));
    }
    commands.push((gatepost("queue list"), "what waits, and what became of the rest"));
    if done.plan.platform.name == "local" {
        commands.push((gatepost("local read"), "what has arrived"));
    }
    commands
}

fn for_people(done: &Done, client: Option<&McpClient>) -> String {
    let plan = &done.plan;
    let (agent, target, file) = (&plan.agent, plan.target(), plan.standing.path.display());
    let mut text = format!(
        "\n{agent} may write to {} now; {}. It is in {file}.\n",
        visible_line(&target),
        match plan.approval() {
            Approval::Needed => "a person approves each message first".to_owned(),
            Approval::Spared => format!(
                "nobody approves its messages first, for [agents.{agent}] has cross_context = \"allow\""
            ),
            Approval::Futile => format!(
                "only to answer in that conversation, for [agents.{agent}] has cross_context = \"deny\""
            ),
        }
    );
    if let Some(place) = &plan.place {
        text.push_str(&format!(
            "The secret of {}.{} is in {}.\n",
            plan.platform.name,
            plan.account,
            place.file.display()
        ));
    }
    if plan.has_siblings() {
        let (platform, account) = (plan.platform.name, &plan.account);
        text.push_str(&format!(
            "{platform} has several accounts: a message names the one that is meant (accountId), or an agent is bound to it in its \
             section: accounts = {{ {platform} = \"{account}\" }}\n"
        ));
        let unbound = plan.unbound();
        if !unbound.is_empty() {
            text.push_str(&format!(
                "Bound to none there, so that a message of theirs which names no account is refused: {}\n",
                unbound.join(", ")
            ));
        }
    }
    match &done.token {
        Some(token) => text.push_str(&format!(
            "The token of {agent} is in {}: only this user can read it.\n",
            token.display()
        )),
        None => text.push_str(&format!("{agent} has its token already.\n")),
    }
    if let Some(client) = client {
        text.push_str(&format!(
            "\nConnect the agent. Claude Code, in its folder:\n\n  {}\n\nAny other client of the Model Context Protocol:\n\n  {}\n",
            client.line(),
            client.snippet()
        ));
    }
    text.push_str("\nNext:\n\n");
    for (command, what) in commands(done) {
        text.push_str(&format!("  {command}\n      {what}\n"));
    }
    text
}

fn json(done: &Done, client: Option<&McpClient>) -> Value {
    let plan = &done.plan;
    let mut answer = json!({
        "ok": !matches!(done.companion, Some(Err(_))),
        "config": absolute(&plan.standing.path),
        "channel": plan.platform.name,
        "account": plan.account,
        "as": plan.me,
        "to": plan.target(),
        "agent": plan.agent,
        "companion": done.companion == Some(Ok(())),
        "next": commands(done).into_iter().map(|(command, _)| command).collect::<Vec<_>>(),
    });
    if let Some(token) = &done.token {
        answer["token_file"] = json!(absolute(token));
    }
    if let Some(client) = client {
        answer["mcp"] = json!({"command": client.line(), "config": client.snippet()});
    }
    answer
}

fn absolute(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

/// A word as a shell reads it.
fn word_of_shell(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@=+,%".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_a_shell_reads_them_as() {
        for (word, wanted) in [
            ("/home/ann/engineer.token", "/home/ann/engineer.token"),
            ("My Files/a", "'My Files/a'"),
            ("it's", "'it'\\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("", "''"),
        ] {
            assert_eq!(word_of_shell(word), wanted);
        }
    }
}
