//! A call with several targets: a message for each, which are admitted and judged each by itself.
//!
//! What is the same for all is done once: a text is rendered once for each flavour, and what is to be written goes to disk
//! together. Where people are asked about several of them, they are asked once for each text that differs, on cards that list all
//! targets. What one target refuses keeps nothing from the others.
//!
//! Only what a hook may rewrite is held for itself: which texts are the same is known when the last hook has answered, and nobody
//! waits for another message's hook.

use std::{collections::HashMap, future::ready, sync::Arc};

use futures_util::future::{BoxFuture, join, join_all};

use super::{
    plan::Renderings,
    prepare::{Judged, ask, tell},
    submit::{Admission, Admitted, Idempotency, not_accepted},
};
use crate::{
    approval::Holding,
    message::{call::Call, receipt::Receipt, refusal::Refusal},
    outbox::{self, accept::Accepted, row::MessageRow, transition::NewPart},
    pipeline::{Pipeline, unavailable},
    policy::Held,
    store::StoreError,
};

/// A message that people are to be asked about.
struct Asking {
    admitted: Admitted,
    held: Held,
    parts: Vec<NewPart>,
}

impl Pipeline {
    /// Takes a message for each of these calls, in their order; each has an answer of its own.
    pub async fn submit_all(
        &self,
        agent: &str,
        calls: Vec<(Call, Idempotency)>,
    ) -> Vec<Result<Receipt, Refusal>> {
        let (several, renderings) = (calls.len() > 1, Arc::default());
        let answers = self.submit_with(agent, calls, &renderings).await;
        if several {
            tracing::debug!(agent, targets = answers.len(), renderings = renderings.made(), "a broadcast");
        }
        answers
    }

    pub(crate) async fn submit_with(
        &self,
        agent: &str,
        calls: Vec<(Call, Idempotency)>,
        renderings: &Arc<Renderings>,
    ) -> Vec<Result<Receipt, Refusal>> {
        let mut admissions = Vec::with_capacity(calls.len());
        for (call, idempotency) in calls {
            admissions.push(self.admitted(agent, call, idempotency).await);
        }
        let hooked = self.0.hooks.before_sending().next().is_some();
        let (mut answers, mut asked) = (Vec::with_capacity(admissions.len()), vec![]);
        for (index, admission) in admissions.into_iter().enumerate() {
            let answer: BoxFuture<'_, _> = match admission {
                Err(refusal) => Box::pin(ready(Err(refusal))),
                Ok(Admission::Before(receipt)) => Box::pin(ready(Ok(*receipt))),
                Ok(Admission::New(admitted)) if hooked => {
                    Box::pin(self.accept_hooked(*admitted, Arc::clone(renderings)))
                }
                Ok(Admission::New(admitted)) => match self.judge_new(&admitted.new, renderings).await {
                    Judged::Asked(held, parts) => {
                        asked.push((index, Asking { admitted: *admitted, held, parts }));
                        continue;
                    }
                    judged => Box::pin(self.accept(*admitted, judged)),
                },
            };
            answers.push(async move { (index, answer.await) });
        }
        let (places, asked): (Vec<usize>, Vec<Asking>) = asked.into_iter().unzip();
        let (mut answers, asked) = join(join_all(answers), self.accept_asked(asked)).await;
        answers.extend(places.into_iter().zip(asked));
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Takes messages that people are asked about, all at once: on as few cards as they fit.
    async fn accept_asked(&self, all: Vec<Asking>) -> Vec<Result<Receipt, Refusal>> {
        if all.is_empty() {
            return vec![];
        }
        // On a task of its own: their files are kept until they are on disk, also for a caller that hangs up meanwhile.
        let (pipeline, of) = (self.clone(), all.len());
        let accepted = tokio::spawn(async move { pipeline.ask_about(all).await }).await;
        accepted.unwrap_or_else(|_| (0..of).map(|_| Err(unavailable(StoreError::Closed))).collect())
    }

    async fn ask_about(&self, all: Vec<Asking>) -> Vec<Result<Receipt, Refusal>> {
        let (of, terms) = (all.len(), self.0.approvals.terms());
        let (mut messages, mut kept, mut asked) = (vec![], vec![], HashMap::new());
        for Asking { admitted: Admitted { new, staged, span, .. }, held, parts } in all {
            asked.insert(new.id.0.clone(), (held, parts));
            messages.push(new);
            kept.push((staged, span));
        }
        let accepted = self.0.outbox.accept_all_and(messages, move |tx, rows| {
            let holding = |message| -> Option<Holding<'_>> {
                let message: &MessageRow = message;
                let (Held { why, by }, parts) = asked.get(&message.id)?;
                Some(Holding { message, parts, reason: why, by: *by })
            };
            let holdings: Vec<Holding<'_>> = rows.iter().filter_map(holding).collect();
            let rows = ask(tx, &holdings, terms)?.into_iter();
            rows.map(|row| Ok((row.clone(), outbox::receipt(tx, row)?))).collect()
        });
        let accepted = match accepted.await {
            Ok(accepted) => accepted,
            Err(error) => {
                let refusal = not_accepted(error);
                return (0..of).map(|_| Err(refusal.clone())).collect();
            }
        };
        let mut answers = Vec::with_capacity(of);
        for (accepted, (_, span)) in accepted.into_iter().zip(&kept) {
            answers.push(match accepted {
                Ok(Accepted::New((message, receipt))) => {
                    span.record("id", tracing::field::display(&message.id));
                    span.in_scope(|| tell(&message));
                    self.0.approvals.explain(receipt).map_err(unavailable)
                }
                Ok(Accepted::Before(seq)) => self.receipt(seq).await.map_err(unavailable),
                Ok(Accepted::Same(seq)) => self.same(seq).await,
                Err(error) => Err(not_accepted(error)),
            });
        }
        answers
    }
}
