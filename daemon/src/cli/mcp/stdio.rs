//! The client's messages on stdin, one a line.
//!
//! A message in which one object has a key twice is refused here: the library takes the last value without a word, and the client may
//! have shown a person the first one. What is not JSON is dropped, as the library would. Every other line goes to the library as it is.

use std::{io, pin::Pin};

use rmcp::{
    ErrorData, RoleServer,
    model::RequestId,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{IntoTransport, Transport},
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::mpsc,
};

use crate::{
    lines::{self, Line},
    unique_keys::{self, JsonError},
};

/// The longest line, as the library has it.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// What waits between this module and the library.
const PIPE_BYTES: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Refusals that wait to be written; a client that sends more waits too.
const MAX_REFUSALS: usize = 16;

/// The protocol over stdin and stdout.
pub(super) fn transport() -> impl Transport<RoleServer, Error = io::Error> + 'static {
    let (input, output) = rmcp::transport::stdio();
    over(input, output)
}

fn over(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> impl Transport<RoleServer, Error = io::Error> + 'static {
    let (lines, library) = tokio::io::duplex(PIPE_BYTES);
    let (refuse, refusals) = mpsc::channel(MAX_REFUSALS);
    tokio::spawn(pass(input, lines, refuse));
    let inner = IntoTransport::<RoleServer, io::Error, _>::into_transport((library, output));
    Unambiguous { inner, refusals, sending: None }
}

/// The library's transport, which also sends the refusals of lines that the library does not get.
struct Unambiguous<T> {
    inner: T,
    refusals: mpsc::Receiver<TxJsonRpcMessage<RoleServer>>,
    /// A refusal that is being sent. The library may stop waiting in [`receive`](Transport::receive) at any time, and goes on later.
    sending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<T: Transport<RoleServer>> Unambiguous<T> {
    fn refuse(&mut self, refusal: TxJsonRpcMessage<RoleServer>) {
        let sent = self.inner.send(refusal);
        self.sending = Some(Box::pin(async {
            if let Err(error) = sent.await {
                tracing::debug!(%error, "a refusal was not written");
            }
        }));
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Unambiguous<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(sending) = &mut self.sending {
                sending.await;
                self.sending = None;
            }
            let message = tokio::select! {
                biased;
                Some(refusal) = self.refusals.recv() => {
                    self.refuse(refusal);
                    continue;
                }
                message = self.inner.receive() => message,
            };
            if message.is_some() {
                return message;
            }
            // At the end of the input a refusal may still wait.
            let refusal = self.refusals.try_recv().ok()?;
            self.refuse(refusal);
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Passes lines on until the input ends, or nobody reads them any more.
async fn pass(
    input: impl AsyncRead + Unpin,
    mut library: DuplexStream,
    refuse: mpsc::Sender<TxJsonRpcMessage<RoleServer>>,
) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        match lines::read(&mut input, MAX_LINE_BYTES as u64, &mut line).await {
            Ok(Line::Whole) => {}
            Ok(Line::TooLong) => {
                tracing::error!(MAX_LINE_BYTES, "a message is longer than a line may be, and was dropped");
                continue;
            }
            Ok(Line::End) => return,
            Err(error) => return tracing::error!(%error, "cannot read stdin"),
        }
        // The library passes over this mark too (RFC 8259 §8.1).
        let message = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
        let goes_on = match unique_keys::check(message) {
            Ok(()) => library.write_all(message).await.is_ok(),
            Err(error @ JsonError::Repeated(_)) => match refusal(message, &error) {
                Some(refusal) => refuse.send(refusal).await.is_ok(),
                None => {
                    tracing::warn!(%error, "a message of the client was dropped");
                    true
                }
            },
            Err(JsonError::Json(error)) => {
                tracing::debug!(%error, "a line of the client is not JSON, and was dropped");
                true
            }
        };
        if !goes_on {
            return;
        }
    }
}

/// What is answered to a message in which one object has a key twice; nothing, if it has no id.
fn refusal(message: &[u8], error: &JsonError) -> Option<TxJsonRpcMessage<RoleServer>> {
    let message: Value = serde_json::from_slice(message).ok()?;
    let id = serde_json::from_value::<RequestId>(message.get("id")?.clone()).ok()?;
    let error = ErrorData::invalid_request(format!("{error}: write each key once"), None);
    Some(TxJsonRpcMessage::<RoleServer>::error(error, Some(id)))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// What comes through of this input, and how many refusals.
    async fn passed(input: &[u8]) -> (Vec<u8>, Vec<Value>) {
        let (lines, mut library) = tokio::io::duplex(PIPE_BYTES);
        let (refuse, mut refusals) = mpsc::channel(MAX_REFUSALS);
        let mut through = Vec::new();
        let ((), read) = tokio::join!(pass(input, lines, refuse), library.read_to_end(&mut through));
        read.unwrap();
        let mut refused = Vec::new();
        while let Some(refusal) = refusals.recv().await {
            refused.push(serde_json::to_value(refusal).unwrap());
        }
        (through, refused)
    }

    #[tokio::test]
    async fn a_message_with_a_key_twice_is_refused_and_every_other_line_goes_through() {
        let call = |id: &str, to: &str| {
            format!(
                r#"{{"jsonrpc": "2.0"{id}, "method": "tools/call", "params": {{"name": "message", "arguments": {{"to": "a"{to}}}}}}}"#
            )
        };
        let good = format!("{}\n[]\n", call(r#", "id": 1"#, ""));
        let twice = call(r#", "id": 2"#, r#", "to": "b""#);
        let silent = call("", r#", "to": "b""#);
        let end = call(r#", "id": 3"#, "");
        let input = format!("{good}\n{{\nno JSON\n\u{feff}{twice}\n{silent}\r\n\u{feff}{end}");
        let (through, refused) = passed(input.as_bytes()).await;
        assert_eq!(String::from_utf8(through).unwrap(), format!("{good}{end}"));
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!((&refused[0]["id"], &refused[0]["error"]["code"]), (&2.into(), &(-32600).into()));
        assert!(refused[0]["error"]["message"].as_str().unwrap().contains(r#"the key "to" twice"#));
    }

    #[tokio::test]
    async fn a_refusal_of_the_last_line_is_written_before_the_end() {
        const TWICE: &str = r#"{"jsonrpc": "2.0", "id": "x", "method": "ping", "method": "tools/list"}"#;
        let (output, mut written) = tokio::io::duplex(PIPE_BYTES);
        let mut transport = over(TWICE.as_bytes(), output);
        assert!(transport.receive().await.is_none());
        transport.close().await.unwrap();
        drop(transport);
        let mut text = String::new();
        written.read_to_string(&mut text).await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&"x".into(), &(-32600).into()), "{text}");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_dropped_and_the_next_one_goes_through() {
        let mut input = vec![b'x'; MAX_LINE_BYTES + 10];
        input.extend(b"\n{}\n");
        assert_eq!(passed(&input).await, (b"{}\n".to_vec(), vec![]));
    }
}
