//! A file that its reader has to accept: a bot hands one over by a card that offers it, in a conversation with one person
//! (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/bots-filesv4#send-files-to-personal-chat>).
//!
//! Who accepts makes room in their own OneDrive and has Teams say where; who declines has it say that. The card names the
//! part that it is, and nothing else of what comes back is believed about the file: what goes there is what was approved.

use reqwest::Url;
use serde_json::{Map, Value, json};

use crate::channels::PartKey;

const OFFER: &str = "application/vnd.microsoft.teams.card.file.consent";
const HANDED_OVER: &str = "application/vnd.microsoft.teams.card.file.info";
/// The member of the card's contexts that names the part.
const PART: &str = "part";

/// Where OneDrive has its files: of companies, and of Microsoft's clouds for governments and China
/// (<https://learn.microsoft.com/microsoft-365/enterprise/urls-and-ip-address-ranges#sharepoint-online-and-onedrive-for-business>).
const STORES: [&str; 4] = [".sharepoint.com", ".sharepoint.us", ".sharepoint-mil.us", ".sharepoint.cn"];

/// The activity that offers a file.
pub(super) fn offer(name: &str, size: u64, says: &str, key: &PartKey) -> Map<String, Value> {
    let context = json!({ PART: key.0 });
    let content = json!({
        "description": if says.is_empty() { name } else { says },
        "sizeInBytes": size,
        "acceptContext": context,
        "declineContext": context,
    });
    activity(json!({ "contentType": OFFER, "name": name, "content": content }))
}

/// What a person made of an offer.
#[derive(Debug)]
pub(super) struct Answer {
    /// The part that was offered.
    pub key: PartKey,
    /// Teams' id of the answer.
    pub id: String,
    /// Where it was given.
    pub conversation: String,
    /// The person's id.
    pub by: String,
    /// Their name, as Teams has it.
    pub who: String,
    /// Where the file goes; nothing where they declined.
    pub room: Option<Room>,
}

/// Room for one file in somebody's OneDrive. The address to write to is a secret: whoever has it may write there.
pub(super) struct Room {
    /// Where its bytes go.
    pub upload: Url,
    /// What its card says.
    shown: Value,
    name: String,
    url: String,
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "room for {:?} (***)", self.name)
    }
}

impl Answer {
    /// Reads an activity; none where it is no answer to an offer.
    pub(super) fn read(activity: &Value) -> Option<Self> {
        let value = &activity["value"];
        if activity["type"] != "invoke" || activity["name"] != "fileConsent/invoke" {
            return None;
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let room = match value["action"].as_str()? {
            "accept" => {
                let info = &value["uploadInfo"];
                Some(Room {
                    upload: Url::parse(info["uploadUrl"].as_str()?).ok()?,
                    shown: json!({ "uniqueId": info["uniqueId"], "fileType": info["fileType"] }),
                    name: text(&info["name"])?,
                    url: text(&info["contentUrl"])?,
                })
            }
            "decline" => None,
            _ => return None,
        };
        Some(Self {
            key: PartKey(text(&value["context"][PART])?),
            id: text(&activity["id"])?,
            conversation: text(&activity["conversation"]["id"])?,
            by: text(&activity["from"]["id"])?,
            who: text(&activity["from"]["name"]).unwrap_or_default(),
            room,
        })
    }
}

impl Room {
    /// Whether it is where OneDrive has its files, or on the host `here`, at which somebody tries the bot out.
    pub(super) fn is_onedrive(&self, here: Option<&str>) -> bool {
        let host = self.upload.host_str().unwrap_or_default();
        let stored = self.upload.scheme() == "https" && STORES.iter().any(|store| host.ends_with(store));
        stored || here == Some(host)
    }

    /// The activity that shows the file once it is there.
    pub(super) fn handed_over(&self) -> Map<String, Value> {
        activity(json!({
            "contentType": HANDED_OVER, "contentUrl": self.url, "name": self.name, "content": self.shown,
        }))
    }
}

fn activity(attachment: Value) -> Map<String, Value> {
    let mut activity = Map::new();
    activity.insert("type".into(), "message".into());
    activity.insert("attachments".into(), json!([attachment]));
    activity
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(url: &str) -> Value {
        json!({
            "type": "invoke", "name": "fileConsent/invoke", "id": "f:1", "channelId": "msteams",
            "conversation": { "id": "a:1" }, "from": { "id": "29:1", "name": "Ann" },
            "value": {
                "type": "fileUpload", "action": "accept", "context": { "part": "00aa" },
                "uploadInfo": {
                    "uploadUrl": url, "contentUrl": "https://c.sharepoint.com/a.pdf", "name": "a.pdf",
                    "uniqueId": "u-1", "fileType": "pdf",
                },
            },
        })
    }

    #[test]
    fn an_answer_names_the_part_and_where_its_file_goes() {
        let answer = Answer::read(&accepted("https://c-my.sharepoint.com/up?token=hush")).unwrap();
        assert_eq!((answer.key.0.as_str(), answer.conversation.as_str()), ("00aa", "a:1"));
        let room = answer.room.as_ref().unwrap();
        assert!(room.is_onedrive(None) && !format!("{answer:?}").contains("hush"));
        assert_eq!(room.handed_over()["attachments"][0]["content"]["uniqueId"], "u-1");
        let mut declined = accepted("x");
        declined["value"]["action"] = json!("decline");
        assert!(Answer::read(&declined).unwrap().room.is_none());
    }

    #[test]
    fn what_is_no_answer_is_none() {
        for (place, value) in [
            ("/type", json!("message")),
            ("/name", json!("adaptiveCard/action")),
            ("/value/action", json!("maybe")),
            ("/value/context", json!("x")),
            ("/value/uploadInfo", json!(null)),
            ("/conversation", json!(null)),
        ] {
            let mut activity = accepted("https://c.sharepoint.com/up");
            *activity.pointer_mut(place).unwrap() = value;
            assert!(Answer::read(&activity).is_none(), "{activity}");
        }
    }

    #[test]
    fn nothing_goes_to_a_host_that_is_not_microsofts() {
        let room = |url: &str| Answer::read(&accepted(url)).unwrap().room.unwrap();
        for url in [
            "http://c.sharepoint.com/up",
            "https://sharepoint.com.evil.test/up",
            "https://evilsharepoint.com/up",
            "https://127.0.0.1/up",
            "file:///etc/passwd",
        ] {
            assert!(!room(url).is_onedrive(None), "{url}");
        }
        assert!(room("http://127.0.0.1:9/up").is_onedrive(Some("127.0.0.1")));
    }
}
