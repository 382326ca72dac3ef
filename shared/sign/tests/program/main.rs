//! The program, as a person uses it: every command in a folder of its own, and in no output anything of a secret key.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod desk;
mod files;
mod keys;
mod readme;
mod releases;
mod roots;
