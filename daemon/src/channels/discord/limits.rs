//! How large a file may be, which a server's boosts decide.
//!
//! A server is asked when a file goes there that an unboosted one would refuse, and what it says is kept for an hour: boosts
//! come and go. Until it was asked, such a file is taken; afterwards one that is too large is refused when it is handed in.
//!
//! "The default limit is 10 MiB … for all users, but may be higher … depending on … the server's Boost Tier"
//! (<https://docs.discord.com/developers/reference#uploading-files>,
//! <https://docs.discord.com/developers/resources/guild#guild-object-premium-tier>).

use std::time::{Duration, Instant};

use reqwest::Method;

use super::{
    client::Client,
    conversations::{lock, remember},
    request::StoredRequest,
};
use crate::{
    channels::{Failure, RateHints},
    files::kept::Checked,
    message::attachment::Attachment,
};

const MIB: u64 = 1024 * 1024;
/// Bytes of a file without a boost that matters, and in a conversation with a person.
pub(super) const USUAL: u64 = 10 * MIB;
/// In the second tier, and in the third (<https://support.discord.com/hc/en-us/articles/360028038352>).
const TIER_2: u64 = 50 * MIB;
/// The most that any server takes, in bytes.
pub(super) const LARGEST: u64 = 100 * MIB;

/// How long an answer counts.
const KEPT: Duration = Duration::from_hours(1);

impl Client {
    /// Why the files of a message to this address are too large there, as far as that is known.
    pub(super) fn too_large_for(&self, to: &str, files: &[Attachment]) -> Option<String> {
        let largest = match to.starts_with('@') {
            true => USUAL,
            false => self.known(&self.places.known_guild(to)?)?,
        };
        too_large(files.iter().map(|file| (file.name.as_str(), file.size)), largest)
    }

    /// Makes sure that the server of a message takes its files.
    pub(super) async fn takes(
        &self,
        request: &StoredRequest,
        files: &[Checked],
        hints: &mut RateHints,
    ) -> Result<(), Failure> {
        if files.iter().all(|file| file.size <= USUAL) {
            return Ok(());
        }
        let largest = match request.to.starts_with('@') {
            true => USUAL,
            false => self.largest(&self.guild(&request.to, hints).await?, hints).await?,
        };
        let named =
            request.files.iter().map(|file| file.name.as_str()).zip(files.iter().map(|file| file.size));
        too_large(named, largest).map_or(Ok(()), |why| Err(Failure::Permanent(why)))
    }

    fn known(&self, guild: &str) -> Option<u64> {
        let (largest, at) = *lock(&self.places.largest).get(guild)?;
        (at.elapsed() < KEPT).then_some(largest)
    }

    /// <https://docs.discord.com/developers/resources/guild#get-guild>.
    async fn largest(&self, guild: &str, hints: &mut RateHints) -> Result<u64, Failure> {
        if let Some(known) = self.known(guild) {
            return Ok(known);
        }
        let answer = self.asked(self.request(Method::GET, &["guilds", guild]), hints).await?;
        let largest = match answer["premium_tier"].as_u64() {
            Some(2) => TIER_2,
            Some(3..) => LARGEST,
            _ => USUAL,
        };
        remember(&self.places.largest, guild.to_owned(), (largest, Instant::now()));
        Ok(largest)
    }
}

fn too_large<'a>(mut files: impl Iterator<Item = (&'a str, u64)>, largest: u64) -> Option<String> {
    let (name, size) = files.find(|(_, size)| *size > largest)?;
    Some(format!(
        "Discord takes files of {} MiB at most there, and {name:?} has {}: send a link to it",
        largest / MIB,
        size.div_ceil(MIB)
    ))
}
