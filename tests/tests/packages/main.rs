//! The hub as a package: what Debian says of it, and what it does on a Debian.

mod apt;
mod deb;
mod made;
