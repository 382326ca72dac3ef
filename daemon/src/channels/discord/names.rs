//! Which channel a name stands for, as the bot's servers have it now.
//!
//! Two servers, and two categories of one, may call a channel the same; so a name that means several is refused, with their ids.

use reqwest::Method;
use serde_json::Value;

use super::{
    client::Client,
    places::kind,
    target::{id, name},
};
use crate::channels::identity::{Identity, MOST_NAMED, Unidentified};

/// Servers that are looked through at most.
const MOST_SERVERS: usize = 10;

impl Client {
    /// The id behind `#general`
    /// (<https://docs.discord.com/developers/resources/user#get-current-user-guilds>,
    /// <https://docs.discord.com/developers/resources/guild#get-guild-channels>).
    ///
    /// # Errors
    /// There is none, or several; or Discord does not say.
    pub(super) async fn named(&self, address: &str) -> Result<Identity, Unidentified> {
        let servers = self.question(self.request(Method::GET, &["users", "@me", "guilds"])).await?;
        let servers = servers.as_array().map_or(&[][..], Vec::as_slice);
        if servers.len() > MOST_SERVERS {
            let why = format!("the bot is on more than {MOST_SERVERS} servers: write the channel's id");
            return Err(Unidentified::not_known(why));
        }
        let mut found = Vec::new();
        for server in servers {
            let (Some(guild), called) = (server["id"].as_str(), server["name"].as_str().unwrap_or("?"))
            else {
                continue;
            };
            let guild = id("server", guild)?;
            let channels = self.question(self.request(Method::GET, &["guilds", &guild, "channels"])).await?;
            let channels = channels.as_array().into_iter().flatten();
            let ids =
                channels.filter(|channel| is_called(channel, address)).filter_map(|one| one["id"].as_str());
            for channel in ids {
                found.push((id("channel", channel)?, called.to_owned()));
            }
        }
        match found.as_slice() {
            [(one, _)] => Ok(Identity::new(one)),
            [] => Err(Unidentified::not_known(format!("no server of the bot's has a channel {address}"))),
            several => {
                let named = several.iter().take(MOST_NAMED).map(|(id, server)| format!("{id} on {server}"));
                let named = self.http.words(&named.collect::<Vec<_>>().join(", "));
                Err(Unidentified::several(address, "channel", &named))
            }
        }
    }
}

/// Whether a channel that takes messages is called so.
fn is_called(channel: &Value, address: &str) -> bool {
    let takes = [kind::TEXT, kind::ANNOUNCEMENT].map(Some).contains(&channel["type"].as_u64());
    takes && channel["name"].as_str().and_then(|said| name(&format!("#{said}"))).as_deref() == Some(address)
}
