//! Keys and signatures as minisign has them: <https://jedisct1.github.io/minisign/#signature-format>.
//!
//! The format is written here and not taken from the crate `minisign`, which has an Ed25519 of its own: releases, roots and files
//! are signed by the one that devices verify with. That crate and Debian's program read what is written here, in the tests.
//!
//! A file is signed by its BLAKE2b hash (minisign's `ED`), never as it is (`Ed`): the bytes of a file could be those of a
//! manifest, and a person who signs a file would sign a release.

mod lines;
mod public;
mod scrypt;
mod secret;
mod signature;

pub use self::{
    public::{KeyId, NoPublicKey, Public},
    scrypt::Cost,
    secret::{KeyError, MAX_PASSWORD, Secret, SecretFile},
    signature::{FileSignature, SignatureError},
};
