//! Every kind of notification and of record, and the account at doubles of both APIs.

mod cloud;
mod doors;
mod phone;
mod polling;
mod records;
