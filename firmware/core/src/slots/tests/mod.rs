//! Power cuts at every step of an update, and again while the device recovers.
//!
//! - [`device`]: a device with a loader of either kind, and its life from one firmware to the next;
//! - [`cuts`]: our order through all of it; [`naive`]: another order, in which the same tests find the faults;
//! - [`start`]: what a single start is, with the power on.

mod cuts;
mod device;
mod naive;
mod start;
