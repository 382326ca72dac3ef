//! Tests of what the account receives.

mod kinds;
mod listening;
mod malformed;
