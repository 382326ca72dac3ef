//! Which channel an address means, and what Discord knows of it.
//!
//! These are questions, asked before anything leaves: one whose answer was lost is asked again and never makes a message's
//! fate unknown. Opening a conversation with a person is one too: it shows nobody anything, and the second time it answers
//! with the same channel (<https://docs.discord.com/developers/resources/user#create-dm>).
//!
//! Every conversation has one identity, for the allowlist's sake: a thread is reached by its channel and its own id, a person
//! by `@` and theirs. A conversation's own id is brought to its person's before it is judged; what was not is not sent.

use reqwest::Method;
use serde_json::json;

use super::{
    client::Client,
    places::{Place, kind, lock, remember},
    request::StoredRequest,
    target::id,
};
use crate::channels::{
    Failure, RateHints,
    identity::{Identity, Unidentified},
};

impl Client {
    /// The channel that a request goes to. A thread counts only in the channel that it belongs to.
    pub(super) async fn channel(
        &self,
        request: &StoredRequest,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        self.channel_of(&request.to, request.thread.as_deref(), hints).await
    }

    /// The channel of an address, or of a thread in it.
    pub(super) async fn channel_of(
        &self,
        to: &str,
        thread: Option<&str>,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let channel = self.conversation(to, hints).await?;
        let Some(thread) = thread else { return Ok(channel) };
        let thread = id("thread", thread)?;
        match self.place(&thread, hints).await?.parent {
            Some(parent) if parent == channel => Ok(thread),
            _ => Err(Failure::Permanent(format!(
                "{thread} is no thread of the channel {channel}; nothing was sent"
            ))),
        }
    }

    /// The channel of an address, without its threads.
    pub(super) async fn conversation(&self, to: &str, hints: &mut RateHints) -> Result<String, Failure> {
        let Some(person) = to.strip_prefix('@') else {
            return self.of_a_server(id("channel", to)?, hints).await;
        };
        let person = id("person", person)?;
        if let Some(channel) = lock(&self.places.people).get(&person) {
            return Ok(channel.clone());
        }
        let open = self.request(Method::POST, &["users", "@me", "channels"]);
        let answer = self.asked(open.json(&json!({"recipient_id": person})), hints).await?;
        let Some(channel) = answer["id"].as_str() else {
            return Err(Failure::Retry("Discord does not say which channel leads to that person".into()));
        };
        remember(&self.places.people, person, channel.to_owned());
        Ok(channel.to_owned())
    }

    /// A channel, unless it has another address.
    async fn of_a_server(&self, channel: String, hints: &mut RateHints) -> Result<String, Failure> {
        let why = match self.place(&channel, hints).await? {
            Place { parent: Some(parent), .. } => {
                format!("{channel} is a thread: send to discord:{parent} with threadId {channel}")
            }
            Place { kind: kind::DM, .. } => {
                format!("{channel} is a conversation with a person: send to discord:@ and the person's id")
            }
            _ => return Ok(channel),
        };
        Err(Failure::Permanent(format!("{why}; nothing was sent")))
    }

    /// Whose number this is: a channel's own, or a person's with whom it is the conversation.
    pub(super) async fn identify(&self, channel: &str) -> Result<Identity, Unidentified> {
        let hints = &mut RateHints::default();
        match self.place(channel, hints).await.map_err(Failure::harmless)? {
            Place { parent: Some(parent), .. } => Err(Unidentified::not_known(format!(
                "{channel} is a thread: send to discord:{parent} with threadId {channel}"
            ))),
            Place { kind: kind::DM, person: Some(person), .. } => Ok(Identity::new(format!("@{person}"))),
            Place { kind: kind::DM, person: None, .. } => {
                Err(Unidentified::not_known("Discord does not say with whom that conversation is"))
            }
            _ => Ok(Identity::new(channel)),
        }
    }

    /// What Discord knows of a channel.
    ///
    /// <https://docs.discord.com/developers/resources/channel#get-channel>
    pub(super) async fn place(&self, channel: &str, hints: &mut RateHints) -> Result<Place, Failure> {
        if let Some(place) = lock(&self.places.channels).get(channel) {
            return Ok(place.clone());
        }
        let answer = self.asked(self.request(Method::GET, &["channels", channel]), hints).await?;
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        let Some(kind) = answer["type"].as_u64() else {
            return Err(Failure::Retry("Discord does not say what that channel is".into()));
        };
        // A channel's parent is a category, a thread's is the channel that it is in.
        let is_thread = answer["thread_metadata"].is_object();
        let person = answer["recipients"][0]["id"].as_str().filter(|_| kind == kind::DM).map(str::to_owned);
        let parent = text("parent_id").filter(|_| is_thread);
        let place = Place { kind, guild: text("guild_id"), parent, person, name: text("name") };
        remember(&self.places.channels, channel.to_owned(), place.clone());
        Ok(place)
    }

    /// The role that a server made for the bot alone when it came, and that is called by its name; none if it came without any
    /// permission.
    ///
    /// <https://docs.discord.com/developers/resources/guild#get-guild-roles>, `tags.bot_id` of
    /// <https://docs.discord.com/developers/topics/permissions#role-object>.
    pub(super) async fn own_role(&self, guild: &str, bot: &str) -> Result<Option<String>, Failure> {
        if let Some(role) = lock(&self.places.own_roles).get(guild) {
            return Ok(role.clone());
        }
        let answer = self.question(self.request(Method::GET, &["guilds", guild, "roles"])).await?;
        let roles = answer.as_array().into_iter().flatten();
        let own = roles.filter(|role| role["tags"]["bot_id"] == bot).find_map(|role| role["id"].as_str());
        let own = own.map(str::to_owned);
        remember(&self.places.own_roles, guild.to_owned(), own.clone());
        Ok(own)
    }

    /// The server whose members are meant.
    pub(super) async fn guild(&self, to: &str, hints: &mut RateHints) -> Result<String, Failure> {
        let channel = self.conversation(to, hints).await?;
        self.place(&channel, hints).await?.guild.ok_or_else(|| {
            Failure::Permanent(
                "a conversation with a person has no members: name a channel of the server".into(),
            )
        })
    }
}
