//! The whole pipeline, with platforms that answer as they are told.
//!
//! [`platform`] is such a platform, [`fixture`] a pipeline that sends to two of them; beside them a file for each thing that a
//! pipeline does.

mod accounts;
mod answers;
mod broadcast;
mod files;
pub(crate) mod fixture;
mod identities;
mod lanes;
mod mentions;
mod operations;
mod platform;
mod put_back;
mod receiving;
mod routes;
mod spellings;
mod uncertain;

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatepost_chunk::Unit;
use gatepost_link::decision::PublicKey;
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

use self::{
    fixture::{CHANNELS, Fixture, hand_in, platforms, shared, wait},
    platform::Platform,
};
use super::{
    AgentRules, Pipeline, SendOptions, Shared, address_book::AddressBook, current::Current,
    identities::Identities, rate_limiter::RateLimiter,
};
use crate::{
    admission::submit::Idempotency,
    approval::Approvals,
    channels::{
        Adapter, Attempt, Capabilities, Delivered, Failure, FileForm, FileRules, IdScope, NotReady,
        OperationRequest, OutgoingPart, PartKey, RateHints, Receiver, Redelivery, Refused, Sender,
        TargetError,
        account::{Accounts, OnUnknown},
        callback::{CallbackRefused, DeliveryStatus, Lost},
        capabilities::{ButtonRules, PollRules},
        fingerprint::Fingerprint,
        formats,
        hub_handle::HubHandle,
        identity::{Identity, Spelling, Unidentified},
        limits::{Allowance, Scope},
        testing::hub::HubMock,
    },
    delivery::{ending::MAX_QUESTIONS, lanes::AT_ONCE},
    files::{Bounds, Files, Sources, fetch_policy::Private},
    hooks::{Hooks, Kinds},
    message::{
        action::Action,
        attachment::Attachment,
        call::Call,
        receipt::Receipt,
        recipients::{Recipients, Unreached},
        refusal::Refusal,
        state::State,
    },
    outbox::{Outbox, row::MessageRow},
    policy::{Allowlist, CrossContext, Rights},
    render::Flavour,
    store::{Store, now_ms},
};

/// More than any of this takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A platform that takes files, each with its caption.
fn captioning() -> Platform {
    Platform { files: Some(FileForm::Captioned), ..Platform::default() }
}
