//! The program `imsg`, as `imsg rpc` speaks (<https://github.com/openclaw/imsg>), in two versions:
//!
//! - **0.9.0** has no `status`, `send.tracked` or `message.send_status` (`CHANGELOG.md`: the last came with 0.10.0, `status` and
//!   `retry_safe` with 0.14.0). `send` answers with `id` and `guid` if it saw the row, and with `ok` alone if it did not
//!   (steipete/imsg, `Sources/imsg/RPCServer+Handlers.swift`, `handleSend`); an error has its words in `data`
//!   (`Sources/imsg/RPCServer.swift`, `handleLine`, `internalError`).
//! - **0.15** as of the commits that are named beside each rule; all of what is played of it but `send.tracked` is in 0.14.0.
//!   `send.tracked` needs the bridge.
//!
//! The program writes each message down in `rows` (GUID, error number, text) and each send in `calls`. A file with one of these
//! names makes the next send misbehave as the program or Messages does: `breaks`, it sends and dies; `unseen`, Messages took it
//! and no row was seen in time; `lost`, Messages lost it; `failed`, Messages took it and could not send it (error 22).

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::Result;

/// Which program is played.
#[derive(Debug, Clone, Copy)]
pub enum Version {
    /// 0.9.0.
    Old,
    /// 0.15 without its bridge.
    Plain,
    /// 0.15 with its bridge.
    Bridged,
}

