//! Time, timers, and the watchdog of a trial, from the machine timer of the board's core-local interruptor (10 MHz).

use core::{
    cell::{Cell, RefCell},
    task::Waker,
};

use critical_section::Mutex;
use embassy_time_driver::time_driver_impl;
use embassy_time_queue_utils::Queue;
use gatepost_virtio::machine;
use riscv::register::{mie, time};

const COMPARE: *mut u32 = 0x0200_4000 as *mut u32;
const TICKS_PER_S: u64 = 10_000_000;
const NEVER: u64 = u64::MAX;

/// Lets the timer interrupt.
pub fn start() {
    set_alarm(NEVER);
    // SAFETY: the handler is below, and all it uses was there before main.
    unsafe {
        mie::set_mtimer();
        riscv::interrupt::enable();
    }
}

/// Has the board reset after so many seconds, unless [`unwatch`] is called before.
pub fn watch(seconds: u16) {
    set_deadline(time::read64().saturating_add(u64::from(seconds) * TICKS_PER_S));
}

/// Ends [`watch`].
pub fn unwatch() {
    set_deadline(NEVER);
}

/// Whether the board is to be reset.
pub fn is_watched() -> bool {
    critical_section::with(|token| CLOCK.deadline.borrow(token).get()) != NEVER
}

fn set_deadline(at: u64) {
    critical_section::with(|token| CLOCK.deadline.borrow(token).set(at));
    // The timers' own alarm is set again by this one.
    set_alarm(0);
}

fn set_alarm(at: u64) {
    let at = at.min(critical_section::with(|token| CLOCK.deadline.borrow(token).get()));
    // SAFETY: two aligned registers of hart 0. The lower is never less than meant while the upper is set.
    unsafe {
        COMPARE.add(1).write_volatile(u32::MAX);
        COMPARE.write_volatile(at as u32);
        COMPARE.add(1).write_volatile((at >> 32) as u32);
    }
}

struct Clock {
    waiting: Mutex<RefCell<Queue>>,
    /// When the board is reset.
    deadline: Mutex<Cell<u64>>,
}

time_driver_impl!(static CLOCK: Clock = Clock {
    waiting: Mutex::new(RefCell::new(Queue::new())),
    deadline: Mutex::new(Cell::new(NEVER)),
});

impl embassy_time_driver::Driver for Clock {
    fn now(&self) -> u64 {
        time::read64()
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|token| {
            let mut waiting = self.waiting.borrow(token).borrow_mut();
            if waiting.schedule_wake(at, waker) {
                set_alarm(waiting.next_expiration(time::read64()));
            }
        });
    }
}

#[riscv_rt::core_interrupt(riscv::interrupt::Interrupt::MachineTimer)]
fn alarm() {
    critical_section::with(|token| {
        let now = time::read64();
        if now >= CLOCK.deadline.borrow(token).get() {
            crate::log!("watchdog: reset");
            machine::reset();
        }
        let mut waiting = CLOCK.waiting.borrow(token).borrow_mut();
        set_alarm(waiting.next_expiration(now));
    });
}
