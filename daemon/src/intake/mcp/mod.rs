//! The server for agents that speak the Model Context Protocol (<https://modelcontextprotocol.io/specification>).
//!
//! The protocol is somebody else's (rmcp); what stands here is which tools and resources there are, and how a call
//! follows its message: progress while it waits, and what is cancelled is taken back; and that a client hears when something
//! lands in its inbox. The same server runs in the hub, at
//! `/mcp`, and in `gatepost mcp`, which reaches a running hub: [`Hands`] is what differs.

mod inbox;
pub mod invalid;
mod progress;

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, DiscoverResult,
        Implementation, InitializeRequestParams, InitializeResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
        ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
        SubscriptionFilter, Tool, UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde_json::{Map, Value};

pub use self::inbox::ADDRESS as INBOX;
use self::inbox::Listening;
use super::tool::{Described, Telling};

/// What a client is told to begin with.
const INSTRUCTIONS: &str = "Gatepost sends messages to people, on the channels that its operator has set up. Call `message` \
(or `send_message`) with Markdown; it is formatted and split for the channel. A message that leaves its own conversation may \
wait for a person's approval: then the answer says held, and it must not be sent a second time. Ask later with `receipt`; what \
became of everything else stands in `inbox`, and in gatepost://inbox, which can be subscribed to.";

/// In the `_meta` of a request for the tools: the context of the turn that they are described for.
const CONTEXT: &str = "gatepost/context";
/// In the `_meta` of the answer to it: how the results of tools are best written in that turn's conversation.
const RESULT_FORMAT: &str = "gatepost/tool_result_format";

/// The tools in a caller's hand.
pub struct InHand {
    /// They.
    pub tools: Vec<Described>,
    /// How the results of any tool are written in the conversation that they are described for.
    pub format: Option<String>,
    /// Whether [`Hands::comes`] will say when others can be had.
    pub may_change: bool,
}

/// What the server reaches: the hub that it stands in, or one elsewhere.
pub trait Hands: Clone + Send + Sync + 'static {
    /// Who calls.
    type Caller: Send + Sync;

    /// Whether the tools may be others later in a session.
    const TOOLS_CHANGE: bool;

    /// Whose request this is.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Self::Caller, ErrorData>;

    /// Who the caller is and where it may write, in a sentence or two; nothing while the hub is away.
    ///
    /// # Errors
    /// The hub refuses the caller.
    fn introduce(&self, caller: &Self::Caller) -> impl Future<Output = Result<Option<String>, Value>> + Send;

    /// The tools in this caller's hand, in a turn of this context.
    fn tools(
        &self,
        caller: &Self::Caller,
        context: Option<&str>,
    ) -> impl Future<Output = Result<InHand, Value>> + Send;

    /// Waits for other tools: for the hub that something stood in for, or for another configuration.
    fn comes(&self, caller: &Self::Caller) -> impl Future<Output = ()> + Send;

    /// Calls a tool; what it answers, refusals included. While it waits, it tells how things stand.
    fn call(
        &self,
        caller: &Self::Caller,
        tool: &str,
        arguments: Value,
        telling: Telling,
    ) -> impl Future<Output = Value> + Send;

    /// Takes a message back that has not left. No tool, so no hook is asked.
    fn take_back(&self, caller: &Self::Caller, id: &str) -> impl Future<Output = ()> + Send;

    /// The content of a resource, if there is one of this address.
    fn read(&self, caller: &Self::Caller, uri: &str) -> impl Future<Output = Result<Value, Value>> + Send;

    /// The number of the newest notice in this caller's inbox; nothing, where it cannot be had.
    fn newest(&self, caller: &Self::Caller) -> impl Future<Output = Option<i64>> + Send;

    /// Waits until a notice lands there beyond the one numbered `after`, and says the newest one's number; nothing, when no
    /// more will.
    fn lands(&self, caller: &Self::Caller, after: i64) -> impl Future<Output = Option<i64>> + Send;
}

/// The server, for one session.
#[derive(Clone)]
pub struct Mcp<H> {
    hands: H,
    /// To the inbox.
    listening: Arc<Listening>,
    /// For the hub.
    waiting: Arc<Listening>,
}

impl<H: Hands> Mcp<H> {
    /// A server that reaches what these hands reach.
    pub fn new(hands: H) -> Self {
        Self { hands, listening: Arc::default(), waiting: Arc::default() }
    }

    /// What a model is told to begin with: who it is here comes first.
    async fn instructions(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        let caller = self.hands.caller(context)?;
        match self.hands.introduce(&caller).await.map_err(refused)? {
            Some(whoami) => Ok(format!("{whoami} {INSTRUCTIONS}")),
            None => Ok(format!("The hub does not run at the moment. {INSTRUCTIONS}")),
        }
    }
}