const SCRIPT: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
new() { [ "$version" != 0.9.0 ]; }
[ "$1" = --version ] && { echo "$version"; exit 0; }
[ "$1" = rpc ] || { echo "Unknown command"; exit 1; }
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
none() { say "\"error\":{\"code\":-32601,\"message\":\"Method not found\",\"data\":\"$(field method)\"}"; }
# Whether a message is to somebody with whom there is a conversation.
known() { case $line in *'"to":"+4915112345679"'* | *'"chat_id":3'*) ;; *) false ;; esac; }
field() { rest=${line#*"\"$1\":\""}; [ "$rest" = "$line" ] || printf %s "${rest%%\"*}"; }
# RPCServer+Dispatch.swift, "Delivery failures" of docs/rpc.md; before 0.14.0 the words alone.
uncertain() {
  # DeliveryTransport: "bridge_v2" or "applescript".
  transport=$1; [ "$1" = bridge ] && transport=bridge_v2
  if new; then say "\"error\":{\"code\":-32001,\"message\":\"Delivery outcome unknown\",\"data\":{\"retry_safe\":false,\"disposition\":\"may_have_completed\",\"transport\":\"$transport\",\"operation\":\"send\",\"detail\":\"no matching outgoing text row was observed within 8 seconds\"}}"
  else say '"error":{"code":-32603,"message":"Internal error","data":"AppleEvent timed out. (-1712)"}'; fi
}
# GUID and transport.
send() {
  text=$(field text)
  echo "$text" >>calls
  if [ -e lost ]; then rm lost
    if new; then uncertain "$2"; else say '"result":{"ok":true}'; fi
    return
  fi
  error=0
  [ -e failed ] && error=22
  echo "$1 $error $text" >>rows
  if [ -e breaks ]; then rm breaks; kill -9 $$; fi
  if [ -e unseen ] || [ -e failed ]; then rm -f unseen failed; uncertain "$2"; return; fi
  n=$(wc -l <rows | tr -d ' ')
  # RPCServer+SendHandlers.swift, handleSend: a bridge says which message, AppleScript's row is read.
  if [ "$2" = bridge ]; then
    attempt=; [ "$(field method)" = send.tracked ] && attempt=",\"attempt_id\":\"$1\""
    say "\"result\":{\"ok\":true,\"transport\":\"bridge\",\"guid\":\"$1\",\"message_id\":\"$1\"$attempt}"
  elif new; then say "\"result\":{\"ok\":true,\"transport\":\"applescript\",\"id\":$n,\"guid\":\"$1\",\"message_id\":\"$1\"}"
  else say "\"result\":{\"ok\":true,\"id\":$n,\"guid\":\"$1\"}"; fi
}
while IFS= read -r line; do
  id=${line#*'"id":'} id=${id%%,*}
  case $(field method) in
  # RPCMethodDescriptors.swift at 166d140, lines 97 to 203: what needs the bridge is named only while it is there.
  status) new || { none; continue; }
    tracked=; [ "$bridge" = yes ] && tracked=',"send.tracked"'
    say "\"result\":{\"version\":\"$version\",\"protocol_version\":1,\"methods\":[\"status\",\"chats.list\",\"messages.history\",\"message.send_status\",\"send\"$tracked]}" ;;
  # RPCPayloads.swift at 387e015, chatPayload.
  chats.list) say '"result":{"chats":[{"id":3,"identifier":"+4915112345679","guid":"any;-;+4915112345679","is_group":false}]}' ;;
  # The latest first; a row that Messages could not send stands among them like any other.
  messages.history)
    n=0 all=
    while read -r guid error text; do n=$((n+1)); all="{\"id\":$n,\"guid\":\"$guid\",\"is_from_me\":true,\"text\":\"$text\"},$all"; done <rows
    say "\"result\":{\"messages\":[${all%,}]}" ;;
  # RPCServer+MessageStatusHandlers.swift at d76d681, lines 5 to 43: GUIDs are compared as they stand, a row with an error is
  # "failed", and one that is missing "pending" without fields.
  message.send_status) new || { none; continue; }
    guid=$(field guid) found=$(grep "^$guid " rows | cut -d ' ' -f 2)
    case $found in
    "") say "\"result\":{\"ok\":true,\"guid\":\"$guid\",\"send_state\":\"pending\",\"service\":null,\"status_fields\":null}" ;;
    0) say "\"result\":{\"ok\":true,\"guid\":\"$guid\",\"send_state\":\"sent\",\"service\":\"iMessage\",\"status_fields\":{\"is_sent\":true,\"error\":0}}" ;;
    *) say "\"result\":{\"ok\":true,\"guid\":\"$guid\",\"send_state\":\"failed\",\"service\":\"iMessage\",\"status_fields\":{\"is_sent\":false,\"error\":$found}}" ;;
    esac ;;
  # handleSend: a bridge that is there is used for a conversation that is there.
  send) way=applescript; [ "$bridge" = yes ] && known && way=bridge
    send "G-$(($(wc -l <rows) + 1))" "$way" ;;
  # handleSend, tracked: the id goes on in lower case; one that is there already is refused before anything is sent.
  send.tracked) [ "$bridge" = yes ] || { none; continue; }
    guid=$(field attempt_id | tr A-F a-f)
    if grep -q "^$guid " rows; then
      say '"error":{"code":-32603,"message":"Delivery failed before dispatch","data":{"retry_safe":true,"disposition":"not_started","detail":"attempt_id already identifies a message; choose a new UUID"}}'
      continue
    fi
    if ! known; then
      say '"error":{"code":-32602,"message":"Invalid params","data":"bridge transport requires an existing chat target"}'
      continue
    fi
    send "$guid" bridge ;;
  *) none ;;
  esac
done
"#;

/// Writes the program `imsg` into a folder.
///
/// # Errors
/// The folder cannot be written to.
pub fn install(folder: &Path, version: Version) -> Result<()> {
    let (number, bridge) = match version {
        Version::Old => ("0.9.0", "no"),
        Version::Plain => ("0.15.10", "no"),
        Version::Bridged => ("0.15.10", "yes"),
    };
    let program = folder.join("imsg");
    let script = SCRIPT.replacen('\n', &format!("\nversion={number} bridge={bridge}\n"), 1);
    fs::write(&program, script)?;
    fs::write(folder.join("rows"), "")?;
    fs::write(folder.join("calls"), "")?;
    Ok(fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?)
}
