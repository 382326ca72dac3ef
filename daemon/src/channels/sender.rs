//! What leaves: how a channel turns parts into requests of its own, and performs them.
//!
//! A channel implements [`Sender`] with one type of request that it alone reads. The queue knows requests as JSON, for it
//! stores them, and as a [`PlatformRequest`], which is one that its channel has read: once, whatever is asked of it afterwards.
//! [`ErasedSender`] is the way between the two, and no channel implements it by hand.

use async_trait::async_trait;
use serde::{Deserialize as _, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Attempt, Delivered, Failure, OperationRequest, OutgoingPart, PartKey, RateHints, Redelivery};

/// The members of a JSON object; none of anything else.
pub(super) fn members(json: Value) -> Map<String, Value> {
    match json {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Why a part or an operation can never be sent, in words for whoever asks for it. Nothing is stored then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl Refused {
    /// For this reason.
    pub fn because(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// The request, unless something in it can never be sent: `unfit` says what that is.
pub(super) fn fit<R>(request: R, unfit: impl FnOnce(&R) -> Option<String>) -> Result<R, Refused> {
    match unfit(&request) {
        Some(why) => Err(Refused(why)),
        None => Ok(request),
    }
}

/// How one account sends.
#[async_trait]
pub trait Sender: Send + Sync + 'static {
    /// A platform request: all of it but credentials and the part's key. A file stands in it by its
    /// [reference](crate::message::attachment::Attachment::reference). Its JSON is what is stored, so a release reads what
    /// those before it wrote.
    type Request: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The request that a part becomes.
    ///
    /// # Errors
    /// The platform would not take it, and the adapter knows it already: for bounds that are no data, such as one that two
    /// kinds of things share.
    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Self::Request, Refused>;

    /// The request of anything but a new text; none if the platform has no such thing.
    fn compose_operation(&self, _: &OperationRequest<'_>) -> Option<Result<Self::Request, Refused>> {
        None
    }

    /// The request of an edit with what stands with the message and is to stay: the platform would take it away. `made` is the
    /// request that made the message.
    fn keeping(&self, edit: Self::Request, _made: &Self::Request) -> Self::Request {
        edit
    }

    /// Makes it the request for the newest revision of the message that it names: what leaves if an edit is an
    /// [`EditForm::Revision`](super::EditForm::Revision). Like a transport key it is filled in then, for nobody knows it before.
    fn revise(&self, _request: &mut Self::Request, _newest: &str) {}

    /// Performs a request. What the platform says of its limits beyond this one request is noted in `hints`, whatever the
    /// outcome; the shared client ([`http`](crate::channels::kit::http)) sees to it.
    async fn deliver(
        &self,
        request: &Self::Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure>;

    /// Where the conversation stands before a request leaves for the first time, if a look for it later must not take
    /// anything older for it: the platform's latest record there. It is stored before the request leaves, and given to
    /// [`find`](Self::find).
    ///
    /// # Errors
    /// It cannot be asked; nothing has left, and the request does not leave now.
    async fn position(
        &self,
        _request: &Self::Request,
        _hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// By which way a request goes, in words for whoever approves it: if the account is
    /// [hybrid](super::DeliveryMode::Hybrid), and else nothing.
    fn route(&self, _request: &Self::Request) -> Option<&'static str> {
        None
    }

    /// What makes a second delivery of a request harmless: nothing, if the channel does not say.
    fn redelivery(&self, _request: &Self::Request) -> Redelivery {
        Redelivery::Never
    }

    /// Whether a request that may have arrived goes again if an account or a call prefers two copies to none (`on_unknown`). Not
    /// if the program that sends it says of an unknown outcome that it must not be sent again.
    fn may_resend(&self, _request: &Self::Request) -> bool {
        true
    }

    /// Asks the platform whether a request arrived whose answer was lost: the id of what it became, or none if it is
    /// certain that it did not arrive, or, with [`Redelivery::Look`], if it is not seen. Only if
    /// [`redelivery`](Self::redelivery) says one of the two.
    async fn find(
        &self,
        _request: &Self::Request,
        _attempt: &Attempt<'_>,
        _hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        Err(Failure::Unknown("this platform cannot be asked what arrived".into()))
    }

    /// What is to be said of a request that arrived, if that is not the end of it.
    fn remark(&self, _request: &Self::Request) -> Option<&'static str> {
        None
    }
}

/// A request that is composed and not yet stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// It, as it is stored.
    pub request: Value,
    /// By which way it goes: see [`Sender::route`].
    pub route: Option<&'static str>,
}

/// A [`Sender`] without its type of request.
pub trait ErasedSender: Send + Sync + 'static {
    /// See [`Sender::compose`].
    ///
    /// # Errors
    /// As there.
    fn plan(&self, outgoing: &OutgoingPart<'_>) -> Result<Composed, Refused>;

    /// See [`Sender::compose_operation`], and [`Sender::keeping`] for an edit of what the account made itself.
    fn plan_operation(
        &self,
        operation: &OperationRequest<'_>,
        made_by: Option<&Value>,
    ) -> Option<Result<Composed, Refused>>;

    /// Reads a stored request. One that this channel cannot read is never sent, and says why if it is to be.
    fn read(&self, request: &Value) -> Box<dyn PlatformRequest + '_>;
}

/// A stored request that its channel has read.
#[async_trait]
pub trait PlatformRequest: Send + Sync {
    /// See [`Sender::revise`].
    fn revise(&mut self, newest: &str);
    /// See [`Sender::redelivery`].
    fn redelivery(&self) -> Redelivery;
    /// See [`Sender::may_resend`].
    fn may_resend(&self) -> bool;
    /// See [`Sender::remark`].
    fn remark(&self) -> Option<&'static str>;
    /// See [`Sender::position`].
    async fn position(&self, hints: &mut RateHints) -> Result<Option<String>, Failure>;
    /// See [`Sender::deliver`].
    async fn deliver(&self, key: &PartKey, hints: &mut RateHints) -> Result<Delivered, Failure>;
    /// See [`Sender::find`].
    async fn find(&self, attempt: &Attempt<'_>, hints: &mut RateHints) -> Result<Option<String>, Failure>;
}

fn composed<S: Sender>(sender: &S, request: &S::Request) -> Composed {
    // Requests have nothing in them but JSON: no map whose keys are no text, no number that is none.
    let json = serde_json::to_value(request).unwrap_or_default();
    Composed { request: json, route: sender.route(request) }
}

impl<S: Sender> ErasedSender for S {
    fn plan(&self, outgoing: &OutgoingPart<'_>) -> Result<Composed, Refused> {
        self.compose(outgoing).map(|request| composed(self, &request))
    }

    fn plan_operation(
        &self,
        operation: &OperationRequest<'_>,
        made_by: Option<&Value>,
    ) -> Option<Result<Composed, Refused>> {
        let request = match self.compose_operation(operation)? {
            Ok(request) => request,
            Err(refused) => return Some(Err(refused)),
        };
        // What made the message may be stored in a form that is read no more; the edit goes without it then.
        let made = made_by.and_then(|made| S::Request::deserialize(made).ok());
        let request = match made {
            Some(made) => self.keeping(request, &made),
            None => request,
        };
        Some(Ok(composed(self, &request)))
    }

    fn read(&self, request: &Value) -> Box<dyn PlatformRequest + '_> {
        match S::Request::deserialize(request) {
            Ok(request) => Box::new(Read { sender: self, request }),
            Err(why) => Box::new(Unreadable(format!("the stored request cannot be sent: {why}"))),
        }
    }
}

struct Read<'a, S: Sender> {
    sender: &'a S,
    request: S::Request,
}

#[async_trait]
impl<S: Sender> PlatformRequest for Read<'_, S> {
    fn revise(&mut self, newest: &str) {
        self.sender.revise(&mut self.request, newest);
    }

    fn redelivery(&self) -> Redelivery {
        self.sender.redelivery(&self.request)
    }

    fn may_resend(&self) -> bool {
        self.sender.may_resend(&self.request)
    }

    fn remark(&self) -> Option<&'static str> {
        self.sender.remark(&self.request)
    }

    async fn position(&self, hints: &mut RateHints) -> Result<Option<String>, Failure> {
        self.sender.position(&self.request, hints).await
    }

    async fn deliver(&self, key: &PartKey, hints: &mut RateHints) -> Result<Delivered, Failure> {
        self.sender.deliver(&self.request, key, hints).await
    }

    async fn find(&self, attempt: &Attempt<'_>, hints: &mut RateHints) -> Result<Option<String>, Failure> {
        self.sender.find(&self.request, attempt, hints).await
    }
}

/// A stored request that cannot be read, and why.
pub(crate) struct Unreadable(pub(crate) String);

#[async_trait]
impl PlatformRequest for Unreadable {
    fn revise(&mut self, _: &str) {}

    fn redelivery(&self) -> Redelivery {
        Redelivery::Never
    }

    fn may_resend(&self) -> bool {
        false
    }

    fn remark(&self) -> Option<&'static str> {
        None
    }

    async fn position(&self, _: &mut RateHints) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    async fn deliver(&self, _: &PartKey, _: &mut RateHints) -> Result<Delivered, Failure> {
        Err(Failure::Permanent(self.0.clone()))
    }

    async fn find(&self, _: &Attempt<'_>, _: &mut RateHints) -> Result<Option<String>, Failure> {
        Err(Failure::Permanent(self.0.clone()))
    }
}
