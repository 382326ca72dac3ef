//! Debounces two switches and reports their edges.
//!
//! A level counts once it has been stable for [`SETTLE_MS`], for presses and for releases: a contact that opens for a
//! moment does not end a hold, and one that bounces makes one press. Pins are active low: switches to ground with a
//! pull-up. A pin that cannot be read counts as not pressed, because that approves nothing.

use embassy_futures::select::select3;
use embedded_hal::digital::InputPin;
use embedded_hal_async::{delay::DelayNs, digital::Wait};

use super::buttons::{Button, Edge};
use crate::Millis;

/// How long a level must be stable: cheap push buttons bounce for up to 10 ms.
pub const SETTLE_MS: u64 = 20;
/// The longest sleep: a missed interrupt of a pin costs at most this delay.
const MAX_SLEEP_MS: u64 = 100;

/// One switch.
#[derive(Debug, Clone, Copy, Default)]
struct Switch {
    /// The debounced state.
    down: bool,
    /// The pin's last level, and since when it has had it.
    level: bool,
    since: Millis,
}

impl Switch {
    fn sample(&mut self, now: Millis, level: bool) -> Option<Edge> {
        if level != self.level {
            (self.level, self.since) = (level, now);
        }
        if self.level == self.down || now.since(self.since) < SETTLE_MS {
            return None;
        }
        self.down = self.level;
        Some(if self.down { Edge::Pressed } else { Edge::Released })
    }

    /// When the level will count, if it stays.
    fn settles_at(&self) -> Option<Millis> {
        (self.level != self.down).then(|| self.since.after(SETTLE_MS))
    }
}

/// The two switches of a board.
pub struct Switches<A, D, T> {
    pins: (A, D),
    delay: T,
    approve: Switch,
    deny: Switch,
}

impl<A: InputPin + Wait, D: InputPin + Wait, T: DelayNs> Switches<A, D, T> {
    /// Switches between these pins and ground. Both count as released until their pins are read.
    pub fn new(approve: A, deny: D, delay: T) -> Self {
        Self { pins: (approve, deny), delay, approve: Switch::default(), deny: Switch::default() }
    }

    /// Waits for the next edge, or until `until`: `None`. Safe to cancel: no edge is lost.
    pub async fn next_edge(&mut self, now: impl Fn() -> Millis, until: Millis) -> Option<(Button, Edge)> {
        loop {
            let time = now();
            if let Some(edge) = self.approve.sample(time, self.pins.0.is_low().unwrap_or(false)) {
                return Some((Button::Approve, edge));
            }
            if let Some(edge) = self.deny.sample(time, self.pins.1.is_low().unwrap_or(false)) {
                return Some((Button::Deny, edge));
            }
            if time >= until {
                return None;
            }
            let next = [self.approve.settles_at(), self.deny.settles_at()]
                .into_iter()
                .flatten()
                .fold(until, Millis::min);
            let sleep = next.since(time).clamp(1, MAX_SLEEP_MS);
            let sleep = self.delay.delay_ms(u32::try_from(sleep).expect("at most MAX_SLEEP_MS"));
            // Whichever comes first: the loop reads both pins again.
            select3(self.pins.0.wait_for_any_edge(), self.pins.1.wait_for_any_edge(), sleep).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use core::{cell::Cell, convert::Infallible, future::pending};
    use std::{rc::Rc, vec::Vec};

    use embassy_futures::block_on;
    use embedded_hal::digital::ErrorType;

    use super::*;

    /// Two levels that change over time, and a clock that advances during sleeps.
    #[derive(Clone)]
    struct Bench(Rc<(Cell<u64>, [Vec<u64>; 2])>);

    impl Bench {
        /// Each switch changes its level at these moments.
        fn new(approve: &[u64], deny: &[u64]) -> Self {
            Self(Rc::new((Cell::new(0), [approve.to_vec(), deny.to_vec()])))
        }

        fn now(&self) -> Millis {
            Millis(self.0.0.get())
        }

        fn edges(&self, until: u64) -> Vec<(u64, Button, Edge)> {
            let pin = |which| Pin { bench: self.clone(), which };
            let mut switches = Switches::new(pin(0), pin(1), self.clone());
            let mut edges = Vec::new();
            while let Some((button, edge)) = block_on(switches.next_edge(|| self.now(), Millis(until))) {
                edges.push((self.now().0, button, edge));
            }
            edges
        }
    }

    /// A sleep ends at the next change of a level, as the pin's interrupt ends it on a board.
    impl DelayNs for Bench {
        async fn delay_ns(&mut self, ns: u32) {
            let now = self.0.0.get();
            let changes = self.0.1.iter().flatten().copied().filter(|at| *at > now);
            self.0.0.set(changes.fold(now + u64::from(ns) / 1_000_000, u64::min));
        }
    }

    struct Pin {
        bench: Bench,
        which: usize,
    }

    impl ErrorType for Pin {
        type Error = Infallible;
    }

    impl InputPin for Pin {
        fn is_low(&mut self) -> Result<bool, Infallible> {
            let now = self.bench.now().0;
            Ok(self.bench.0.1[self.which].iter().filter(|at| **at <= now).count() % 2 == 1)
        }

        fn is_high(&mut self) -> Result<bool, Infallible> {
            self.is_low().map(|low| !low)
        }
    }

    /// Only the clock wakes the loop.
    impl Wait for Pin {
        async fn wait_for_high(&mut self) -> Result<(), Infallible> {
            pending().await
        }
        async fn wait_for_low(&mut self) -> Result<(), Infallible> {
            pending().await
        }
        async fn wait_for_rising_edge(&mut self) -> Result<(), Infallible> {
            pending().await
        }
        async fn wait_for_falling_edge(&mut self) -> Result<(), Infallible> {
            pending().await
        }
        async fn wait_for_any_edge(&mut self) -> Result<(), Infallible> {
            pending().await
        }
    }

    #[test]
    fn a_press_that_bounces_is_one_press() {
        let edges = Bench::new(&[100, 102, 103, 107, 110, 600, 603, 605], &[]).edges(2_000);
        let kinds: Vec<_> = edges.iter().map(|(_, button, edge)| (*button, *edge)).collect();
        assert_eq!(kinds, [(Button::Approve, Edge::Pressed), (Button::Approve, Edge::Released)]);
        assert!(edges[0].0 >= 110 + SETTLE_MS && edges[1].0 >= 605 + SETTLE_MS, "{edges:?}");
    }

    #[test]
    fn a_contact_that_opens_for_a_moment_ends_no_hold_and_a_spike_presses_nothing() {
        let held = Bench::new(&[100, 500, 510, 900], &[]).edges(2_000);
        assert_eq!(held.len(), 2, "{held:?}");
        assert!(Bench::new(&[100, 115], &[300, 310]).edges(2_000).is_empty());
    }

    #[test]
    fn both_buttons_are_told_apart() {
        let edges = Bench::new(&[100, 700], &[300, 500]).edges(2_000);
        let kinds: Vec<_> = edges.iter().map(|(_, button, edge)| (*button, *edge)).collect();
        let (approve, deny) = (Button::Approve, Button::Deny);
        let expected = [
            (approve, Edge::Pressed),
            (deny, Edge::Pressed),
            (deny, Edge::Released),
            (approve, Edge::Released),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_button_that_is_down_at_the_start_is_reported_as_pressed() {
        assert_eq!(Bench::new(&[0], &[]).edges(500)[0].2, Edge::Pressed);
    }
}
