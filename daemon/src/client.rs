//! Speaks to a hub over its HTTP interface, as agents do.

mod happenings;
mod progress;

use std::{
    fs,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    Method, RequestBuilder, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use serde_json::Value;

pub use self::happenings::Happenings;

use crate::{
    config::{Config, ConfigError},
    hub::{install_tls_provider, operator_token_path},
    settings::{
        file::{FileError, read_text},
        readers::{ReadByAll, refuse_everybodys},
    },
    store::{DirectoryLock, owner::as_owner},
    updates::releases::MAX_FILE,
};

/// Beyond what a call itself may wait.
const SLACK: Duration = Duration::from_secs(15);

/// The slowest that a file may go to the hub, in bytes a second.
const MIN_UPLOAD_BYTES_PER_SECOND: u64 = 128 * 1024;

/// How long a hub may take to say that it is there.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest file with a token in it, in bytes.
const MAX_TOKEN_FILE_BYTES: u64 = 4096;

/// The header by which a caller says that it uses an operator's token for tools on purpose.
pub const AS_OPERATOR: &str = "gatepost-as-operator";

/// The token in the environment.
fn given_token() -> Option<String> {
    let token = std::env::var("GATEPOST_TOKEN").ok()?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}

fn operators_token(config: &Config) -> Result<String, ClientError> {
    let directory = &config.hub.data_dir;
    let path = operator_token_path(directory);
    // Root reads what the hub's user may read: a link there could lead to any secret of the machine, and it would be sent.
    let read = as_owner(directory, || read_text(&path, MAX_TOKEN_FILE_BYTES));
    let read = read.map_err(|error| ClientError::Token(FileError::Io(path.clone(), error)))?;
    Ok(read.map_err(ClientError::Token)?.trim().to_owned())
}

/// Why a hub did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no token to use.
    #[error(
        "the operator's token: {0} (start the hub once with: gatepost run; a hub that was started with another [hub] data_dir has its \
         token there: GATEPOST_TOKEN=\"$(cat THERE/operator.token)\")"
    )]
    Token(FileError),
    /// A hub answers, and it is another than the one whose data directory the configuration names.
    #[error(
        "the hub at {hub} does not use the data directory {}, which the configuration names: restart it if [hub] data_dir has changed, \
         or reach it as it is with GATEPOST_TOKEN=\"$(cat THERE/operator.token)\", where THERE is the data directory that it uses",
        .directory.display()
    )]
    OtherDirectory {
        /// The hub's URL.
        hub: String,
        /// The data directory of the configuration.
        directory: PathBuf,
    },
    /// The operator's token would go to another machine.
    #[error(
        "{0} is another machine, and the operator's token of this one is not sent there: set GATEPOST_TOKEN to a token of that hub \
         (there: gatepost agent add NAME --role operator)"
    )]
    Elsewhere(String),
    /// A command that sends was given no token.
    #[error(
        "no token says whose messages these are: make one with `gatepost agent add NAME` and set GATEPOST_TOKEN to it \
         (to act as the operator on purpose, add --as-operator)"
    )]
    NoToken,
    /// A file was named that has no readable token.
    #[error("the token: {0}")]
    TokenFile(FileError),
    /// A file was named that everybody can read.
    #[error(transparent)]
    ReadByAll(#[from] ReadByAll),
    /// A file was named that is empty.
    #[error("{} holds no token: make one with `gatepost agent add NAME` and write it there", .0.display())]
    EmptyTokenFile(PathBuf),
    /// Firmware would come by a way on which it can be changed.
    #[error(
        "firmware is not fetched from {0}: without TLS, anybody on the way could change it. Run this on the hub's own machine, or reach \
         the hub by https, or give --image FILE"
    )]
    Changeable(String),
    /// What the hub answers is longer than it may be.
    #[error("the hub at {0} answers more than a release of firmware has")]
    TooLong(String),
    /// Nobody listens.
    #[error("no hub answers at {0}: start it with: gatepost run")]
    Nobody(String),
    /// Nobody listens at the address of the configuration. A hub keeps the one that it was started with, whatever is written there
    /// since.
    #[error(
        "no hub answers at {0}: start it with: gatepost run (if [hub] listen was changed since the hub was started, it still runs at its \
         old address: restart it, since a reload does not change listen, or reach it as it is with --hub http://OLD_ADDRESS)"
    )]
    NobodyConfigured(String),
    /// The connection or the answer broke.
    #[error("the hub at {0} did not answer: {1}")]
    Broken(String, reqwest::Error),
    /// The hub answers, and takes no messages.
    #[error("the hub takes no messages: {0}")]
    NotReady(String),
    /// The HTTP client.
    #[error("cannot set up the HTTP client: {0}")]
    Http(#[from] reqwest::Error),
    /// The hub refused.
    #[error("{}", refusal(.0))]
    Refused(Value),
}

