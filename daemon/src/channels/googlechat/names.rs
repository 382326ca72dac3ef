//! Which space a name stands for, among those that the app is in.

use reqwest::Method;

use super::{client::Client, space};
use crate::channels::{
    Failure, RateHints,
    identity::{Identity, Unidentified},
    kit::names::{Found, Name, is_name as is_any, the_one},
};

/// Spaces of an answer, and answers at most. A space has less than 1 KB, and an answer fits 256 KB.
const AT_ONCE: &str = "100";
const MOST_PAGES: usize = 10;
/// "Supports up to 128 characters" (`displayName` of
/// <https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces#Space>).
const LONGEST: usize = 128;

/// Whether an address is a space's name, `#Kitchen`.
pub(super) fn is_name(address: &str) -> bool {
    address.starts_with('#') && is_any(address, LONGEST, "-_.' ")
}

impl Client {
    /// The space behind `#Kitchen` (<https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces/list>). A direct
    /// conversation has no name.
    pub(super) async fn named(&self, address: &str) -> Result<Identity, Unidentified> {
        let (mut found, mut page, name) = (Vec::new(), String::new(), Name::new(&address[1..]));
        for _ in 0..MOST_PAGES {
            let mut query = vec![("pageSize", AT_ONCE.to_owned())];
            if !page.is_empty() {
                query.push(("pageToken", page));
            }
            let hints = &mut RateHints::default();
            let said =
                self.ask(Method::GET, "spaces", &query, None, hints).await.map_err(Failure::harmless)?;
            let spaces = said["spaces"].as_array().into_iter().flatten();
            let called = spaces.filter(|space| name.is_in(&space["displayName"]));
            found.extend(called.filter_map(|space| space["name"].as_str().map(Found::new)));
            page = said["nextPageToken"].as_str().unwrap_or_default().to_owned();
            if page.is_empty() {
                return the_one(found, address, "space of the app", |id| space(id).as_deref() == Ok(id));
            }
        }
        Err(Unidentified::not_known("the app is in too many spaces to look through: write the id"))
    }
}
