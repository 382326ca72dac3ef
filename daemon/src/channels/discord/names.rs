//! Which channel or person a name stands for, as the bot's servers have it now.
//!
//! Two servers, and two categories of one, may call a channel the same. A user name is one person's alone. What else people are
//! called they choose themselves, a server's guests among them, and the search does not even find everybody by it: so nobody is
//! written to by that, but whoever looks like another may be meant as well. A name that means several is refused, with their ids.

use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::{
    client::Client,
    places::kind,
    target::{id, name},
};
use crate::channels::{
    identity::{Identity, MOST_NAMED, Unidentified},
    kit::names::Name,
};

/// Servers that are looked through at most.
const MOST_SERVERS: usize = 10;
/// People of one server whose names begin alike, at most: a thousand could be asked for, but an answer has 256 KB.
const MOST_ALIKE: usize = 100;

impl Client {
    /// The id behind `#general`, or `@` and the id behind `@ann`
    /// (<https://docs.discord.com/developers/resources/user#get-current-user-guilds>).
    ///
    /// # Errors
    /// There is none, or several; or Discord does not say.
    pub(super) async fn named(&self, address: &str) -> Result<Identity, Unidentified> {
        let person = address.strip_prefix('@');
        let looked_for = Name::new(person.unwrap_or_default());
        let (kind, sign) = if person.is_some() { ("person", "@") } else { ("channel", "") };
        let servers = self.question(self.request(Method::GET, &["users", "@me", "guilds"])).await?;
        let servers = servers.as_array().map_or(&[][..], Vec::as_slice);
        if servers.len() > MOST_SERVERS {
            let why = format!("the bot is on more than {MOST_SERVERS} servers: write the {kind}'s id");
            return Err(Unidentified::not_known(why));
        }
        // Whose they are, the server on which they were seen first, and why they are not written to by this name.
        let mut found: Vec<(String, String, Option<&'static str>)> = Vec::new();
        for server in servers {
            let (Some(guild), called) = (server["id"].as_str(), server["name"].as_str().unwrap_or("?"))
            else {
                continue;
            };
            let guild = id("server", guild)?;
            let list = self.question(self.list(&guild, person.map(beginning))).await?;
            let list = list.as_array().map_or(&[][..], Vec::as_slice);
            if person.is_some() && list.len() >= MOST_ALIKE {
                let why = format!("too many names begin like {address}: write the person's id");
                return Err(Unidentified::not_known(why));
            }
            let ids = list.iter().filter_map(|one| match person {
                Some(person) => Some((one["user"]["id"].as_str()?, is_person(one, person, &looked_for)?)),
                None => is_channel(one, address).then(|| Some((one["id"].as_str()?, None)))?,
            });
            for (one, barred) in ids {
                let one = format!("{sign}{}", id(kind, one)?);
                if !found.iter().any(|(seen, ..)| *seen == one) {
                    found.push((one, called.to_owned(), barred));
                }
            }
        }
        match found.as_slice() {
            [(one, _, None)] => Ok(Identity::new(one)),
            [(one, server, Some(why))] => {
                let who = self.http.words(&format!("{one} on {server}"));
                Err(Unidentified::not_known(format!("{address} ({who}) {why}: write the id")))
            }
            [] => Err(Unidentified::not_known(format!("no server of the bot's has a {kind} {address}"))),
            several => {
                let named =
                    several.iter().take(MOST_NAMED).map(|(id, server, _)| format!("{id} on {server}"));
                let named = self.http.words(&named.collect::<Vec<_>>().join(", "));
                Err(Unidentified::several(address, kind, &named))
            }
        }
    }

    /// A server's channels, or the people whose user name or nickname begins so
    /// (<https://docs.discord.com/developers/resources/guild#get-guild-channels>, `#search-guild-members`).
    fn list(&self, guild: &str, person: Option<&str>) -> RequestBuilder {
        match person {
            None => self.request(Method::GET, &["guilds", guild, "channels"]),
            Some(query) => self.query(
                &["guilds", guild, "members", "search"],
                &[("query", query), ("limit", &MOST_ALIKE.to_string())],
            ),
        }
    }
}

/// With what the search begins: whoever spells the rest in another way that looks alike is to be found as well.
fn beginning(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    if end == 0 { name } else { &name[..end] }
}

/// Whether a channel that takes messages is called so.
fn is_channel(channel: &Value, address: &str) -> bool {
    let takes = [kind::TEXT, kind::ANNOUNCEMENT].map(Some).contains(&channel["type"].as_u64());
    takes && channel["name"].as_str().and_then(|said| name(&format!("#{said}"))).as_deref() == Some(address)
}

/// Whether somebody is called so, by any of a member's names; and why they are not written to by it
/// (<https://docs.discord.com/developers/resources/user#user-object>, `nick` of `guild#guild-member-object`).
fn is_person(member: &Value, user_name: &str, name: &Name) -> Option<Option<&'static str>> {
    let user = &member["user"];
    let is_user_name = user["username"].as_str().is_some_and(|said| said.to_lowercase() == user_name);
    let chosen = [&user["username"], &user["global_name"], &member["nick"]];
    let barred = match (user["bot"] == true, is_user_name) {
        (true, _) => Some("is a program"),
        (false, false) => Some("has chosen that name, which is no user name"),
        (false, true) => None,
    };
    (is_user_name || chosen.into_iter().any(|one| name.is_in(one))).then_some(barred)
}
