//! A call with several targets: a message for each, which are admitted and judged each by itself.
//!
//! What is the same for all is done once: a text is rendered once for each flavour, and what is to be written goes to disk
//! together. What one target refuses keeps nothing from the others.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{
    Pipeline,
    plan::Renderings,
    submit::{Admission, DryRun, Idempotency},
};
use crate::message::{call::Call, receipt::Receipt, refusal::Refusal};

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

    pub(super) async fn submit_with(
        &self,
        agent: &str,
        calls: Vec<(Call, Idempotency)>,
        renderings: &Arc<Renderings>,
    ) -> Vec<Result<Receipt, Refusal>> {
        let mut admissions = Vec::with_capacity(calls.len());
        for (call, idempotency) in calls {
            admissions.push(self.admitted(agent, call, idempotency).await);
        }
        let answers = admissions.into_iter().map(|admission| async {
            match admission? {
                Admission::Before(receipt) => Ok(*receipt),
                Admission::New(new) => self.accept(*new, renderings).await,
            }
        });
        join_all(answers).await
    }

    /// Says what [`submit_all`](Self::submit_all) would do with each of these calls, and does nothing.
    pub async fn dry_run_all(&self, agent: &str, calls: Vec<Call>) -> Vec<Result<DryRun, Refusal>> {
        let renderings = Renderings::default();
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            answers.push(self.dry_run_with(agent, call, &renderings).await);
        }
        answers
    }
}
