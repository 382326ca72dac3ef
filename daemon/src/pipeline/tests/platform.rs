//! A platform that a test tells what to answer, and that says what it heard.

use super::*;

/// A platform that takes everything, but for what it was told about an address.
#[derive(Default)]
pub(super) struct Platform {
    /// Address and text, as they came.
    pub(super) heard: Mutex<Vec<(String, String)>>,
    /// What is answered at an address the next time.
    pub(super) answers: Mutex<HashMap<String, Failure>>,
    /// What it says of its limits, an answer each.
    pub(super) says: Mutex<Vec<Allowance>>,
    /// It reads, and answers nobody.
    pub(super) silent: bool,
    pub(super) files: Option<FileForm>,
    /// It has every action.
    pub(super) able: bool,
    /// What it says when it is asked whether something arrived; where there is nothing, it cannot be asked.
    pub(super) found: Mutex<Option<Result<Option<String>, Failure>>>,
    /// It can be looked at, and does not show all that arrived.
    pub(super) looks: bool,
    /// Every question whether something arrived fails.
    pub(super) deaf: bool,
    /// Where its conversations stand, and where they stood when it was asked whether something arrived.
    pub(super) stands: Mutex<Option<Result<Option<String>, Failure>>>,
    pub(super) stood: Mutex<Vec<Option<String>>>,
    /// Whom everything reaches.
    pub(super) reached: Mutex<Option<Recipients>>,
}

impl Platform {
    pub(super) fn answers(&self, address: &str, failure: Failure) {
        self.answers.lock().unwrap().insert(address.into(), failure);
    }

    pub(super) fn heard(&self, address: &str) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|(to, _)| to == address).map(|(_, text)| text.clone()).collect()
    }
}

#[async_trait]
impl Adapter for Platform {
    fn capabilities(&self) -> &'static Capabilities {
        const fn can(files: Option<FileForm>) -> Capabilities {
            let files = match files {
                Some(form) => {
                    Some(FileRules { max_size: 10, everywhere: None, max_together: 15, form, kinds: &[] })
                }
                None => None,
            };
            Capabilities {
                channel: "test",
                threads: true,
                replies: true,
                silent: true,
                address_hint: "x",
                files,
                actions: &[Action::React, Action::Edit, Action::Thread],
                buttons: Some(ButtonRules {
                    rows: 2,
                    per_row: 2,
                    in_all: 3,
                    text: 5,
                    data: 4,
                    data_unit: Unit::Bytes,
                    url: 0,
                }),
                polls: Some(PollRules {
                    options: 3,
                    question: 10,
                    option: 5,
                    unit: Unit::CodePoints,
                    multiple: false,
                    seconds: 0,
                    anonymous: false,
                    stand_in: None,
                }),
                instead: &[(Action::Pin, "write it again")],
                ..Capabilities::PLAIN
            }
        }
        const BARE: Capabilities = can(None);
        const CAPTIONED: Capabilities = can(Some(FileForm::Captioned));
        const TOGETHER: Capabilities = can(Some(FileForm::Together));
        const ABLE: Capabilities = Capabilities { actions: Action::ALL, effects: &["slam"], ..CAPTIONED };
        if self.able {
            return &ABLE;
        }
        match self.files {
            None => &BARE,
            Some(FileForm::Captioned) => &CAPTIONED,
            Some(FileForm::Together) => &TOGETHER,
        }
    }

    fn scope(&self, _: &str) -> IdScope {
        IdScope::Conversation
    }

    fn flavour(&self) -> Flavour {
        Flavour { limit: Some(100), ..formats::PLAIN }
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        Ok(address.into())
    }

    /// `also-X` is `X`, as the platform knows; `whose` nobody knows.
    fn identity(&self, address: &str) -> Spelling {
        match address.starts_with("also-") || address == "whose" {
            true => Spelling::Ask,
            false => Spelling::known(address),
        }
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        let known = address.strip_prefix("also-").map(Identity::new);
        known.ok_or_else(|| Unidentified::not_known("it has no name on its door"))
    }

    fn joins_album(&self, files: &[Attachment], file: &Attachment) -> bool {
        files.len() < 3 && files.iter().chain([file]).all(|file| file.name.starts_with("picture"))
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        Ok("ready".into())
    }
}

#[async_trait]
impl Sender for Platform {
    type Request = Value;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Value, Refused> {
        if outgoing.part.text.contains("unheard of") {
            return Err(Refused::because("that is unheard of here: say something else"));
        }
        let files = outgoing.files.iter().map(|file| format!("<{}>", file.name));
        let buttons = outgoing.extras.buttons.iter().flatten().map(|button| format!("({})", button.text));
        let text: Vec<String> =
            std::iter::once(outgoing.part.text.clone()).chain(files).chain(buttons).collect();
        Ok(json!({"to": outgoing.address, "text": text.join("")}))
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Value, Refused>> {
        let text = op.part.map_or("", |part| part.text.as_str());
        Some(Ok(json!({"to": op.address, "text": format!("{:?} {text}", op.operation.action())})))
    }

    async fn position(&self, _: &Value, _: &mut RateHints) -> Result<Option<String>, Failure> {
        self.stands.lock().unwrap().clone().unwrap_or(Ok(None))
    }

    async fn find(
        &self,
        _: &Value,
        attempt: &Attempt<'_>,
        _: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        self.stood.lock().unwrap().push(attempt.position.map(str::to_owned));
        if self.deaf {
            return Err(Failure::Retry("nobody answers".into()));
        }
        self.found.lock().unwrap().take().unwrap_or(Ok(None))
    }

    async fn deliver(
        &self,
        request: &Value,
        _: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let (to, text) =
            (request["to"].as_str().unwrap().to_owned(), request["text"].as_str().unwrap().to_owned());
        self.heard.lock().unwrap().push((to.clone(), text));
        if let Some(said) = self.says.lock().unwrap().pop() {
            hints.note(said);
        }
        if self.silent {
            std::future::pending::<()>().await;
        }
        match self.answers.lock().unwrap().remove(&to) {
            Some(failure) => Err(failure),
            None => {
                let recipients = self.reached.lock().unwrap().clone();
                Ok(Delivered { recipients, ..Delivered::from("x".to_owned()) })
            }
        }
    }

    fn redelivery(&self, _: &Value) -> Redelivery {
        match (self.looks, self.found.lock().unwrap().is_some()) {
            (true, _) => Redelivery::Look,
            (false, true) => Redelivery::Ask,
            (false, false) => Redelivery::Never,
        }
    }
}

#[async_trait]
impl Receiver for Platform {
    async fn read_callback(
        &self,
        signature: &str,
        body: &[u8],
        _hub: &dyn HubHandle,
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        let text = String::from_utf8_lossy(body);
        let (word, key) = text.split_once(' ').ok_or(CallbackRefused::Body)?;
        let lost = || Lost { id: "x".into(), why: "it never arrives".into(), again: word == "otherwise" };
        let outcome = if word == "arrived" { Ok("told".into()) } else { Err(lost()) };
        match signature {
            "signed" => Ok(vec![DeliveryStatus { key: PartKey(key.into()), outcome }]),
            _ => Err(CallbackRefused::Signature),
        }
    }
}
