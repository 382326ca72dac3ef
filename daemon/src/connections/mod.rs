//! Bounds on what comes in from outside, whoever it is: connections, descriptors, log lines.
//!
//! Both servers of the hub use them, the HTTP interface and the embedded MQTT broker. Nothing that somebody who is not known
//! yet does may cost memory or descriptors without a bound, or keep those out who are known.
//!
//! - [`pending`]: connections of which nobody knows yet whose they are;
//! - [`descriptors`]: how many of them the process may have at once;
//! - [`load`]: how many there are, and what was turned away: counted, and logged once a minute.

pub mod descriptors;
pub mod load;
pub mod pending;