/// Whose token a command uses.
#[derive(Clone)]
pub struct Token {
    /// This one; without it, the operator's, which the hub keeps in its data directory.
    given: Option<String>,
    as_operator: bool,
}

impl Token {
    /// The token of who sends messages: the one in `GATEPOST_TOKEN`, or else the operator's if that is asked for. A program that
    /// an agent starts in the hub's folder must not become the operator by standing next to its token.
    ///
    /// # Errors
    /// There is none.
    pub fn of_sender(as_operator: bool) -> Result<Self, ClientError> {
        let given = given_token();
        match as_operator || given.is_some() {
            true => Ok(Self { given, as_operator }),
            false => Err(ClientError::NoToken),
        }
    }

    /// The token in a file.
    ///
    /// # Errors
    /// There is none.
    pub fn from_file(path: &Path) -> Result<Self, ClientError> {
        refuse_everybodys(path)?;
        let text = read_text(path, MAX_TOKEN_FILE_BYTES).map_err(ClientError::TokenFile)?;
        match text.trim() {
            "" => Err(ClientError::EmptyTokenFile(path.to_owned())),
            token => Ok(Self { given: Some(token.to_owned()), as_operator: false }),
        }
    }

    /// Whether an operator's token is used on purpose.
    pub fn is_operators(&self) -> bool {
        self.as_operator
    }
}

/// Where the hub is, as the command line was told.
#[derive(Debug, Clone)]
pub struct Place {
    /// The configuration file.
    pub config: PathBuf,
    /// The hub's URL, if not from the configuration.
    pub hub: Option<String>,
}

impl Place {
    /// The hub's URL.
    fn base(&self, config: &Config) -> String {
        self.hub.clone().unwrap_or_else(|| format!("http://{}", config.hub.listen))
    }

    /// Asks whether the hub takes messages.
    ///
    /// # Errors
    /// It does not, and why; or nobody answers.
    pub async fn ready(&self) -> Result<(), ClientError> {
        self.probe("readyz").await
    }

    /// Asks whether the hub lives: one whose disk is full does, and takes no messages.
    ///
    /// # Errors
    /// Nobody answers.
    pub async fn alive(&self) -> Result<(), ClientError> {
        self.probe("healthz").await
    }

    async fn probe(&self, what: &str) -> Result<(), ClientError> {
        let base = match &self.hub {
            Some(base) => base.clone(),
            None => self.base(&Config::load(&self.config)?),
        };
        let client = Client::new(base.clone(), String::new())?;
        let asked = client.http.get(format!("{}/{what}", client.base)).timeout(PROBE_TIMEOUT).send().await;
        let answer = match asked {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => return Err(ClientError::Nobody(base)),
            Err(error) => return Err(ClientError::Broken(base, error)),
        };
        if answer.status().is_success() {
            return Ok(());
        }
        let why = answer.text().await.map_err(|error| ClientError::Broken(base, error))?;
        Err(ClientError::NotReady(why.trim().to_owned()))
    }

    /// Refuses to work on a data directory that no hub uses while a hub answers: it would not see what is done there.
    ///
    /// # Errors
    /// A hub answers.
    pub async fn refuse_another_directory(&self, config: &Config) -> Result<(), ClientError> {
        let base = self.base(config);
        let client = Client::new(base.clone(), String::new())?;
        match is_a_hub(&client.http, &client.base).await {
            true => Err(ClientError::OtherDirectory { hub: base, directory: config.hub.data_dir.clone() }),
            false => Ok(()),
        }
    }
}

/// Whether a hub that listens at `base` is on this machine: its own address, or one of its loopback. What is no URL fails later.
fn is_here(base: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base) else { return true };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        // A socket can be bound to addresses of this machine alone.
        Ok(address) => address.is_loopback() || std::net::UdpSocket::bind((address, 0)).is_ok(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Whether something there says that it is well, as a hub does. Nothing secret is told to it.
async fn is_a_hub(http: &reqwest::Client, base: &str) -> bool {
    let answer = http.get(format!("{base}/healthz")).timeout(PROBE_TIMEOUT).send().await;
    answer.is_ok_and(|answer| answer.status().is_success())
}

/// Speaks to a hub.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
    /// Whether the operator's token may be used for tools: see [`AS_OPERATOR`].
    as_operator: bool,
    /// The data directory that the token was read from; nothing, if the token was given.
    directory: Option<PathBuf>,
    /// Where the hub that has this directory must listen.
    listen: Option<SocketAddr>,
    /// Whether the URL is the configuration's, and was not given.
    configured: bool,
}

