//! Long work over a text, which must not keep a runtime thread.
//!
//! The hub has two runtime threads, and everything that it answers comes from them: four texts of 100 KB that were rendered there at once
//! kept `/healthz` waiting for as long. So whatever takes time in proportion to a text that a caller wrote goes through [`run`]: a
//! short text at once, since to hand it over would cost more than it takes, and a long one while another thread does the
//! runtime's work, [`MAX_AT_ONCE`] at a time. In debug builds [`expect_off_runtime`] ends a task that works on a long text
//! elsewhere, so that every test of the whole system watches it.

use std::cell::Cell;

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
};

/// Texts up to this length are worked on at once: parsing and rendering 16 KiB takes less than a millisecond in a release build.
pub const MAX_INLINE_BYTES: usize = 16 * 1024;

/// Long texts that are worked on at once; others wait for their turn. More would only share the same processors.
pub const MAX_AT_ONCE: usize = 2;

static PERMITS: Semaphore = Semaphore::const_new(MAX_AT_ONCE);

thread_local! {
    /// Whether this thread has left the runtime's work to another.
    static IS_OFF: Cell<bool> = const { Cell::new(false) };
}

/// Does work on texts of so many bytes in all. It is no way out of a transaction: a long one waits for its turn first.
pub async fn run<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= MAX_INLINE_BYTES || !has_workers() {
        return work();
    }
    let _permit = PERMITS.acquire().await.expect("nobody closes the semaphore");
    tokio::task::block_in_place(|| {
        let _off = Off::new();
        work()
    })
}

/// Panics in a debug build if a text of this length is worked on by a runtime thread.
pub fn expect_off_runtime(bytes: usize) {
    debug_assert!(
        bytes <= MAX_INLINE_BYTES || !has_workers() || IS_OFF.get(),
        "{bytes} bytes of text are worked on by a runtime thread: use blocking::run"
    );
}

/// Whether this thread is of a runtime with threads that could take its place. A test's own runtime may have none.
fn has_workers() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// While it lives, this thread may take its time.
struct Off;

impl Off {
    fn new() -> Self {
        IS_OFF.set(true);
        Self
    }
}

impl Drop for Off {
    fn drop(&mut self) {
        IS_OFF.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::sync::mpsc;

    use super::*;

    const LONG: usize = MAX_INLINE_BYTES + 1;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_runtime_answers_while_long_work_goes_on_which_is_bounded() {
        // Long work that goes on until it is let go.
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (begun, mut begins) = mpsc::unbounded_channel();
        let work = |n: usize| {
            let (gate, at_once, most, begun) =
                (Arc::clone(&gate), Arc::clone(&at_once), Arc::clone(&most), begun.clone());
            tokio::spawn(run(LONG, move || {
                expect_off_runtime(LONG);
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                begun.send(()).unwrap();
                let open = gate.0.lock().unwrap();
                drop(gate.1.wait_while(open, |open| !*open).unwrap());
                at_once.fetch_sub(1, Ordering::SeqCst);
                n
            }))
        };
        let all: Vec<_> = (0..4 * MAX_AT_ONCE).map(work).collect();
        for _ in 0..MAX_AT_ONCE {
            begins.recv().await.unwrap();
        }
        // As many as there are runtime threads do nothing but wait, and short work is answered nevertheless.
        for n in 0..100 {
            assert_eq!(tokio::spawn(run(MAX_INLINE_BYTES, move || n)).await.unwrap(), n);
        }
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        for (n, one) in all.into_iter().enumerate() {
            assert_eq!(one.await.unwrap(), n);
        }
        assert_eq!(most.load(Ordering::SeqCst), MAX_AT_ONCE);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn long_work_on_a_runtime_thread_is_a_fault() {
        assert!(tokio::spawn(async { expect_off_runtime(MAX_INLINE_BYTES) }).await.is_ok());
        assert!(tokio::spawn(async { expect_off_runtime(LONG) }).await.unwrap_err().is_panic());
        // Whoever panics in long work leaves no thread that passes for one that may.
        assert!(tokio::spawn(run(LONG, || panic!("wrong"))).await.unwrap_err().is_panic());
        assert!(tokio::spawn(async { expect_off_runtime(LONG) }).await.unwrap_err().is_panic());
    }
}
