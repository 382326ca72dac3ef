//! Time and timers, from the machine timer of the board's core-local interruptor (10 MHz).

use core::{cell::RefCell, task::Waker};

use critical_section::Mutex;
use embassy_time_driver::time_driver_impl;
use embassy_time_queue_utils::Queue;
use riscv::register::{mie, time};

const COMPARE: *mut u32 = 0x0200_4000 as *mut u32;
/// Lets the timer interrupt.
pub fn start() {
    set_alarm(u64::MAX);
    // SAFETY: the handler is below, and all it uses was there before main.
    unsafe {
        mie::set_mtimer();
        riscv::interrupt::enable();
    }
}

fn set_alarm(at: u64) {
    // SAFETY: two aligned registers of hart 0. The lower is never less than meant while the upper is set.
    unsafe {
        COMPARE.add(1).write_volatile(u32::MAX);
        COMPARE.write_volatile(at as u32);
        COMPARE.add(1).write_volatile((at >> 32) as u32);
    }
}

struct Clock {
    waiting: Mutex<RefCell<Queue>>,
}

time_driver_impl!(static CLOCK: Clock = Clock { waiting: Mutex::new(RefCell::new(Queue::new())) });

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
        let mut waiting = CLOCK.waiting.borrow(token).borrow_mut();
        set_alarm(waiting.next_expiration(time::read64()));
    });
}
