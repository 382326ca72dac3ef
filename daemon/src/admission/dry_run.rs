//! What would become of a call: the checks and the verdict of a message that is taken, and nothing written down.

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    plan::{self, Renderings, Resolved},
    submit::attachments,
};
use crate::{
    approval::document,
    channels::envelope::Envelope,
    message::{
        call::Call,
        refusal::{Code, Refusal},
        target::{Destination, Target},
    },
    outbox::transition::NewPart,
    pipeline::Pipeline,
    policy::{Deciders, Origin, Scope, Source, Verdict},
};

/// What a dry run says: exactly what would be sent, were it not for hooks.
#[derive(Debug, Serialize, ToSchema)]
pub struct DryRun {
    /// Whether it would be taken. A call that cannot be read, or has nowhere to go, is answered with its refusal.
    pub ok: bool,
    /// Always true.
    pub dry_run: bool,
    /// `allow`, `hold` or `deny`.
    pub verdict: &'static str,
    /// Why.
    pub reason: String,
    /// Who would decide on it, where the rules do not leave that open: `companion` or `web` alone, or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<&'static str>,
    /// What kind of error the refusal would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where it would go.
    pub to: String,
    /// The account it would go from.
    pub account: String,
    /// Hooks that would run first, and may change or cancel it. A dry run does not ask them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks_not_asked: Vec<String>,
    /// The parts' visible texts and the platform requests that they would become. None, where files go along that would be
    /// refused: they are not even fetched.
    pub parts: Vec<DryPart>,
}

/// One part of a dry run.
#[derive(Debug, Serialize, ToSchema)]
pub struct DryPart {
    /// What a person would be shown.
    pub shown: String,
    /// The platform request, without credentials.
    pub request: serde_json::Value,
}

impl DryRun {
    /// Of a target that is refused before anything else is known of it.
    pub fn denied(refusal: Refusal, to: String) -> Self {
        Self {
            ok: false,
            dry_run: true,
            verdict: "deny",
            reason: refusal.error,
            decided_by: None,
            code: Some(refusal.code),
            hint: Some(refusal.hint),
            to,
            account: String::new(),
            hooks_not_asked: vec![],
            parts: vec![],
        }
    }
}

impl Pipeline {
    /// Says what [`submit`](Pipeline::submit) would do, and does nothing; files are looked at, and not kept. A platform may be asked
    /// whose address it is: the verdict depends on it.
    pub async fn dry_run(&self, agent: &str, call: Call) -> Result<DryRun, Refusal> {
        let source = self.source_of(agent, &call).await?;
        self.dry_run_from(agent, call, source, &Renderings::default()).await
    }

    /// The same of a turn in the conversation `origin`, an owner's, or in none: for whoever asks what an agent's rules say, and has no
    /// turn of it.
    ///
    /// # Errors
    /// As of a call; or `origin` is no conversation of this hub's.
    pub async fn try_as(
        &self,
        agent: &str,
        call: Call,
        origin: Option<&Destination>,
    ) -> Result<DryRun, Refusal> {
        let origin = match origin {
            Some(origin) => Some(self.conversation(agent, origin).await?),
            None => None,
        };
        let source = Source { origin, least_trusted: None };
        self.dry_run_from(agent, call, source, &Renderings::default()).await
    }

    /// A conversation that an agent could have a turn in.
    async fn conversation(&self, agent: &str, destination: &Destination) -> Result<Origin, Refusal> {
        let Destination::Address { channel: Some(channel), address, thread, person } = destination else {
            let hint = "write the conversation as channel:address";
            return Err(Refusal::input("\"origin\" is no conversation", hint).because("origin"));
        };
        let bound = self.bound(agent, channel);
        let (account, adapter) = self.0.accounts.pick(channel, bound).map_err(super::submit::no_account)?;
        let spelt = adapter.spell(address, *person).map_err(|error| {
            Refusal::input(error.to_string(), adapter.capabilities().address_hint).because("bad_address")
        })?;
        let address = self.identity_of(channel, account, &spelt).await?;
        let place = Target { channel: channel.clone(), address, thread: thread.clone() };
        let scope = Some(Scope::Owner);
        Ok(Origin { account: account.to_owned(), place, session: None, turn: None, scope, because: None })
    }

    async fn dry_run_from(
        &self,
        agent: &str,
        mut call: Call,
        source: Source,
        renderings: &Renderings,
    ) -> Result<DryRun, Refusal> {
        let rules = self.rules(agent);
        let resolved = self.resolved(agent, &call, source.origin.as_ref()).await?;
        let Resolved { target, account, .. } = &resolved;
        let judged = self.verdict(&resolved.content(agent, &call, source.provenance(), &[], &[])).await?;
        let (judged, touched) = match judged {
            // Nobody is asked for what is refused anyway.
            denied @ Verdict::Deny(_) => (denied, vec![]),
            _ => {
                self.name_edited(&resolved, &mut call)?;
                let touched = self.locate(source.origin.as_ref(), &resolved, &call).await?;
                let content = resolved.content(agent, &call, source.provenance(), &[], &touched);
                (self.verdict(&content).await?, touched)
            }
        };
        if call.reply_to.is_none() {
            call.reply_to = self.quoted_again(&resolved, &call)?;
        }
        let decided_by = match &judged {
            Verdict::Hold(held) if held.by != Deciders::Any => Some(held.by.word()),
            _ => None,
        };
        let (verdict, reason, refusal) = match judged {
            Verdict::Allow(reason) => ("allow", reason.to_owned(), None),
            Verdict::Hold(held) => ("hold", held.why, None),
            Verdict::Deny(refusal) => {
                let refusal = self.with_its_section(agent, refusal);
                ("deny", refusal.error.clone(), Some(refusal))
            }
        };
        let hooks_not_asked = self.0.hooks.before_sending().map(str::to_owned).collect();
        let (code, hint) = refusal.map(|refusal| (refusal.code, refusal.hint)).unzip();
        let mut said = DryRun {
            ok: code.is_none(),
            dry_run: true,
            verdict,
            reason,
            decided_by,
            code,
            hint,
            to: target.to_string(),
            account: account.clone(),
            hooks_not_asked,
            parts: vec![],
        };
        if !said.ok && !call.attachments.is_empty() {
            return Ok(said);
        }
        let adapter = self.adapter_of(&resolved)?;
        plan::check(adapter.as_ref(), &call, &resolved)?;
        let staged = self.stage(agent, &mut call, source.origin.as_ref(), &resolved, &touched).await?;
        let attachments = attachments(&staged);
        let content = resolved.content(agent, &call, source.provenance(), &attachments, &touched);
        let parts = self.plan(adapter.as_ref(), rules, &content, renderings).await?;
        if verdict == "hold" {
            document::check(&parts, &attachments)
                .map_err(|error| Refusal::new(Code::TooLarge, error.to_string(), "shorten the message"))?;
        }
        let part = |part: NewPart| DryPart {
            request: Envelope::read(&part.request).map(|envelope| envelope.request).unwrap_or_default(),
            shown: part.shown,
        };
        said.parts = parts.into_iter().map(part).collect();
        Ok(said)
    }

    /// Says what [`submit_all`](Self::submit_all) would do with each of these calls, and does nothing.
    pub async fn dry_run_all(&self, agent: &str, calls: Vec<Call>) -> Vec<Result<DryRun, Refusal>> {
        let renderings = Renderings::default();
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            answers.push(match self.source_of(agent, &call).await {
                Ok(source) => self.dry_run_from(agent, call, source, &renderings).await,
                Err(refusal) => Err(refusal),
            });
        }
        answers
    }
}
