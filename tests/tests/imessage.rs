//! iMessage with a double of BlueBubbles and a program that stands for `imsg`: neither runs without a Mac.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    doubles::{Answer, bluebubbles},
    hub::{SpawnedHub, TestHub, client::text},
    main_job,
};
use serde_json::{Value, json};

const AGENTS: &str = "
[agents.engineer]
allow = [\"imessage:*\"]

[agents.courier]
allow = [\"imessage:*\"]
cross_context = \"allow\"
decorate = false

[approval]
allow_software_companion = true
";

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_by_bluebubbles_and_all_that_is_done_to_it() -> Result<()> {
    let (desk, secrets) = (bluebubbles::start()?, tempfile::tempdir()?);
    let password = secrets.path().join("password");
    fs::write(&password, bluebubbles::PASSWORD)?;
    let channel = format!(
        "[channels.imessage.mac]\nurl = \"{}\"\npassword = \"file:{}\"\n",
        desk.url(),
        password.display()
    );
    let mut house = TestHub::start(&format!("{AGENTS}{channel}")).await?;
    let engineer = house.agent("engineer").await?;
    let to = "imessage:+49 151 12345679";
    let held = engineer.send(&json!({"to": to, "message": main_job::report()}))?;
    let seen = house.decide(Verdict::Approve).await?;
    let sent = engineer.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&house, text(&sent, "id"), &seen)?;
    let all = desk.heard();
    let heard: Vec<_> = all.iter().filter(|request| request.json()["message"].is_string()).collect();
    ensure!(heard.len() == parts.len(), "{} requests for {} parts", heard.len(), parts.len());
    for (part, request) in parts.iter().zip(heard) {
        let (wire, body) = (serde_json::from_str::<Value>(&part.wire)?, request.json());
        ensure!(wire["body"]["message"] == body["message"] && body["tempGuid"] == part.key, "{body}");
    }

    let agent = house.agent("courier").await?;
    let sent = agent.send_and_wait(&json!({
        "action": "sendWithEffect", "to": to, "message": "Done!", "effect": "confetti",
        "attachments": [{"base64": "aGVsbG8=", "name": "a.txt", "caption": "a list"}],
    }))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let id = text(&sent["parts"][0], "platform_id");
    for call in [
        json!({"action": "react", "to": to, "messageId": id, "emoji": "❤️"}),
        json!({"action": "edit", "to": to, "messageId": id, "message": "Nearly done."}),
        json!({"action": "delete", "to": to, "messageId": id}),
        json!({"action": "reply", "to": to, "replyTo": id, "message": "As I said."}),
    ] {
        let done = agent.send_and_wait(&call)?;
        ensure!(done["state"] == "sent", "{done}");
    }
    // It arrived, and its answer was lost: it is found, and nobody gets it twice.
    desk.next([Answer::Lost]);
    let found = agent.send_and_wait(&json!({"to": to, "message": "Once."}))?;
    ensure!(found["state"] == "sent", "{found}");
    let sent = desk.heard().iter().filter(|request| request.json()["message"] == "Once.").count();
    ensure!(sent == 1, "{sent}");
    // A file has nothing to be known by.
    desk.next([Answer::Lost]);
    let file = json!([{"base64": "aGVsbG8=", "name": "b.txt"}]);
    let unknown = agent.send_and_wait(&json!({"to": to, "attachments": file}))?;
    ensure!(unknown["state"] == "unknown", "{unknown}");
    desk.next([Answer::Says(500, json!({"error": {"error": "no"}, "data": {"error": 22}}))]);
    let failed = agent.send_and_wait(&json!({"to": to, "message": "To a telephone."}))?;
    ensure!(text(&failed, "error").contains("not on iMessage"), "{failed}");

    fs::write(&password, "another")?;
    let refused = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel)?.cli(&["check"])?;
    ensure!(refused.status == 1 && refused.stdout.contains("401"), "{refused:?}");
    ensure!(!refused.stdout.contains("another") && !refused.stderr.contains("another"), "{refused:?}");
    Ok(())
}

