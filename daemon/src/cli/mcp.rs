//! `gatepost mcp`: the MCP server over stdin and stdout, for programs that start their tools themselves. It reaches the
//! running hub; where there is none, it says so in the words that agents know, and when there is one, or another configuration, that
//! there are other tools.

mod stdio;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use reqwest::{Method, StatusCode};
use rmcp::{ErrorData, RoleServer, ServiceExt as _, service::RequestContext};
use serde_json::{Value, json};

use super::Failed;
use crate::{
    agents::Role,
    client::{Client, ClientError, Happenings, Place, Request, Token, escaped},
    intake::{
        mcp::{Hands, INBOX, InHand, Mcp},
        tool::{Described, Telling},
        whoami::Whoami,
    },
    message::{TOOLS, parameters::LONGEST_WAIT},
    random,
};

/// Between two looks for a hub that is away, while somebody wants to hear of its inbox or its tools.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// What a problem has beside the members of a refusal (RFC 9457, 3.1): over HTTP, and not here.
const OF_HTTP: [&str; 4] = ["type", "title", "status", "detail"];

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Read the agent's token from this file instead of GATEPOST_TOKEN.
    #[arg(long, value_name = "FILE", conflicts_with = "as_operator")]
    token_file: Option<PathBuf>,
    /// Act as the operator: messages go out as the agent `shell`. For you alone; an agent has a token of its own.
    #[arg(long)]
    as_operator: bool,
}

/// A hub, reached over its HTTP interface.
#[derive(Clone)]
struct There {
    place: Place,
    token: Token,
    /// Once it can be reached: a hub that was never started has no operator's token to use.
    reached: Arc<OnceLock<Client>>,
    /// This program serves one client, for as long as that likes.
    session: String,
    /// Whether the client was last given the tools that stand in for a hub's.
    stands_in: Arc<AtomicBool>,
    /// What happens at the hub since the client was given its tools, so that no change after that goes unseen.
    happening: Arc<Mutex<Option<Happenings>>>,
}

pub(super) async fn run(place: &Place, arguments: &Arguments) -> Result<(), Failed> {
    let token = match &arguments.token_file {
        Some(file) => Token::from_file(file),
        None => Token::of_sender(arguments.as_operator),
    };
    let endpoint = Mcp::new(There {
        place: place.clone(),
        token: token.map_err(|error| Failed::Usage(error.to_string()))?,
        reached: Arc::default(),
        session: random::hex::<16>(),
        stands_in: Arc::default(),
        happening: Arc::default(),
    });
    let serving = endpoint.serve(stdio::transport()).await.map_err(Failed::refused)?;
    serving.waiting().await.map_err(Failed::refused)?;
    Ok(())
}

impl There {
    /// The client of a hub that has run at least once; else why it cannot be reached.
    fn client(&self) -> Result<&Client, String> {
        match self.reached.get() {
            Some(client) => Ok(client),
            None => {
                let client = Client::with(&self.place, &self.token).map_err(|error| error.to_string())?;
                Ok(self.reached.get_or_init(|| client))
            }
        }
    }

    /// The tools that stand in for those of a hub that is away.
    fn stand_in(&self) -> InHand {
        self.stands_in.store(true, Ordering::Relaxed);
        InHand { tools: vec![unknown_yet()], format: None, may_change: true }
    }

    /// Keeps a stream of what happens, or takes the one that was kept.
    fn keep(&self, happening: Option<Happenings>) -> Option<Happenings> {
        std::mem::replace(&mut *self.happening.lock().unwrap_or_else(PoisonError::into_inner), happening)
    }

    /// What happens at the hub from now on; nothing, while it is away.
    async fn happenings(&self) -> Option<Happenings> {
        self.client().ok()?.happenings().await.ok()
    }

    /// Waits for the hub that something stands in for; whether it is there.
    async fn is_there(&self) -> bool {
        tokio::time::sleep(LOOK_INTERVAL).await;
        if !self.stands_in.load(Ordering::Relaxed) {
            return false;
        }
        match self.ask(Method::GET, "/v1/tools", vec![], None).await {
            Err(why) if why["reason"] == AWAY => false,
            // What it says, the client hears when it asks.
            _ => {
                self.stands_in.store(false, Ordering::Relaxed);
                true
            }
        }
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        query: Vec<(&str, String)>,
        body: Option<Value>,
    ) -> Result<Value, Value> {
        let client = self.client().map_err(|error| away(&error))?;
        let request = Request { query, body, wait: Duration::from_secs(LONGEST_WAIT) };
        answered(client.ask(method, path, request).await)
    }
}

/// What the hub answered, or the refusal as the hub's interface has it.
fn answered(answer: Result<(StatusCode, Value), ClientError>) -> Result<Value, Value> {
    match answer {
        Ok((status, answer)) if status.is_success() => Ok(answer),
        Ok((_, mut problem)) => {
            if let Some(members) = problem.as_object_mut() {
                members.retain(|name, _| !OF_HTTP.contains(&name.as_str()));
            }
            Err(problem)
        }
        Err(error @ ClientError::OtherDirectory { .. }) => {
            Err(json!({"ok": false, "code": "unauthorized", "error": error.to_string()}))
        }
        Err(error) => Err(away(&error.to_string())),
    }
}

/// The reason of every answer while no hub runs.
const AWAY: &str = "hub_away";
/// What the simple tool says then, in the words that agents of other houses know.
const NO_GATEWAY: &str = "Gateway not active — send_message requires gateway mode";

