//! The recipes of the guide to who may write where: each asks, sends and refuses as it says.

use std::{fs, os::unix::fs::PermissionsExt as _};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, client::text},
    peers::free_port,
};
use serde_json::json;

use crate::guide;

const ME: &str = "telegram:123456789";
const ADA: &str = "email:ada@example.org";
const BOB: &str = "telegram:987654321";

/// A message: the conversation that its turn came from, where it goes, and what the rules say.
type Case = (Option<&'static str>, &'static str, &'static str);

/// What each recipe does, by its name and its agent's.
const RECIPES: &[(&str, &str, &[Case])] = &[
    (
        "me",
        "assistant",
        &[
            (None, ME, "allow"),
            (Some(ADA), ME, "allow"),
            (None, ADA, "hold"),
            (Some(ME), ADA, "hold"),
            (Some(ADA), ADA, "allow"),
            (Some(ME), BOB, "deny"),
        ],
    ),
    ("ask", "assistant", &[(None, ME, "hold"), (None, ADA, "hold"), (None, "local:me", "hold")]),
    (
        "bridge",
        "assistant",
        &[(Some(ME), ME, "allow"), (Some(ME), BOB, "deny"), (None, ME, "deny"), (Some(ME), ADA, "deny")],
    ),
    ("timer", "nightly", &[(None, ME, "allow"), (None, BOB, "deny"), (None, ADA, "deny")]),
];

#[test]
fn each_recipe_asks_sends_and_refuses_as_it_says() -> Result<()> {
    let blocks = guide("daemon/docs/who-may-write.md")?.blocks;
    let recipes = blocks.iter().filter(|block| block.text.starts_with("# recipe: "));
    ensure!(recipes.count() == RECIPES.len(), "each recipe has its cases here");
    for (name, agent, cases) in RECIPES {
        let first = format!("# recipe: {name}\n");
        let recipe = blocks.iter().find(|block| block.text.starts_with(&first)).context(first)?;
        evaluate(name, agent, &recipe.text, cases)?;
    }
    Ok(())
}

/// A hub with this recipe says of each message what it should. No platform is reached: the messages are not sent.
fn evaluate(name: &str, agent: &str, recipe: &str, cases: &[Case]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let token = folder.path().join("token");
    fs::write(&token, "123456:a-token\n")?;
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600))?;
    let (token, nobody) = (token.display(), free_port()?);
    let hub = SpawnedHub::start(&format!(
        "{recipe}\n[channels.local.home]\n\
         [channels.telegram.home]\ntoken = \"file:{token}\"\nbase_url = \"http://127.0.0.1:{nobody}\"\n\
         [channels.email.home]\nhost = \"127.0.0.1\"\nport = {nobody}\nfrom = \"hub@example.org\"\n"
    ))?;
    let (caller, operator) = (hub.agent(agent)?, hub.operator()?);
    for (from, to, verdict) in cases {
        let mut call = json!({"to": to, "message": "The build is green.", "dryRun": true});
        if let Some((channel, peer)) = from.and_then(|from| from.split_once(':')) {
            let report = json!({"agent": agent, "channel": channel, "peer": peer, "text": "And?"});
            call["context"] = operator.post("/v1/inbound", &report)?.taken()?["context"].clone();
        }
        let answer = caller.post("/v1/messages", &call)?.taken()?;
        ensure!(text(&answer, "verdict") == *verdict, "{name}, from {from:?} to {to}: {answer}");
    }
    Ok(())
}
