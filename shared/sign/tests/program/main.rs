//! The program, as a person uses it: every command in a folder of its own, and in no output anything of a secret key.

mod desk;
mod files;
mod keys;
mod readme;
mod releases;
mod roots;
