//! A server that speaks as OpenAI's does, and what OpenAI's own library says of the requests that it got.
//!
//! The server is the package `openai-mock-api`. It answers by a script, and only what it takes for a request: a wrong key, an unknown
//! role, a call without an id or with arguments that are no JSON, a result of no call are refused. It does not look into `tools`:
//! the types of OpenAI's library do ([`well_typed`]).

use std::{fs, os::unix::fs::symlink, process::Command, time::Duration};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::{judged::step, leash::Leash, ports};

/// For Node to start, and to read its table of tokens.
const START: Duration = Duration::from_secs(60);
/// For the compiler, on a machine that does other things too.
const LONGEST: Duration = Duration::from_secs(120);

/// A running server.
pub struct OpenAi {
    leash: Leash,
    port: u16,
    key: String,
}

/// A request that it got.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What was asked.
    pub body: Value,
    /// The status of its answer.
    pub status: u64,
}

impl OpenAi {
    /// Starts one that wants this key and answers so. Each of `responses` is a conversation as `openai-mock-api` has it: the last
    /// message is the answer, the others say to what.
    ///
    /// # Errors
    /// It is not installed, takes this for no script, or did not come up.
    pub fn start(key: &str, responses: &Value) -> Result<Self> {
        ports::retrying(|| Self::start_once(key, responses))
    }

    fn start_once(key: &str, responses: &Value) -> Result<Self> {
        if !super::file("node_modules/openai-mock-api").exists() {
            bail!("openai-mock-api is missing: run `tests/run --setup-only`");
        }
        let dir = Leash::folder("openai")?;
        let (script, log) = (dir.path().join("script.json"), dir.path().join("asked"));
        fs::write(&script, json!({"apiKey": key, "responses": responses}).to_string())?;
        let port = ports::free()?;
        let program = [
            "node".into(),
            super::file("openai-mock.mjs").display().to_string(),
            port.to_string(),
            script.display().to_string(),
            log.display().to_string(),
        ];
        let mut leash = Leash::start("openai", dir, &program)?;
        leash.wait_until(START, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Self { leash, port, key: key.to_owned() })
    }

    /// The address before `/chat/completions`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Asks it this with its key; the status, and the answer.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn ask(&self, request: &Value) -> Result<(u16, Value)> {
        let http = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().new_agent();
        let mut answer = http
            .post(format!("{}/chat/completions", self.url()))
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "application/json")
            .send(request.to_string())?;
        Ok((answer.status().as_u16(), serde_json::from_str(&answer.body_mut().read_to_string()?)?))
    }

    /// What it was asked and has answered, in the order of the requests, by its own log.
    ///
    /// # Errors
    /// The log cannot be read, or is none.
    pub fn asked(&self) -> Result<Vec<Asked>> {
        let log = fs::read_to_string(self.leash.dir().join("asked"))?;
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        let lines: Vec<Value> = whole.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        // "[ID] POST /v1/chat/completions" with the body, and later "[ID] Response 200 (3ms)" with the status.
        let id = |line: &Value| {
            let message = line["message"].as_str()?;
            let (id, rest) = message.strip_prefix('[')?.split_once("] ")?;
            Some((id.to_owned(), rest.to_owned()))
        };
        let said: Vec<_> = lines.iter().filter_map(|line| Some((id(line)?, line))).collect();
        let asked = said.iter().filter(|((_, what), _)| what == "POST /v1/chat/completions");
        let answered = asked.filter_map(|((id, _), request)| {
            let answer = said.iter().find(|((of, what), _)| of == id && what.starts_with("Response "))?.1;
            Some(Asked { body: request["body"].clone(), status: answer["statusCode"].as_u64()? })
        });
        Ok(answered.collect())
    }
}

/// Lets TypeScript judge requests by the types of OpenAI's library: every member has its type, and there is none that it does not know.
///
/// # Errors
/// One is not so; the error has what the compiler says. Or the library is not installed.
pub fn well_typed(requests: &[Value]) -> Result<()> {
    let modules = super::file("node_modules");
    if !modules.join("openai").exists() {
        bail!("openai is missing: run `tests/run --setup-only`");
    }
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    symlink(&modules, at.join("node_modules"))?;
    fs::write(at.join("package.json"), r#"{"type": "module"}"#)?;
    let judged: String = requests.iter().map(|request| format!("judge({request});\n")).collect();
    fs::write(
        at.join("requests.ts"),
        format!(
            "import type {{ ChatCompletionCreateParamsNonStreaming as Asked }} from \"openai/resources/chat/completions\";\n\
             declare function judge(asked: Asked): void;\n{judged}"
        ),
    )?;
    let mut compiler = Command::new("node");
    compiler.current_dir(at).arg(modules.join("typescript/bin/tsc")).args([
        "--noEmit",
        "--strict",
        "--skipLibCheck",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "requests.ts",
    ]);
    step(&mut compiler, LONGEST).map(drop).context("the types of OpenAI's library")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_refuses_what_is_no_request() {
        let any = json!({"role": "user", "matcher": "any"});
        let says = json!({"role": "assistant", "content": "ok"});
        let server = OpenAi::start("k", &json!([{"id": "ok", "messages": [any, says, any, any]}])).unwrap();
        let call = |arguments: &str| {
            let function = json!({"name": "message", "arguments": arguments});
            let call = json!({"id": "c1", "type": "function", "function": function});
            let calls = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}, calls]})
        };
        assert_eq!(server.ask(&call("{}")).unwrap().0, 200);
        assert_eq!(server.ask(&call("{\"to\"")).unwrap().0, 400);
        let statuses: Vec<u64> = server.asked().unwrap().iter().map(|asked| asked.status).collect();
        assert!([200, 400].starts_with(&statuses), "{statuses:?}");
    }

    #[test]
    fn the_types_refuse_what_is_no_request() {
        let message = json!({"role": "user", "content": "hi"});
        let fine = json!({"model": "m", "messages": [message], "stream": false});
        well_typed(&[fine]).unwrap();
        let tool = json!({"type": "function", "function": {"description": "has no name"}});
        for wrong in [
            json!({"model": "m", "messages": [message], "tools": [tool]}),
            json!({"model": "m", "messages": [message], "maximum": 3}),
            json!({"model": "m", "messages": [{"role": "tool", "content": "of no call"}]}),
        ] {
            assert!(well_typed(std::slice::from_ref(&wrong)).is_err(), "{wrong}");
        }
    }
}
