//! The program `imsg`, as `imsg rpc` speaks (<https://github.com/openclaw/imsg>, once steipete/imsg), in two versions:
//! 0.9.0 and 0.15.10. Neither tag could be read whole. What was read, below `Sources/imsg/` unless another folder is
//! named, and is cited as `FILE@COMMIT:LINE`:
//!
//! - for **0.9.0**: `RPCServer+Handlers.swift`@b71eb8c0f6f1735f7ada74f3ac073921624942e1 (the copy in omarshahine/imsg;
//!   by `CHANGELOG.md` between 0.8.1, which has `transport`, and 0.10.0, which has `message_id`),
//!   `RPCServer.swift`@1766e24e7442f133f0c0b490a3eeabb1f32957f9,
//!   `Sources/IMsgCore/Errors.swift`@38fa96a3ee0ea3c7160cc6ca1f0c8eb616819833 and
//!   `Sources/IMsgCore/MessageSender.swift`@aaec16d03224080708a0c24d753b6cad6ab44b18 (all three in steipete/imsg, and
//!   earlier). It has no `status`, `send.tracked` or `message.send_status`: `CHANGELOG.md`@06320ef4b15fa25cfc60f2f9df0dc8cb6d3f0f27
//!   has the last under 0.10.0, `status` and the delivery outcomes under 0.14.0.
//! - for **0.15.10** (`Version.swift`@002a9b928eb88c83a0d2ef8d4608c718b98ec001:3), all in openclaw/imsg:
//!   `RPCServer+SendHandlers.swift`@ed7ee426754b416c4c9d6e15de2368383badb6a9,
//!   `RPCServer+Dispatch.swift`@11dd3d83c63a0a5f53fcbeca6d8a480e91ed349e,
//!   `RPCServer+Support.swift`@1f643094244ed1d950959acff58599335d86679f,
//!   `SentMessageVerifier.swift`@1f736e34f0827f1e2613da4659426feb84946ef7,
//!   `RPCServer+StatusHandlers.swift`@002a9b928eb88c83a0d2ef8d4608c718b98ec001,
//!   `RPCMethodDescriptors.swift`@166d140c9bf79f3cd814828b71685d4902be5273,
//!   `RPCServer+Handlers.swift`@1c059e56289818cc7dd9286438ce65b32325aee1,
//!   `RPCPayloads.swift`@387e015f8bc258369b75f72218c9edd270c3d46d,
//!   `RPCServer+MessageStatusHandlers.swift`@d76d6819bd5c56363af51723f4e119e76027f28d,
//!   `Sources/IMsgCore/MessageStore+Messages.swift` and `MessageStore+Queries.swift`
//!   @21c981da97049d7ddac67947e188991a7b5f7eb9,
//!   `Sources/IMsgCore/Models.swift`@d76d6819bd5c56363af51723f4e119e76027f28d. All of what is played of it but
//!   `send.tracked` is in 0.14.0. `send.tracked` needs the bridge.
//!
//! The program writes each message down in `rows` (GUID, error number, text) and each send in `calls`. A file with one
//! of these names makes the next send misbehave as the program or Messages does: `breaks`, it sends and dies; `unseen`,
//! Messages took it and no row was seen in time; `lost`, Messages lost it; `failed`, Messages took it and could not
//! send it (error 22); `leaves`, the bridge goes away before the next `send.tracked`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::Result;

/// Which program is played.
#[derive(Debug, Clone, Copy)]
pub enum Version {
    /// 0.9.0.
    Old,
    /// 0.15.10 without its bridge.
    Plain,
    /// 0.15.10 with its bridge.
    Bridged,
}

