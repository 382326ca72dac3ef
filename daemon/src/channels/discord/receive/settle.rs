//! What Discord is asked until a draft says all: which conversation a channel is, whether a role is the bot's own, and the files.

use tokio::time::sleep;

use super::{
    draft::{Draft, unreadable},
    files,
};
use crate::channels::{
    Failure, RateHints,
    discord::{client::Client, gateway::Gateway, places::Place},
    hub_handle::HubHandle,
    received::{AuthorKind, Dropped, Event, Received},
};

/// So often Discord is asked what a channel is, a minute in all. What is not told then is left out: everything else waits for it.
const TRIES: u32 = 7;

/// Makes a draft what the hub is told.
///
/// # Errors
/// Nobody can say where it happened.
pub(super) async fn settle(
    client: &Client,
    gateway: &Gateway,
    hub: &dyn HubHandle,
    mut draft: Draft,
    bot: &str,
) -> Result<Received, Dropped> {
    let place = place(client, gateway, &draft.channel).await?;
    if !draft.roles.is_empty()
        && !draft.received.mentions_me
        && draft.received.author.kind != AuthorKind::Myself
    {
        draft.received.mentions_me = calls_own_role(client, &place, &draft.roles, bot).await;
    }
    let links = std::mem::take(&mut draft.links);
    let mut received = draft.placed(&place)?;
    // The account's own files are here already.
    if received.author.kind != AuthorKind::Myself
        && let Event::Message(words) = &mut received.event
    {
        files::fetch_all(client, hub, links, words).await;
    }
    Ok(received)
}

/// What a channel is.
async fn place(client: &Client, gateway: &Gateway, channel: &str) -> Result<Place, Dropped> {
    for failures in 0..TRIES {
        let pause = gateway.tempo.pause(failures);
        match client.place(channel, &mut RateHints::default()).await {
            Ok(place) => return Ok(place),
            Err(Failure::Permanent(_) | Failure::NotDelivered(_)) => break,
            Err(Failure::Wait { after, .. }) => {
                sleep(after.clamp(pause, gateway.tempo.longest.max(pause))).await
            }
            Err(Failure::Retry(_) | Failure::Unknown(_)) => sleep(pause).await,
        }
    }
    Err(unreadable("a channel that Discord tells nothing of"))
}

/// Whether one of these roles is the bot's own. Where it cannot be asked, none is: a mention by name is still one.
async fn calls_own_role(client: &Client, place: &Place, roles: &[String], bot: &str) -> bool {
    let Some(guild) = &place.guild else { return false };
    match client.own_role(guild, bot).await {
        Ok(own) => own.is_some_and(|own| roles.contains(&own)),
        Err(_) => false,
    }
}
