//! Companions and their link: pairing, brokers, terminals, screens, outdated firmware, new firmware.

mod companion_run;
mod companions;
mod display;
mod link;
mod mosquitto;
mod outdated;
mod pairing;
mod updates;
