//! Times of things that are measured in turns.
//!
//! All times are those of the processor, spent by the thread that does the work: what else the machine has to do is no
//! part of them, though it may still take their place in its caches.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Samples of each thing, and what one takes at least.
struct Plan {
    samples: usize,
    sample: Duration,
}

/// Odd, so that the median is one of the samples.
const FOR_MEDIANS: Plan = Plan { samples: 15, sample: Duration::from_millis(8) };
/// Short, so that some of them are not interrupted; yet far longer than the clock's resolution.
const FOR_MINIMA: Plan = Plan { samples: 61, sample: Duration::from_micros(100) };

/// Something that is measured. What it returns is kept from the optimiser.
pub(crate) type Work<'a> = &'a dyn Fn() -> usize;

/// The median time of one call of each of `works`.
pub(crate) fn medians<const N: usize>(works: [Work<'_>; N]) -> [Duration; N] {
    samples(works, &FOR_MEDIANS).map(|samples| samples[FOR_MEDIANS.samples / 2])
}

/// The least time of one call of each of `works`: for how a cost grows, which a neighbour's load must not change.
pub(crate) fn minima<const N: usize>(works: [Work<'_>; N]) -> [Duration; N] {
    samples(works, &FOR_MINIMA).map(|samples| samples[0])
}

/// The time of a single call.
pub(crate) fn once(work: Work<'_>) -> Duration {
    time(work, 1)
}

/// Sorted times. The works take turns, so that a slow minute is slow for all.
fn samples<const N: usize>(works: [Work<'_>; N], plan: &Plan) -> [Vec<Duration>; N] {
    let calls = works.map(|work| calls_a_sample(work, plan.sample));
    let mut samples = [const { Vec::new() }; N];
    for _ in 0..plan.samples {
        for ((work, calls), samples) in works.iter().zip(calls).zip(&mut samples) {
            samples.push(time(*work, calls) / calls);
        }
    }
    samples.iter_mut().for_each(|samples| samples.sort_unstable());
    samples
}

/// How many calls take as long as a sample should; the first ones warm up.
fn calls_a_sample(work: Work<'_>, sample: Duration) -> u32 {
    let mut calls = 1;
    while time(work, calls) < sample {
        calls *= 2;
    }
    calls
}

fn time(work: Work<'_>, calls: u32) -> Duration {
    let began = spent();
    for _ in 0..calls {
        black_box(work());
    }
    spent() - began
}

/// What this thread has spent of the processor's time.
fn spent() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
