//! `gatepost audit prove` and `gatepost audit check`: a decision that others can verify, and its verification.

use std::path::Path;

use gatepost_link::{
    decision::{PublicKey, Verdict},
    document::Document,
};
use serde_json::json;

use super::{Failed, audit};
use crate::{
    approval::prove::answer::{Answer, answer},
    hub::public_key,
    printing::{print_result, visible},
    random::to_hex,
    settings::file::read_text,
};

/// The longest file, in bytes: a document in hexadecimal, and as many decisions as anybody has companions.
const MAX_FILE: u64 = 256 * 1024;

/// Prints what was decided about a message, with the signatures.
pub(super) fn prove(config: &Path, id: &str) -> Result<(), Failed> {
    let directory = audit::directory(config)?;
    let hub = public_key(&directory).map_err(Failed::refused)?;
    let db = audit::open(&directory.join("gatepost.db"))?;
    let found = answer(&db, PublicKey(hub.0), id).map_err(Failed::refused)?;
    let Some(answer) = found else {
        return Err(Failed::NotFound(format!(
            "nobody has decided about {id}, or it went with its retention: gatepost audit show --message {id}"
        )));
    };
    if let Err(why) = answer.check() {
        return Err(Failed::Refused(format!(
            "what is stored proves nothing: {why}; see gatepost audit verify"
        )));
    }
    print_result!("{}", serde_json::to_string_pretty(&answer).map_err(Failed::refused)?)?;
    Ok(())
}

/// Checks such a file, for which no hub is needed.
pub(super) fn check(file: &Path, hub: Option<&str>, as_json: bool) -> Result<(), Failed> {
    let text = read_text(file, MAX_FILE).map_err(|error| Failed::Usage(error.to_string()))?;
    let answer: Answer = serde_json::from_str(&text)
        .map_err(|error| Failed::Usage(format!("{} is no proof: {error}", file.display())))?;
    let proved = answer.check().map_err(|why| Failed::Refused(format!("it proves nothing: {why}")))?;
    if let Some(hub) = hub
        && !hub.eq_ignore_ascii_case(&answer.hub)
    {
        return Err(Failed::Refused(format!("it is of another hub, whose key is {}", answer.hub)));
    }
    let document = Document::decode(&proved.document).map_err(Failed::refused)?;
    let (verdict, texts) = (
        match proved.verdict {
            Verdict::Approve => "approved",
            Verdict::Deny => "denied",
        },
        document.parts.iter().map(|part| part.text).collect::<Vec<_>>().join("\n"),
    );
    let devices: Vec<String> = proved.devices.iter().map(|key| to_hex(key)).collect();
    let passkeys: Vec<String> = proved.passkeys.iter().map(|key| to_hex(key)).collect();
    let to: Vec<String> =
        document.targets().map(|target| format!("{}:{}", target.channel, target.address)).collect();
    if as_json {
        let shown = json!({
            "ok": true, "verdict": verdict, "agent": document.agent, "action": document.action, "to": to, "text": texts,
            "request": document.request.to_string(), "hub": answer.hub, "devices": devices, "passkeys": passkeys,
        });
        print_result!("{shown}")?;
        return Ok(());
    }
    let by: Vec<String> =
        devices.into_iter().chain(passkeys.iter().map(|key| format!("passkey {key}"))).collect();
    let lines = [
        format!("{verdict}: {} by {} to {}", document.action, document.agent, to.join(", ")),
        texts,
        format!("by {}", by.join(", ")),
        format!("for the hub {}", answer.hub),
    ];
    print_result!("{}", visible(&lines.join("\n")))?;
    Ok(())
}