/// A program that stands for `imsg` 0.9.0, by its answers on `imsg rpc` (docs/rpc.md of openclaw/imsg): `rows` has a line for each
/// text that it sent. A file makes the next send misbehave as the program does: `breaks`, it sends and dies; `unseen`, Messages
/// took it, and no row was seen in time; `lost`, it says "ok" of what Messages lost.
fn imsg(folder: &Path) -> Result<()> {
    let script = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
[ "$1" = --version ] && { echo 0.9.0; exit 0; }
[ "$1" = rpc ] || { echo "Unknown command"; exit 1; }
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=${line#*'"id":'} id=${id%%,*}
  method=${line#*'"method":"'} method=${method%%'"'*}
  case $method in
  chats.list) say '"result":{"chats":[{"id":3,"identifier":"+4915112345679","guid":"any;-;+4915112345679"}]}' ;;
  messages.history)
    n=0 all=
    while read -r text; do n=$((n+1)); all="{\"id\":$n,\"guid\":\"G-$n\",\"is_from_me\":true,\"text\":\"$text\"},$all"; done <rows
    say "\"result\":{\"messages\":[${all%,}]}" ;;
  send)
    text=${line#*'"text":"'} text=${text%%'"'*}
    echo "$text" >>calls
    if [ -e lost ]; then rm lost; say '"result":{"ok":true}'; continue; fi
    echo "$text" >>rows
    if [ -e breaks ]; then rm breaks; kill -9 $$; fi
    if [ -e unseen ]; then rm unseen
      say '"error":{"code":-32001,"message":"Delivery outcome unknown","data":{"retry_safe":false,"detail":"no matching outgoing text row was observed within 8 seconds"}}'; continue
    fi
    say "\"result\":{\"ok\":true,\"guid\":\"G-$(wc -l <rows | tr -d ' ')\"}" ;;
  *) say '"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
done
"#;
    let program = folder.join("imsg");
    fs::write(&program, script)?;
    fs::write(folder.join("rows"), "")?;
    Ok(fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_imsg_leaves_uncertain_is_looked_for_and_never_sent_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    imsg(folder.path())?;
    let program = folder.path().join("imsg");
    let channel =
        format!("[channels.imessage.mac]\nkind = \"imsg\"\ncommand = [\"{}\"]\n", program.display());
    // The same words several times are what this is about.
    let queue = "[queue]\ndedup = \"0s\"\n";
    let mut house = TestHub::start(&format!("{AGENTS}{queue}{channel}")).await?;
    let agent = house.agent("courier").await?;
    let to = "imessage:+4915112345679";
    let send = |text: &str| agent.send_and_wait(&json!({"to": to, "message": text}));
    let sent = send("ok")?;
    ensure!(sent["state"] == "sent" && sent["parts"][0]["platform_id"] == "G-1", "{sent}");
    for (mishap, id) in [("breaks", "G-2"), ("unseen", "G-3")] {
        fs::write(folder.path().join(mishap), "")?;
        let sent = send("ok")?;
        ensure!(sent["state"] == "sent" && sent["parts"][0]["platform_id"] == id, "{mishap}: {sent}");
    }
    // Of what Messages lost it says "ok"; the "ok" of before is not taken for it.
    fs::write(folder.path().join("lost"), "")?;
    let lost = agent.send(&json!({"to": to, "message": "ok"}))?;
    let lost = agent.ended(text(&lost, "id"), "unknown")?;
    ensure!(text(&lost, "error").contains("does not show it"), "{lost}");
    let calls = fs::read_to_string(folder.path().join("calls"))?;
    ensure!(calls.lines().count() == 4, "each went once: {calls}");
    let ready = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel)?.cli(&["check"])?.well()?;
    ensure!(ready.contains("imsg 0.9.0 on this machine; older than 0.14.0"), "{ready}");
    Ok(())
}
