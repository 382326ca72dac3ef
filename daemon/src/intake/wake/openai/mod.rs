//! A model that is asked for each turn, behind any endpoint that speaks as OpenAI's does (`POST …/chat/completions`).
//!
//! It is given the session's history, what was said, and the hub's tools; it calls them some rounds, and its last text is the reply.
//! How many rounds, how many tokens and how long is bounded, for a model that goes round in circles costs money by night.
//!
//! - [`conversation`]: a turn as messages;
//! - [`functions`]: the tools, offered and called;
//! - [`wire`]: requests and answers.

mod conversation;
mod functions;
mod wire;

use reqwest::{Client, StatusCode, Url};
use serde_json::json;

use self::{
    functions::Functions,
    wire::{Message, Request, Role, Said, ToolCall},
};
use super::{Outcome, at_work::caller, url::unreached};
use crate::{
    cause::innermost,
    channels::kit::http::{masked, token::Token},
    intake::tool::Tools,
    pipeline::current::Current,
    sessions::transcript,
    turns::items::TurnView,
};

/// Answers of the model in one turn; in the last one it may call nothing, and that is the reply.
const MAX_ROUNDS: u32 = 8;
/// The longest answer, in bytes.
const MAX_ANSWER: usize = 2 * 1024 * 1024;

/// A model.
pub struct Model {
    /// Follows no redirect, and goes through no proxy.
    pub client: Client,
    /// The address before `/chat/completions`.
    pub base: Url,
    /// The token, if it wants one.
    pub token: Option<Token>,
    /// Its name.
    pub model: String,
    /// What it is told to begin with, if not the hub's own words.
    pub prompt: Option<String>,
    /// Tokens that it may write in a turn.
    pub max_tokens: u32,
    /// Lines of the session that it is given.
    pub history: u32,
}

impl Model {
    pub(super) async fn bring(&self, current: &Current, turn: &TurnView) -> Outcome {
        let (pipeline, caller) = (current.pipeline(), caller(turn));
        let quiet = pipeline.options(&turn.agent).quiet.into_iter().next();
        let (agent, session, lines) = (turn.agent.clone(), turn.session.clone(), self.history);
        let history =
            pipeline.outbox().store().read(move |db| transcript::read(db, &agent, &session, lines)).await;
        let history = match history {
            Ok(history) => history,
            Err(error) => return Outcome::Away(format!("the session's history cannot be read: {error}")),
        };
        let tools = Tools { pipeline, caller: &caller, session: &turn.session };
        let functions = match Functions::of(&tools, turn).await {
            Ok(functions) => functions,
            Err(refusal) => return Outcome::Failed(refusal.error),
        };
        let mut messages = conversation::messages(turn, &history, self.prompt.as_deref(), quiet.as_deref());
        let mut left = self.max_tokens;
        for round in 1..=MAX_ROUNDS {
            let is_last = round == MAX_ROUNDS;
            let said = match self.ask(&messages, &functions.described, is_last, left).await {
                Ok(said) => said,
                // Its tools have been called: it has begun.
                Err(Outcome::Away(why)) if round > 1 => return Outcome::Failed(why),
                Err(outcome) => return outcome,
            };
            let Said { text, mut calls, tokens } = said;
            if calls.is_empty() {
                return Outcome::Reply(json!({"text": text.trim()}));
            }
            // An endpoint that does not know `tool_choice`.
            if is_last {
                break;
            }
            left = left.saturating_sub(tokens);
            if left == 0 {
                return Outcome::Failed(format!(
                    "it wrote its {} tokens and no reply: raise max_tokens",
                    self.max_tokens
                ));
            }
            (messages.len()..).zip(&mut calls).for_each(|(place, call)| call.identify(place));
            let results = functions.call(&tools, turn, &calls).await;
            calls.iter_mut().for_each(ToolCall::make_sendable);
            let content = (!text.is_empty()).then_some(text);
            messages.push(Message { role: Role::Assistant, content, tool_calls: calls, tool_call_id: None });
            messages.extend(results);
        }
        Outcome::Failed(format!("it gave no reply in {MAX_ROUNDS} rounds"))
    }

    async fn ask(
        &self,
        messages: &[Message],
        tools: &[serde_json::Value],
        is_last: bool,
        max_tokens: u32,
    ) -> Result<Said, Outcome> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["chat", "completions"]);
        }
        let tool_choice = (is_last && !tools.is_empty()).then_some("none");
        let body = Request { model: &self.model, messages, tools, tool_choice, max_tokens, stream: false };
        let mut request =
            self.client.post(url).header("content-type", "application/json").body(json!(body).to_string());
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.now().expose());
        }
        let mut answer = request.send().await.map_err(unreached)?;
        let status = answer.status();
        let mut body = Vec::new();
        loop {
            match answer.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > MAX_ANSWER => {
                    return Err(Outcome::Failed(format!("its answer has more than {MAX_ANSWER} bytes")));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => {
                    let why = innermost(&error.without_url()).to_string();
                    return Err(Outcome::Failed(format!("its answer broke off: {why}")));
                }
            }
        }
        match status.is_success() {
            true => wire::read(&body).map_err(|why| Outcome::Failed(why.into())),
            false => Err(self.refused(status, &body)),
        }
    }

    /// Why an endpoint said no, in its words but for the token.
    fn refused(&self, status: StatusCode, body: &[u8]) -> Outcome {
        let mut words = wire::refusal(body);
        if let Some(token) = &self.token {
            words = masked(&words, token.now().expose());
            // One that was put in the place of this one goes with the next request.
            if status == StatusCode::UNAUTHORIZED {
                token.renewed();
            }
        }
        let why = match words.trim() {
            "" => format!("it answered {}", status.as_u16()),
            words => format!("it answered {}, {words}", status.as_u16()),
        };
        match status.as_u16() {
            // Nothing of it was done, and another turn would fare no better.
            401 | 403 | 404 | 429 | 500..=599 => Outcome::Away(why),
            _ => Outcome::Failed(why),
        }
    }
}