impl<H: Hands> ServerHandler for Mcp<H> {
    fn get_info(&self) -> ServerConfig {
        let can =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_resources_subscribe();
        let can = match H::TOOLS_CHANGE {
            true => can.enable_tool_list_changed().build(),
            false => can.build(),
        };
        ServerConfig::new(can)
            .with_server_info(Implementation::new("gatepost", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = Some(self.instructions(&context).await?);
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let info = self.get_info().with_instructions(self.instructions(&context).await?);
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.hands.caller(&context)?;
        let turn = match context.meta.get(CONTEXT) {
            None | Some(Value::Null) => None,
            Some(Value::String(turn)) => Some(turn.as_str()),
            Some(_) => {
                return Err(ErrorData::invalid_params(format!("{CONTEXT} is not a string"), None));
            }
        };
        let InHand { tools, format, may_change } = self.hands.tools(&caller, turn).await.map_err(refused)?;
        if may_change {
            let (hands, peer) = (self.hands.clone(), context.peer);
            let waiting = tokio::spawn(async move {
                hands.comes(&caller).await;
                if let Err(error) = peer.notify_tool_list_changed().await {
                    tracing::debug!(%error, "a client does not hear that there are other tools");
                }
            });
            self.waiting.begin(waiting.abort_handle());
        }
        let mut result = ListToolsResult::with_all_items(tools.into_iter().map(tool).collect());
        result.meta = format.map(|format| {
            let mut meta = MetaObject::new();
            meta.insert(RESULT_FORMAT.into(), format.into());
            meta
        });
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.hands.caller(&context)?;
        let arguments = request.arguments.unwrap_or_default().into();
        let answer = progress::of_call(&self.hands, &caller, &request.name, arguments, &context).await;
        // Held and pending are no errors; every end other than sent is one.
        let ok = answer["ok"] == true;
        let mut result = CallToolResult::structured(answer);
        result.is_error = Some(!ok);
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let queue = Resource::new("gatepost://queue", "queue")
            .with_title("Your messages")
            .with_description("Your messages, newest first, with their states and why.")
            .with_mime_type("application/json");
        let inbox = Resource::new(INBOX, "inbox")
            .with_title("Your inbox")
            .with_description(
                "Every message of yours that ended other than sent, and why. Can be subscribed to.",
            )
            .with_mime_type("application/json");
        Ok(ListResourcesResult::with_all_items(vec![queue, inbox]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let guide = ResourceTemplate::new("gatepost://guide/{channel}", "guide")
            .with_title("How to write for a channel")
            .with_description("What a channel shows of Markdown, and its limits.")
            .with_mime_type("application/json");
        let receipt = ResourceTemplate::new("gatepost://receipt/{id}", "receipt")
            .with_title("A message's receipt")
            .with_description("Where a message is, and how far it came.")
            .with_mime_type("application/json");
        Ok(ListResourceTemplatesResult::with_all_items(vec![guide, receipt]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.hands.caller(&context)?;
        let missing = |why: Value| {
            let error = why["error"].as_str().unwrap_or("there is no such resource").to_owned();
            ErrorData::resource_not_found(error, None)
        };
        let content = self.hands.read(&caller, &request.uri).await.map_err(missing)?;
        let text =
            ResourceContents::text(content.to_string(), request.uri).with_mime_type("application/json");
        Ok(ReadResourceResult::new(vec![text]).into())
    }

    // Clients up to 2025-11-25 know no other way.
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri != INBOX {
            return Err(ErrorData::invalid_params(format!("only {INBOX} can be subscribed to"), None));
        }
        let caller = self.hands.caller(&context)?;
        // From here on: what has landed before, the client reads.
        let after = self.hands.newest(&caller).await.ok_or_else(cannot_look)?;
        let (hands, peer) = (self.hands.clone(), context.peer);
        let following = tokio::spawn(async move {
            let say = || async {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(INBOX)).await.is_ok()
            };
            inbox::follow(&hands, &caller, after, say).await;
        });
        self.listening.begin(following.abort_handle());
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri == INBOX {
            self.listening.end();
        }
        Ok(())
    }

    async fn on_custom_request(
        &self,
        CustomRequest { method, params, .. }: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(invalid::request(&method, params.as_ref()))
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let filter = SubscriptionFilter::builder().resource_subscriptions([INBOX]);
        Some(if H::TOOLS_CHANGE { filter.tools_list_changed().build() } else { filter.build() })
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let of_inbox = context.accepted().resource_subscriptions.iter().flatten().any(|uri| uri == INBOX);
        let of_tools = context.accepted().tools_list_changed == Some(true);
        let caller = self.hands.caller(context.request_context())?;
        let after = match self.hands.newest(&caller).await {
            // Who also waits for the hub need not come again when it is there.
            None if of_inbox && !of_tools => return Err(cannot_look()),
            newest => newest.unwrap_or(0),
        };
        let landing = async {
            let say = || async { context.sink().notify_resource_updated(INBOX).await.is_ok() };
            inbox::follow(&self.hands, &caller, after, say).await;
        };
        let coming = async {
            loop {
                self.hands.comes(&caller).await;
                if context.sink().notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = context.cancelled() => {}
            () = landing, if of_inbox => {}
            () = coming, if of_tools => {}
        }
        Ok(())
    }
}

fn cannot_look() -> ErrorData {
    ErrorData::internal_error("the hub does not say what is in the inbox; subscribe again later", None)
}

fn tool(described: Described) -> Tool {
    let schema = match described.input_schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    Tool::new(described.name, described.description, Arc::new(schema))
}

fn refused(why: Value) -> ErrorData {
    let error = why["error"].as_str().unwrap_or("the hub refused").to_owned();
    ErrorData::invalid_request(error, Some(why))
}
