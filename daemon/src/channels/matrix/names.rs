//! Which room a name stands for: a room's own name, or that of the person with whom it is a direct room.
//!
//! Whoever may name a room, and everybody who names themselves, may take a name that another has; so one that means several
//! is refused, with their ids. Only rooms that the account is in are looked at, and of people only those with whom it has a
//! direct room, for it can write to no others.

use std::collections::BTreeSet;

use futures_util::{StreamExt as _, stream};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::{answer::refusal, client::Client, target::canonical};
use crate::channels::{
    RateHints,
    identity::{Identity, Unidentified},
    kit::{
        http::Silence,
        names::{self, Found, Name, the_one},
    },
};

/// Rooms that are looked through at most.
const MOST_ROOMS: usize = 100;
/// Questions at once: whoever asks waits for seconds.
const AT_ONCE: usize = 8;
/// The longest name that is looked up, in characters.
const LONGEST: usize = 80;

/// Whether an address is a name: `#Living Room` or `@Ann Lee`. Aliases and the ids of people have a server's name behind a
/// colon (<https://spec.matrix.org/v1.18/appendices/#common-identifier-format>).
pub(super) fn is_name(address: &str) -> bool {
    names::is_name(address, LONGEST, names::SIGNS)
}

fn is_id(id: &str) -> bool {
    canonical(id).is_ok() && !is_name(id)
}

impl Client {
    /// The room that a name stands for now.
    pub(super) async fn named(&self, address: &str) -> Result<Identity, Unidentified> {
        match address.strip_prefix('@') {
            Some(name) => self.direct_with(address, &Name::new(name)).await,
            None => self.called(address, &Name::new(&address[1..])).await,
        }
    }

    /// The joined room of this name (<https://spec.matrix.org/v1.18/client-server-api/#mroomname>).
    async fn called(&self, address: &str, name: &Name) -> Result<Identity, Unidentified> {
        let joined = self.tells(&["joined_rooms"]).await?;
        let rooms = few(strings(&joined["joined_rooms"]).collect(), address)?;
        let asked = rooms.into_iter().map(|room| self.if_called(room, name)).collect();
        the_one(found(all(asked).await?), address, "room of the account", is_id)
    }

    /// The room, if its name is this one.
    async fn if_called(&self, room: &str, name: &Name) -> Result<Option<String>, Unidentified> {
        let (path, hints) = (["rooms", room, "state", "m.room.name"], &mut RateHints::default());
        let answer = self.ask(Method::GET, &path, None, hints).await.map_err(Silence::harmless)?;
        let unnamed = answer.status == StatusCode::NOT_FOUND && refusal(&answer).errcode == "M_NOT_FOUND";
        if !answer.status.is_success() && !unnamed {
            return Err(self.classify(&answer, hints).harmless().into());
        }
        Ok(name.is_in(&answer.body["name"]).then(|| room.to_owned()))
    }

    /// The direct room with the person who is called so in it
    /// (<https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3roomsroomidstateeventtypestatekey>, `#mroommember`).
    async fn direct_with(&self, address: &str, name: &Name) -> Result<Identity, Unidentified> {
        let (direct, joined) = self.direct_rooms().await?;
        let joined: BTreeSet<&str> = strings(&joined).collect();
        let pairs = direct.as_object().into_iter().flatten().flat_map(|(person, rooms)| {
            strings(rooms).filter(|room| joined.contains(room)).map(move |room| (person.as_str(), room))
        });
        let pairs = few(pairs.collect(), address)?;
        let asked =
            pairs.into_iter().map(|(person, room)| self.if_names_itself(person, room, name)).collect();
        let person = the_one(
            found(all(asked).await?),
            address,
            "person with whom the account has a direct room",
            is_id,
        )?;
        // One of theirs, or the refusal that there are several.
        self.direct_room(person.as_str()).await
    }

    /// The person, if they call themselves so in this room.
    async fn if_names_itself(
        &self,
        person: &str,
        room: &str,
        name: &Name,
    ) -> Result<Option<String>, Unidentified> {
        let member = self.tells(&["rooms", room, "state", "m.room.member", person]).await?;
        Ok(name.is_in(&member["displayname"]).then(|| person.to_owned()))
    }
}

fn found(ids: Vec<String>) -> Vec<Found> {
    ids.into_iter().map(Found::new).collect()
}

/// The answers to all of these questions, some at once; the first that fails ends them.
async fn all<Q>(questions: Vec<Q>) -> Result<Vec<String>, Unidentified>
where
    Q: Future<Output = Result<Option<String>, Unidentified>>,
{
    let mut answers = stream::iter(questions).buffered(AT_ONCE);
    let mut found = Vec::new();
    while let Some(answer) = answers.next().await {
        found.extend(answer?);
    }
    Ok(found)
}

