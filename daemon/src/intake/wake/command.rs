//! A program that is run once for each turn: the turn on its standard input, the reply on its standard output.

use std::slice;

use serde_json::json;

use super::{MAX_REPLY, Outcome, words};
use crate::{
    config::wake::Input,
    program::{self, Program, ProgramError},
    turns::items::TurnView,
};

/// Variables of the hub's that a program needs to find its own files and to speak its user's language.
const PASSED_ON: [&str; 3] = ["HOME", "LANG", "USER"];

/// A program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// It.
    pub program: Program,
    /// What it reads.
    pub input: Input,
}

impl Command {
    pub(super) async fn bring(&self, turn: &TurnView) -> Outcome {
        let input = match self.input {
            Input::Json => json!(turn).to_string(),
            Input::Text => words::said(turn),
        };
        let environment = environment(turn);
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let program = slice::from_ref(&self.program);
        match program::run(program, &environment, input.as_bytes(), MAX_REPLY).await {
            Ok(written) => match String::from_utf8(written) {
                Ok(text) => Outcome::Reply(json!({"text": text.trim_end()})),
                Err(_) => Outcome::Failed("its output is not UTF-8".into()),
            },
            Err(ProgramError::Failed { program, status, stderr }) => {
                let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
                let said = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
                Outcome::Failed(format!("{program} ended with {status}{said}"))
            }
            // It is missing, or no program: nothing has begun.
            Err(ProgramError::Run(error)) => Outcome::Away(format!("it cannot be run: {error}")),
            Err(error @ ProgramError::Long(_)) => Outcome::Failed(error.to_string()),
        }
    }
}

/// What the program is told by its environment. Values come from platforms: a sign that ends one early is left out.
fn environment(turn: &TurnView) -> Vec<(&'static str, String)> {
    let mut environment: Vec<(&str, String)> =
        PASSED_ON.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?))).collect();
    environment.push(("GATEPOST_TURN", turn.turn.clone()));
    environment.push(("GATEPOST_SESSION", turn.session.replace('\0', "")));
    environment.extend(turn.context.clone().map(|context| ("GATEPOST_CONTEXT", context)));
    environment
}
