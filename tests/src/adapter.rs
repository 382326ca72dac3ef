//! A channel's account in this process, without a hub: what it makes of a text, for a judge to read.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use gatepost::{
    channels::{Adapter, OperationRequest, OutgoingPart, Source},
    config::Config,
    hub::open_accounts,
    message::operation::{Button, Extras, Operation, Press},
    render::{self, Part},
    store::Store,
};
use serde_json::Value;
use tempfile::TempDir;

/// The channel's account in this configuration, and the folder that it stands on. It connects to nothing.
///
/// # Errors
/// The configuration is wrong, or there is no such account.
pub fn opened(channel: &str, config: &str) -> Result<(TempDir, Arc<dyn Adapter>)> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(folder.path())?;
    let accounts = open_accounts(&Config::parse(config, Path::new("test"))?, &store)?;
    let adapter = accounts.pick(channel, None)?.1.clone();
    Ok((folder, adapter))
}

/// The first part of a text.
///
/// # Errors
/// It cannot be rendered.
pub fn part(markdown: &str, adapter: &dyn Adapter) -> Result<Part> {
    Ok(render::render(&render::parse(markdown), &adapter.flavour())?.remove(0))
}

/// The only part of a message, with nothing beside it.
pub fn outgoing<'a>(address: &'a str, part: &'a Part) -> OutgoingPart<'a> {
    OutgoingPart {
        address,
        thread: None,
        reply_to: None,
        quoted: None,
        silent: false,
        headline: "",
        source: Source::default(),
        part,
        files: &[],
        extras: Extras::NONE,
        index: 0,
        of: 1,
    }
}

/// The request of an operation; its text, if it has one, is `**New**`.
///
/// # Errors
/// The channel has no such operation, or refuses it.
pub fn request_of(adapter: &dyn Adapter, address: &str, operation: &Operation) -> Result<Value> {
    let part = part("**New**", adapter)?;
    let op = OperationRequest {
        address,
        thread: None,
        reply_to: None,
        silent: false,
        operation,
        part: Some(&part),
    };
    Ok(adapter.plan_operation(&op, None).context("it can do that")??.request)
}

/// As many buttons as the channel takes, as long as it takes them, and this card.
///
/// # Errors
/// The channel has no buttons.
pub fn extras(adapter: &dyn Adapter, card: Value) -> Result<Extras> {
    let rules = adapter.capabilities().buttons.context("buttons")?;
    let button = |n: usize| Button {
        text: "x".repeat(rules.text),
        press: if n.is_multiple_of(2) && rules.data > 0 {
            Press::Data("d".repeat(rules.data))
        } else {
            Press::Url("https://a.test/".into())
        },
    };
    let row = |_| (0..rules.per_row).map(button).collect();
    Ok(Extras {
        buttons: (0..rules.in_all / rules.per_row).map(row).collect(),
        card: Some(card),
        ..Extras::default()
    })
}
