//! Mail that people write to the account.
mod author;
mod html;
mod mail;
mod trust;
mod words;
