//! Companions and their link: pairing, brokers, terminals, screens, the idle screen, outdated firmware, new firmware.

mod companion_run;
mod companions;
mod display;
mod idle;
mod link;
mod mosquitto;
mod mute;
mod outdated;
mod pairing;
mod updates;