/// What is answered while no hub runs.
fn away(error: &str) -> Value {
    json!({
        "ok": false,
        "code": "execution_failed",
        "reason": AWAY,
        "error": "the hub does not run",
        "hint": error,
    })
}

/// The same in the words of the tool that was called.
fn for_tool(tool: &str, mut answer: Value) -> Value {
    if tool == "send_message" && answer["reason"] == AWAY {
        answer["error"] = NO_GATEWAY.into();
    }
    answer
}

fn other_version() -> Value {
    json!({"ok": false, "code": "execution_failed", "error": "the hub's answer cannot be read; is it of another version?"})
}

fn not_an_agents(error: &str, or: &str) -> Value {
    let hint = format!("make a token for the agent with: gatepost agent add NAME; or {or}");
    json!({"ok": false, "code": "forbidden", "reason": "operator_token", "error": error, "hint": hint})
}

impl Hands for There {
    type Caller = ();

    const TOOLS_CHANGE: bool = true;

    fn caller(&self, _: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn introduce(&self, (): &()) -> Result<Option<String>, Value> {
        match self.ask(Method::GET, "/v1/whoami", vec![], None).await {
            Ok(answer) => {
                let whoami: Whoami = serde_json::from_value(answer).map_err(|_| other_version())?;
                match (whoami.role, self.token.is_operators()) {
                    (Role::Agent, _) | (Role::Operator, true) => Ok(Some(whoami.summary)),
                    (Role::Operator, false) => Err(not_an_agents(
                        "this is an operator's token, and tools are for agents",
                        "add --as-operator to act as the operator on purpose",
                    )),
                    (Role::Bridge | Role::Monitor, _) => {
                        Err(not_an_agents(&whoami.summary, "bridges hand in messages at POST /v1/inbound"))
                    }
                }
            }
            Err(why) if why["reason"] == AWAY => Ok(None),
            Err(why) => Err(why),
        }
    }

    async fn tools(&self, (): &(), context: Option<&str>) -> Result<InHand, Value> {
        let query = context.map(|context| ("context", context.to_owned())).into_iter().collect();
        // Before the look, so that nothing changes unseen between the two.
        let happening = self.happenings().await;
        match self.ask(Method::GET, "/v1/tools", query, None).await {
            Ok(mut answer) => {
                self.keep(happening);
                let format = answer["tool_result_format"].as_str().map(str::to_owned);
                let tools =
                    serde_json::from_value(answer.get_mut("tools").map(Value::take).unwrap_or_default());
                let tools = tools.map_err(|_| other_version())?;
                self.stands_in.store(false, Ordering::Relaxed);
                Ok(InHand { tools, format, may_change: true })
            }
            // A client that starts before its hub must not believe that there are no tools.
            Err(why) if why["reason"] == AWAY => Ok(self.stand_in()),
            Err(why) => Err(why),
        }
    }

    async fn comes(&self, (): &()) {
        let mut was_away = false;
        loop {
            let kept = match self.keep(None) {
                Some(kept) => Some(kept),
                None if self.stands_in.load(Ordering::Relaxed) => None,
                None => self.happenings().await,
            };
            let Some(mut happening) = kept else {
                was_away = true;
                if self.is_there().await {
                    return;
                }
                continue;
            };
            // A hub that was away may have other tools.
            if was_away || happening.reloaded().await.is_ok() {
                self.keep(Some(happening));
                return;
            }
            was_away = true;
        }
    }

    async fn call(&self, (): &(), tool: &str, arguments: Value, telling: Telling) -> Value {
        if !TOOLS.contains(&tool) {
            let hint = format!("tools are: {}", TOOLS.join(", "));
            return json!({"code": "not_found", "error": "there is no such tool", "hint": hint, "ok": false});
        }
        let client = match self.client() {
            Ok(client) => client,
            Err(error) => return for_tool(tool, away(&error)),
        };
        let path = format!("/v1/tools/{tool}");
        let wait = Duration::from_secs(LONGEST_WAIT);
        let answer = client.ask_step_by_step(&path, &self.session, &arguments, wait, &telling).await;
        for_tool(tool, answered(answer).unwrap_or_else(|why| why))
    }

    async fn take_back(&self, (): &(), id: &str) {
        let path = format!("/v1/messages/{}/cancel", escaped(id));
        if let Err(why) = self.ask(Method::POST, &path, vec![], None).await {
            tracing::debug!(%why, id, "a call that was given up has nothing to take back");
        }
    }

    async fn read(&self, (): &(), uri: &str) -> Result<Value, Value> {
        self.ask(Method::POST, "/v1/resource", vec![], Some(json!({"uri": uri}))).await
    }

    async fn newest(&self, (): &()) -> Option<i64> {
        let inbox = self.read(&(), INBOX).await.ok()?;
        let newest = inbox["notices"].as_array()?.last();
        Some(newest.and_then(|notice| notice["seq"].as_i64()).unwrap_or(0))
    }

    async fn lands(&self, (): &(), after: i64) -> Option<i64> {
        loop {
            if let Ok(client) = self.client() {
                // Before the look, so that nothing lands unseen between the two.
                let mut happenings = client.happenings().await;
                while let Ok(stream) = &mut happenings {
                    if let Some(newest) = self.newest(&()).await.filter(|newest| *newest > after) {
                        return Some(newest);
                    }
                    if let Err(error) = stream.next().await {
                        happenings = Err(error);
                    }
                }
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
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
