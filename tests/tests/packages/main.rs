//! The hub as a package: what Debian says of it, and what it does on a Debian; how it is updated there, and on an image; the release
//! that packages are of.

mod apt;
mod deb;
mod house;
mod image_update;
mod made;
mod package_update;
mod release;
mod service;
mod signer;
