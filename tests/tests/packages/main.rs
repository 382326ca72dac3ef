//! The hub as a package: what Debian says of it, and what it does on a Debian. The release that packages are of.

mod apt;
mod deb;
mod made;
mod release;