/// A call to make.
#[derive(Debug, Default)]
pub struct Request<'a> {
    /// Query parameters.
    pub query: Vec<(&'a str, String)>,
    /// The body.
    pub body: Option<Value>,
    /// How long the hub may take beside its usual work.
    pub wait: Duration,
}

impl Client {
    /// Speaks to the hub of the configuration, with the operator's token, unless `GATEPOST_TOKEN` holds another. For commands
    /// that steer the hub, and send nothing: those use [`Token::of_sender`].
    ///
    /// # Errors
    /// There is no token, or the configuration cannot be used.
    pub fn at(place: &Place) -> Result<Self, ClientError> {
        Self::with(place, &Token { given: given_token(), as_operator: false })
    }

    /// Speaks to the hub of the configuration with this token.
    ///
    /// # Errors
    /// The operator's token cannot be read, or the configuration cannot be used.
    pub fn with(place: &Place, token: &Token) -> Result<Self, ClientError> {
        let Token { given, as_operator } = token;
        let client = match (&place.hub, given) {
            (Some(base), Some(token)) => Self::new(base.clone(), token.clone())?,
            _ => {
                let config = Config::load(&place.config)?;
                let base = place.base(&config);
                match given {
                    Some(token) => Self::new(base, token.clone())?,
                    None if !is_here(&base) => return Err(ClientError::Elsewhere(base)),
                    None => {
                        let client = Self::new(base, operators_token(&config)?)?;
                        // An address that was given is the caller's own choice.
                        let listen = place.hub.is_none().then_some(config.hub.listen);
                        Self { directory: Some(config.hub.data_dir), listen, ..client }
                    }
                }
            }
        };
        Ok(Self { as_operator: *as_operator, configured: place.hub.is_none(), ..client })
    }