fn few<T>(rooms: Vec<T>, address: &str) -> Result<Vec<T>, Unidentified> {
    match rooms.len() <= MOST_ROOMS {
        true => Ok(rooms),
        false => {
            let why =
                format!("the account is in more than {MOST_ROOMS} rooms: write the id instead of {address}");
            Err(Unidentified::not_known(why))
        }
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use crate::channels::{Adapter as _, matrix::scenarios::matrix};

    /// A homeserver that answers by what is asked for, for several questions come at once; `None` is away.
    fn homeserver(answers: &'static [(&'static str, &'static str)]) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // It ends with the process: the tests before it are done by then.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut asked = Vec::new();
                let mut bytes = [0; 4096];
                while !asked.ends_with(b"\r\n\r\n") {
                    match stream.read(&mut bytes) {
                        Ok(0) | Err(_) => break,
                        Ok(n) => asked.extend(&bytes[..n]),
                    }
                }
                let asked = String::from_utf8_lossy(&asked).into_owned();
                let path = asked.split(' ').nth(1).unwrap_or_default();
                let answer = answers.iter().find(|(end, _)| path.ends_with(end)).map(|(_, answer)| *answer);
                let (status, body) = match answer {
                    Some(body) => ("200 OK", body),
                    None => ("404 Not Found", r#"{"errcode":"M_NOT_FOUND","error":"no"}"#),
                };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        });
        port
    }

    async fn find(answers: &'static [(&'static str, &'static str)], address: &str) -> Result<String, String> {
        let matrix = matrix(homeserver(answers));
        let found = matrix.identify(&matrix.resolve(address).unwrap()).await;
        found.map(String::from).map_err(|unidentified| unidentified.why)
    }

    const ME: (&str, &str) = ("/account/whoami", r#"{"user_id":"@hub:hub.test","device_id":"D"}"#);

    #[tokio::test]
    async fn a_rooms_name_is_the_one_joined_room_that_has_it() {
        const ROOMS: &[(&str, &str)] = &[
            (
                "/joined_rooms",
                r#"{"joined_rooms":["!a:hub.test","!b:hub.test","!c:hub.test","!d:hub.test"]}"#,
            ),
            ("/rooms/!a:hub.test/state/m.room.name", r#"{"name":"Living Room"}"#),
            ("/rooms/!b:hub.test/state/m.room.name", r#"{"name":"Kitchen"}"#),
            ("/rooms/!d:hub.test/state/m.room.name", r#"{"name":" kitchen"}"#),
        ];
        assert_eq!(find(ROOMS, "#living room").await, Ok("!a:hub.test".into()));
        let why = "#kitchen is the name of more than one room of the account (!b:hub.test, !d:hub.test): write the id";
        assert_eq!(find(ROOMS, "#Kitchen").await, Err(why.into()));
        let why = "there is no room of the account that is called #cellar";
        assert_eq!(find(ROOMS, "#Cellar").await, Err(why.into()));
        assert!(find(&[], "#Cellar").await.is_err(), "a homeserver that does not say");
    }

    #[tokio::test]
    async fn a_persons_name_is_the_direct_room_with_the_one_who_has_it() {
        const PEOPLE: &[(&str, &str)] = &[
            ME,
            (
                "/account_data/m.direct",
                r#"{"@ann:hub.test":["!a:hub.test","!left:hub.test"],"@bob:hub.test":["!b:hub.test"],
                    "@eve:hub.test":["!e:hub.test","!f:hub.test"],"@mallory:hub.test":["!m:hub.test"]}"#,
            ),
            (
                "/joined_rooms",
                r#"{"joined_rooms":["!a:hub.test","!b:hub.test","!e:hub.test","!f:hub.test","!m:hub.test"]}"#,
            ),
            ("/rooms/!a:hub.test/state/m.room.member/@ann:hub.test", r#"{"displayname":"Ann Lee"}"#),
            ("/rooms/!b:hub.test/state/m.room.member/@bob:hub.test", r#"{"displayname":"Bob"}"#),
            ("/rooms/!e:hub.test/state/m.room.member/@eve:hub.test", r#"{"displayname":"Eve"}"#),
            ("/rooms/!f:hub.test/state/m.room.member/@eve:hub.test", r#"{"displayname":"Eve"}"#),
            ("/rooms/!m:hub.test/state/m.room.member/@mallory:hub.test", r#"{"displayname":"Bob"}"#),
        ];
        assert_eq!(find(PEOPLE, "@Ann Lee").await, Ok("!a:hub.test".into()));
        let why = "@bob is the name of more than one person with whom the account has a direct room \
                   (@bob:hub.test, @mallory:hub.test): write the id";
        assert_eq!(find(PEOPLE, "@Bob").await, Err(why.into()));
        assert!(find(PEOPLE, "@Eve").await.unwrap_err().contains("several direct rooms with @eve:hub.test"));
        assert!(find(PEOPLE, "@Ann").await.unwrap_err().contains("that is called @ann"));
    }
}
