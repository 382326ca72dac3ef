//! Rows of both programs, and the account at doubles of them.

mod doors;
mod mac;
mod polling;
mod program;
mod rows;