    /// Speaks to the hub at `base` with this token.
    pub fn new(base: String, token: String) -> Result<Self, ClientError> {
        install_tls_provider();
        let http =
            reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self {
            http,
            base: base.trim_end_matches('/').to_owned(),
            token,
            as_operator: false,
            directory: None,
            listen: None,
            configured: false,
        })
    }

    /// A request with this client's token.
    async fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, ClientError> {
        self.is_the_hub().await?;
        let request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token);
        Ok(if self.as_operator { request.header(AS_OPERATOR, "true") } else { request })
    }

    /// A hub that is away leaves its port to anybody, and the operator's token is not for them: only who has the data directory, and
    /// says there that it listens at this address, gets it.
    async fn is_the_hub(&self) -> Result<(), ClientError> {
        let (Some(directory), Some(listen)) = (&self.directory, self.listen) else { return Ok(()) };
        if DirectoryLock::is_held_at(directory, listen) {
            return Ok(());
        }
        match is_a_hub(&self.http, &self.base).await {
            true => Err(ClientError::OtherDirectory { hub: self.base.clone(), directory: directory.clone() }),
            false => Err(self.nobody()),
        }
    }

    /// Makes a call; the answer's status and body, whatever they are.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        request: Request<'_>,
    ) -> Result<(StatusCode, Value), ClientError> {
        let path = format!("{path}{}", query(&request.query));
        let mut call = self.request(method, &path).await?.timeout(request.wait + SLACK);
        if let Some(body) = &request.body {
            call = call.json(body);
        }
        let answer = call.send().await.map_err(|error| self.away(error))?;
        let status = answer.status();
        self.is_its_own(status)?;
        let body = answer.json().await.map_err(|error| self.away(error))?;
        Ok((status, body))
    }

    /// That no hub listens at its URL.
    fn nobody(&self) -> ClientError {
        match self.configured {
            true => ClientError::NobodyConfigured(self.base.clone()),
            false => ClientError::Nobody(self.base.clone()),
        }
    }

    /// A hub that does not know the operator's token of a data directory uses another one.
    fn is_its_own(&self, status: StatusCode) -> Result<(), ClientError> {
        match &self.directory {
            Some(directory) if status == StatusCode::UNAUTHORIZED => {
                Err(ClientError::OtherDirectory { hub: self.base.clone(), directory: directory.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Hands a file in; by what a message names it.
    pub async fn hand_in(&self, file: fs::File) -> Result<String, ClientError> {
        let size = file.metadata().map(|file| file.len()).unwrap_or(0);
        let call = self
            .request(Method::POST, "/v1/files")
            .await?
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, size)
            .body(tokio::fs::File::from_std(file))
            .timeout(SLACK + Duration::from_secs(size / MIN_UPLOAD_BYTES_PER_SECOND));
        let answer = call.send().await.map_err(|error| self.away(error))?;
        let status = answer.status();
        self.is_its_own(status)?;
        let body: Value = answer.json().await.map_err(|error| self.away(error))?;
        match body.get("file").and_then(Value::as_str).filter(|_| status.is_success()) {
            Some(file) => Ok(file.to_owned()),
            None => Err(ClientError::Refused(body)),
        }
    }

    /// Hands in a release of companions' firmware; what the hub says of it.
    ///
    /// # Errors
    /// The hub does not answer, or refuses it.
    pub async fn add_release(&self, file: Vec<u8>) -> Result<Value, ClientError> {
        let time = SLACK + Duration::from_secs(file.len() as u64 / MIN_UPLOAD_BYTES_PER_SECOND);
        let call = self
            .request(Method::POST, "/v1/updates")
            .await?
            .header(CONTENT_TYPE, "application/octet-stream")
            .timeout(time)
            .body(file);
        let answer = call.send().await.map_err(|error| self.away(error))?;
        let status = answer.status();
        self.is_its_own(status)?;
        let body: Value = answer.json().await.map_err(|error| self.away(error))?;
        if status.is_success() { Ok(body) } else { Err(ClientError::Refused(body)) }
    }

    /// The firmware of the newest release for a board.
    ///
    /// # Errors
    /// The hub does not answer, or has none, or it could be changed on its way: only the hub looks at the signature.
    pub async fn release_image(&self, board: &str) -> Result<Vec<u8>, ClientError> {
        if !self.base.starts_with("https://") && !is_here(&self.base) {
            return Err(ClientError::Changeable(self.base.clone()));
        }
        let path = format!("/v1/updates/image{}", query(&[("board", board.to_owned())]));
        let time = SLACK + Duration::from_secs(MAX_FILE as u64 / MIN_UPLOAD_BYTES_PER_SECOND);
        let call = self.request(Method::GET, &path).await?.timeout(time);
        let mut answer = call.send().await.map_err(|error| self.away(error))?;
        let status = answer.status();
        self.is_its_own(status)?;
        match status.is_success() {
            true => {
                let mut image = Vec::new();
                while let Some(more) = answer.chunk().await.map_err(|error| self.away(error))? {
                    if image.len() + more.len() > MAX_FILE {
                        return Err(ClientError::TooLong(self.base.clone()));
                    }
                    image.extend_from_slice(&more);
                }
                Ok(image)
            }
            false => Err(ClientError::Refused(answer.json().await.map_err(|error| self.away(error))?)),
        }
    }

    /// Makes a call; a refusal becomes an error that says what to do.
    pub async fn call(&self, method: Method, path: &str, request: Request<'_>) -> Result<Value, ClientError> {
        let (status, body) = self.ask(method, path, request).await?;
        match status.is_success() {
            true => Ok(body),
            false => Err(ClientError::Refused(body)),
        }
    }

    fn away(&self, error: reqwest::Error) -> ClientError {
        match error.is_connect() {
            true => self.nobody(),
            false => ClientError::Broken(self.base.clone(), error),
        }
    }
}

/// A refusal as one or two sentences.
fn refusal(problem: &Value) -> String {
    let member = |name| problem.get(name).and_then(Value::as_str).unwrap_or("");
    match (member("code"), member("error"), member("hint")) {
        (code, error, "") => format!("{code}: {error}"),
        (code, error, hint) => format!("{code}: {error}\n  {hint}"),
    }
}

fn query(pairs: &[(&str, String)]) -> String {
    pairs.iter().enumerate().fold(String::new(), |mut query, (index, (name, value))| {
        query.push(if index == 0 { '?' } else { '&' });
        query.push_str(name);
        query.push('=');
        query.push_str(&escaped(value));
        query
    })
}

/// The characters that are not escaped in a segment of a path and in a query's value: letters, digits, and these.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// A text as one segment of a path, or as a value in a query (RFC 3986, section 2.3).
pub fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_values_are_escaped() {
        let pairs = [("address", "a b&c".to_owned()), ("after", "5".to_owned())];
        assert_eq!(query(&pairs), "?address=a%20b%26c&after=5");
        assert_eq!(query(&[]), "");
    }

    #[test]
    fn a_hub_of_another_machine_is_told_from_one_that_is_here() {
        for here in ["http://127.0.0.1:8787", "http://127.1.2.3", "http://[::1]:1", "http://localhost:8787/x"]
        {
            assert!(is_here(here), "{here}");
        }
        // The second is a name that anybody may own, the last one of the addresses for documentation (RFC 5737).
        for elsewhere in ["https://hub.example.org", "http://localhost.example", "http://192.0.2.1:8787"] {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }
}
