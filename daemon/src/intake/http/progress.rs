//! An answer that is told step by step, for a caller that asks for it: which messages are under way and where they are, as
//! server-sent events, and last the answer itself. What is answered at once is answered like any other call.

use std::{convert::Infallible, pin::Pin, time::Duration};

use axum::{
    Json,
    http::{HeaderMap, header},
    response::{IntoResponse as _, Response, Sse, sse},
};
use futures_util::{Stream, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use super::Endpoint;
use crate::{
    agents::Caller,
    intake::tool::{self, UnderWay},
    message::refusal::Refusal,
};

/// Between two signs of life.
const BEAT: Duration = Duration::from_secs(10);

/// What came of a call, and all that it takes to say so.
pub(super) type Done = (Endpoint, Caller, Result<Value, Refusal>);

/// A call that is being made.
pub(super) type Making = Pin<Box<dyn Future<Output = Done> + Send>>;

enum Step {
    UnderWay(UnderWay),
    Done(Done),
}

/// Whether a caller asks for an answer step by step.
pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/event-stream"))
}

/// Answers with the steps of a call, from the first one on.
pub(super) async fn step_by_step(
    mut making: Making,
    mut steps: Receiver<UnderWay>,
) -> Result<Response, Refusal> {
    let first = match next(&mut making, &mut steps).await {
        Step::Done((.., answer)) => return answer.map(|answer| Json(answer).into_response()),
        Step::UnderWay(first) => event("under_way", &json!(first)),
    };
    let events = stream::unfold((Some(first), Some((making, steps))), |(first, left)| async move {
        if let Some(first) = first {
            return Some((Ok::<_, Infallible>(first), (None, left)));
        }
        let (mut making, mut steps) = left?;
        Some(match next(&mut making, &mut steps).await {
            Step::UnderWay(step) => (Ok(event("under_way", &json!(step))), (None, Some((making, steps)))),
            Step::Done(done) => (Ok(event("answer", &answer(done).await)), (None, None)),
        })
    });
    Ok(streamed(events))
}

async fn next(making: &mut Making, steps: &mut Receiver<UnderWay>) -> Step {
    tokio::select! {
        biased;
        Some(step) = steps.recv() => Step::UnderWay(step),
        done = making => Step::Done(done),
    }
}

async fn answer((endpoint, caller, answer): Done) -> Value {
    match answer {
        Ok(answer) => answer,
        Err(refusal) => {
            endpoint.0.refused.note(Some(&caller), "POST /v1/tools/{tool}", &refusal).await;
            tool::refused(&refusal)
        }
    }
}

/// What is sent here, as it comes, until nobody sends any more.
pub(super) fn as_they_come(events: Receiver<sse::Event>) -> Response {
    let events = stream::unfold(events, |mut events| async move {
        Some((Ok::<_, Infallible>(events.recv().await?), events))
    });
    streamed(events)
}

/// With a sign of life between two that are far apart: a proxy in between ends what is silent, nginx after 60 s
/// (<https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_read_timeout>), and is taken for a caller who hangs up.
fn streamed(events: impl Stream<Item = Result<sse::Event, Infallible>> + Send + 'static) -> Response {
    Sse::new(events).keep_alive(sse::KeepAlive::new().interval(BEAT)).into_response()
}

/// An event of this name.
pub(super) fn event(name: &str, data: &Value) -> sse::Event {
    sse::Event::default().event(name).data(data.to_string())
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use tokio::{sync::mpsc, time::Instant};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_long_silence_has_signs_of_life_in_it() {
        let (telling, told) = mpsc::channel(1);
        let began = Instant::now();
        let mut body = as_they_come(told).into_body().into_data_stream();
        for beat in 1..=3 {
            let said = body.next().await.unwrap().unwrap();
            assert!(said.starts_with(b":"), "a comment, which nobody takes for a step: {said:?}");
            assert_eq!(began.elapsed(), BEAT * beat);
        }
        telling.send(event("done", &json!({"ok": true}))).await.unwrap();
        let said = body.next().await.unwrap().unwrap();
        assert_eq!(said, "event: done\ndata: {\"ok\":true}\n\n");
        drop(telling);
        assert!(body.next().await.is_none());
    }
}
