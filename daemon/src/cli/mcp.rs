//! `gatepost mcp`: the MCP door over stdin and stdout, for programs that start their tools themselves. It reaches the
//! running hub; where there is none, it says so in the words that agents know.

use std::time::Duration;

use reqwest::Method;
use rmcp::{ErrorData, RoleServer, ServiceExt as _, service::RequestContext};
use serde_json::{Value, json};

use super::Failed;
use crate::{
    client::{Client, Place, Request},
    intake::{
        mcp::{Hands, INBOX, Mcp},
        tool::Described,
    },
    message::parameters::LONGEST_WAIT,
};

/// Between two looks for a hub that is away, while somebody wants to hear of its inbox.
const AGAIN: Duration = Duration::from_secs(5);

/// A hub, reached over its HTTP door; or why it cannot be, for a hub that was never started has no token to use.
#[derive(Clone)]
struct There(Result<Client, String>);

pub(super) async fn run(place: &Place) -> Result<(), Failed> {
    let door = Mcp::new(There(Client::at(place).map_err(|error| error.to_string())));
    let (from, to) = rmcp::transport::stdio();
    let serving = door.serve((from, to)).await.map_err(Failed::refused)?;
    serving.waiting().await.map_err(Failed::refused)?;
    Ok(())
}

impl There {
    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, Value> {
        let client = self.0.as_ref().map_err(|error| away(error))?;
        let request = Request { query: vec![], body, wait: Duration::from_secs(LONGEST_WAIT) };
        match client.ask(method, path, request).await {
            Ok((status, answer)) if status.is_success() => Ok(answer),
            Ok((_, problem)) => Err(problem),
            Err(error) => Err(away(&error.to_string())),
        }
    }
}

/// What is answered while no hub runs.
fn away(error: &str) -> Value {
    json!({
        "ok": false,
        "code": "execution_failed",
        // The seed's words, which agents know.
        "error": "Gateway not active — send_message requires gateway mode",
        "hint": error,
    })
}

impl Hands for There {
    type Caller = ();

    fn caller(&self, _: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn tools(&self, (): &()) -> Result<Vec<Described>, Value> {
        match self.ask(Method::GET, "/v1/tools", None).await {
            Ok(mut answer) => serde_json::from_value(answer["tools"].take())
                .map_err(|_| json!({"error": "the hub's tools cannot be read; is it of another version?"})),
            // A client that starts before its hub must not believe that there are no tools.
            Err(why) if why["status"].is_null() => Ok(vec![unknown_yet()]),
            Err(why) => Err(why),
        }
    }

    async fn call(&self, (): &(), tool: &str, arguments: &Value) -> Value {
        let path = format!("/v1/tools/{tool}");
        let known = tool.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        if !known {
            return json!({"ok": false, "code": "not_found", "error": "there is no such tool"});
        }
        self.ask(Method::POST, &path, Some(arguments.clone())).await.unwrap_or_else(|why| why)
    }

    async fn read(&self, (): &(), uri: &str) -> Result<Value, Value> {
        self.ask(Method::POST, "/v1/resource", Some(json!({"uri": uri}))).await
    }

    async fn newest(&self, (): &()) -> Option<i64> {
        let inbox = self.read(&(), INBOX).await.ok()?;
        let newest = inbox["notices"].as_array()?.last();
        Some(newest.and_then(|notice| notice["seq"].as_i64()).unwrap_or(0))
    }

    async fn lands(&self, (): &(), after: i64) -> Option<i64> {
        let client = self.0.as_ref().ok()?;
        loop {
            // Before the look, so that nothing lands unseen between the two.
            let mut happenings = client.happenings().await;
            while let Ok(heard) = &mut happenings {
                if let Some(newest) = self.newest(&()).await.filter(|newest| *newest > after) {
                    return Some(newest);
                }
                if let Err(error) = heard.next().await {
                    happenings = Err(error);
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// The simple tool, as it is before the hub has said who may write where.
fn unknown_yet() -> Described {
    let text = |about: &str| json!({"type": "string", "description": about});
    Described {
        name: "send_message".into(),
        description: "Post a text to a channel. The hub does not run at the moment.".into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "platform": text("The channel."),
                "target": text("The address on it."),
                "body": text("The text, in Markdown."),
            },
            "required": ["platform", "target", "body"],
        }),
    }
}
