//! The hub as a package: what Debian says of it, and what it does on a Debian.

mod deb;