const SCRIPT: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
new() { [ "$version" != 0.9.0 ]; }
[ "$1" = --version ] && { echo "$version"; exit 0; }
[ "$1" = rpc ] || { echo "Unknown command"; exit 1; }
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
# RPCServer+Support.swift@1f64309:68-70, thrown in RPCServer+Dispatch.swift@11dd3d8:21-26; before,
# RPCServer.swift@1766e24:108-109.
none() { say "\"error\":{\"code\":-32601,\"message\":\"Method not found\",\"data\":\"$(field method)\"}"; }
# Whether a message is to somebody with whom there is a conversation.
known() { case $line in *'"to":"+4915112345679"'* | *'"chat_id":3'*) ;; *) false ;; esac; }
field() { rest=${line#*"\"$1\":\""}; [ "$rest" = "$line" ] || printf %s "${rest%%\"*}"; }
# RPCServer+Dispatch.swift@11dd3d8:113-117, its form RPCServer+Support.swift@1f64309:112-119 and 128-136; "detail" is
# the end of what SentMessageVerifier.swift@1f736e3:147-153 says of AppleScript after the 8 seconds of its line 34. What
# the bridge says in "detail" and "operation" is not in the sources that could be read. Before 0.14.0 the words alone:
# RPCServer.swift@1766e24:113-124 with Errors.swift@38fa96a:38-39, thrown by runAppleScript of
# MessageSender.swift@aaec16d; what AppleScript says behind the colon is macOS's.
uncertain() {
  # enum DeliveryTransport, read without its path and commit: "bridge_v2" or "applescript".
  transport=$1; [ "$1" = bridge ] && transport=bridge_v2
  if new; then say "\"error\":{\"code\":-32001,\"message\":\"Delivery outcome unknown\",\"data\":{\"retry_safe\":false,\"disposition\":\"may_have_completed\",\"transport\":\"$transport\",\"operation\":\"send\",\"detail\":\"no matching outgoing text row was observed within 8 seconds\"}}"
  else say '"error":{"code":-32603,"message":"Internal error","data":"AppleScript failed: Messages got an error: AppleEvent timed out."}'; fi
}
# GUID and transport.
send() {
  text=$(field text)
  echo "$text" >>calls
  # No row within 8 seconds: since 0.14.0 a failure (SentMessageVerifier.swift@1f736e3:134-154), before it "ok" without
  # "id" and "guid" (RPCServer+Handlers.swift@b71eb8c:269-284; "transport" is always there).
  if [ -e lost ]; then rm lost
    if new; then uncertain "$2"; else say '"result":{"ok":true,"transport":"applescript"}'; fi
    return
  fi
  error=0
  [ -e failed ] && error=22
  echo "$1 $error $text" >>rows
  if [ -e breaks ]; then rm breaks; kill -9 $$; fi
  if [ -e unseen ] || [ -e failed ]; then rm -f unseen failed; uncertain "$2"; return; fi
  n=$(wc -l <rows | tr -d ' ')
  # RPCServer+SendHandlers.swift@ed7ee42, handleSend: a bridge says which message (191-206), AppleScript's row is read
  # (233-251); in 0.9.0 RPCServer+Handlers.swift@b71eb8c:269-284, with no "message_id".
  if [ "$2" = bridge ]; then
    attempt=; [ "$(field method)" = send.tracked ] && attempt=",\"attempt_id\":\"$1\""
    say "\"result\":{\"ok\":true,\"transport\":\"bridge\",\"guid\":\"$1\",\"message_id\":\"$1\"$attempt}"
  elif new; then say "\"result\":{\"ok\":true,\"transport\":\"applescript\",\"id\":$n,\"guid\":\"$1\",\"message_id\":\"$1\",\"service\":\"iMessage\"}"
  else say "\"result\":{\"ok\":true,\"transport\":\"applescript\",\"id\":$n,\"guid\":\"$1\"}"; fi
}
while IFS= read -r line; do
  id=${line#*'"id":'} id=${id%%,*}
  case $(field method) in
  # RPCServer+StatusHandlers.swift@002a9b9:139-153; RPCMethodDescriptors.swift@166d140:97-203: what needs the bridge is
  # named only while it is there.
  status) new || { none; continue; }
    tracked=; [ "$bridge" = yes ] && tracked=',"send.tracked"'
    say "\"result\":{\"version\":\"$version\",\"protocol_version\":1,\"methods\":[\"status\",\"chats.list\",\"messages.history\",\"message.send_status\",\"send\"$tracked]}" ;;
  # RPCServer+Handlers.swift@1c059e5:19-63; chatPayload, RPCPayloads.swift@387e015:4-32.
  chats.list) say '"result":{"chats":[{"id":3,"identifier":"+4915112345679","guid":"any;-;+4915112345679","is_group":false}]}' ;;
  # RPCServer+Handlers.swift@1c059e5:65-115. The latest first (MessageStore+Messages.swift@21c981d:64 and 83-88); a row
  # that Messages could not send stands among them like any other (MessageStore+Queries.swift@21c981d:26-55).
  messages.history)
    n=0 all=
    while read -r guid error text; do n=$((n+1)); all="{\"id\":$n,\"guid\":\"$guid\",\"is_from_me\":true,\"text\":\"$text\"},$all"; done <rows
    say "\"result\":{\"messages\":[${all%,}]}" ;;
  # RPCServer+MessageStatusHandlers.swift@d76d681:5-43: one that is missing is "pending" without fields (12-24), and any
  # other has the GUID that Messages gave it, in whatever case it was asked for: "COLLATE NOCASE" in messageSendStatus
  # of MessageStore+Messages.swift@21c981d. A row with an error is "failed" (MessageSendStatus.state in
  # Models.swift@d76d681, by its name).
  message.send_status) new || { none; continue; }
    guid=$(field guid) row=$(grep -i "^$guid " rows | tail -n 1) found=
    [ -z "$row" ] || { guid=${row%% *} found=$(echo "$row" | cut -d ' ' -f 2); }
    case $found in
    "") say "\"result\":{\"ok\":true,\"guid\":\"$guid\",\"send_state\":\"pending\",\"service\":null,\"status_fields\":null}" ;;
    0) say "\"result\":{\"ok\":true,\"guid\":\"$guid\",\"send_state\":\"sent\",\"service\":\"iMessage\",\"status_fields\":{\"is_sent\":true,\"error\":0}}" ;;
    *) say "\"result\":{\"ok\":true,\"guid\":\"$guid\",\"send_state\":\"failed\",\"service\":\"iMessage\",\"status_fields\":{\"is_sent\":false,\"error\":$found}}" ;;
    esac ;;
  # RPCServer+SendHandlers.swift@ed7ee42:177-181: a bridge that is there is used for a conversation that is there.
  send) way=applescript; [ "$bridge" = yes ] && known && way=bridge
    send "G-$(($(wc -l <rows) + 1))" "$way" ;;
  # RPCServer+SendHandlers.swift@ed7ee42, tracked: the id goes on in lower case (48); one that is there already is
  # refused before anything is sent (104-113, "Delivery failed before dispatch"
  # RPCServer+Support.swift@1f64309:112-119). The method is there without the bridge too, and then says what it says of
  # somebody new (RPCServer+Dispatch.swift@11dd3d8, case .sendTracked).
  send.tracked) new || { none; continue; }
    [ -e leaves ] && { rm leaves; bridge=no; }
    guid=$(field attempt_id | tr A-F a-f)
    if grep -qi "^$guid " rows; then
      say '"error":{"code":-32603,"message":"Delivery failed before dispatch","data":{"retry_safe":true,"disposition":"not_started","transport":"bridge_v2","operation":"send-message","detail":"attempt_id already identifies a message; choose a new UUID"}}'
      continue
    fi
    # RPCServer+SendHandlers.swift@ed7ee42:181-183 and 218-219.
    if [ "$bridge" != yes ] || ! known; then
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
