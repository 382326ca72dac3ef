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

/// What no name in OneDrive has
/// (<https://support.microsoft.com/office/restrictions-and-limitations-in-onedrive-and-sharepoint-64883a5d-228e-48f5-b3d2-eb39e07630fa>).
const IN_NO_NAME: [char; 9] = ['"', '*', ':', '<', '>', '?', '/', '\\', '|'];
/// The longest of what Teams says of a file, in bytes: OneDrive's paths have 400 characters at most.
const MAX_SAID: usize = 1_600;

/// Why OneDrive would not take a file of this name and size, if it would not.
pub(super) fn unfit(name: &str, size: u64) -> Option<String> {
    if size == 0 {
        return Some(format!("{name} is empty, and OneDrive is handed nothing: say it in words"));
    }
    let bare = name.trim() == name && !name.ends_with('.') && !name.starts_with("~$");
    (!bare || name.contains(IN_NO_NAME)).then(|| {
        format!(
            "OneDrive takes no file that is called {name:?}: give it a name without any of {}, that neither begins with ~$ or a blank nor ends with a dot or a blank",
            IN_NO_NAME.map(String::from).join(" ")
        )
    })
}

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
    /// Where it is found then.
    url: Url,
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
        let text = |value: &Value| value.as_str().filter(|text| text.len() <= MAX_SAID).map(str::to_owned);
        let room = match value["action"].as_str()? {
            "accept" => {
                let info = &value["uploadInfo"];
                Some(Room {
                    upload: Url::parse(info["uploadUrl"].as_str()?).ok()?,
                    shown: json!({ "uniqueId": text(&info["uniqueId"])?, "fileType": text(&info["fileType"])? }),
                    name: text(&info["name"])?,
                    url: Url::parse(&text(&info["contentUrl"])?).ok()?,
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
    /// Whether it is where OneDrive has its files, or on the host `here`, at which somebody tries the bot out: where the
    /// bytes go, and where the card that shows them leads.
    pub(super) fn is_onedrive(&self, here: Option<&str>) -> bool {
        [&self.upload, &self.url].into_iter().all(|url| is_stored(url, here))
    }

    /// The activity that shows the file once it is there.
    pub(super) fn handed_over(&self) -> Map<String, Value> {
        activity(json!({
            "contentType": HANDED_OVER, "contentUrl": self.url.as_str(), "name": self.name, "content": self.shown,
        }))
    }
}

/// Whether something is where OneDrive has its files, or on the host `here`.
pub(super) fn is_stored(url: &Url, here: Option<&str>) -> bool {
    let host = url.host_str().unwrap_or_default();
    let stored = url.scheme() == "https" && STORES.iter().any(|store| host.ends_with(store));
    stored || here == Some(host)
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
        let shown_at = |url: &str| {
            let mut activity = accepted("https://c-my.sharepoint.com/up");
            activity["value"]["uploadInfo"]["contentUrl"] = json!(url);
            Answer::read(&activity).unwrap().room.unwrap()
        };
        for url in [
            "http://c.sharepoint.com/up",
            "https://sharepoint.com.evil.test/up",
            "https://evilsharepoint.com/up",
            "https://127.0.0.1/up",
            "file:///etc/passwd",
        ] {
            assert!(!room(url).is_onedrive(None), "{url}");
            assert!(!shown_at(url).is_onedrive(None), "{url}");
        }
        assert!(room("http://127.0.0.1:9/up").is_onedrive(Some("127.0.0.1")));
    }

    #[test]
    fn what_is_too_long_to_be_said_of_a_file_is_no_answer() {
        for member in ["name", "uniqueId", "fileType", "contentUrl"] {
            let mut activity = accepted("https://c.sharepoint.com/up");
            let long = format!("https://c.sharepoint.com/{}", "x".repeat(MAX_SAID));
            activity["value"]["uploadInfo"][member] = json!(long);
            assert!(Answer::read(&activity).is_none(), "{member}");
        }
    }

    #[test]
    fn names_that_onedrive_refuses_are_refused_before_it_does() {
        for name in ["plan.pdf", "Plan (2) – 50 %.pdf", ".profile"] {
            assert_eq!(unfit(name, 1), None, "{name}");
        }
        for name in ["a:b.pdf", "what?.txt", "a|b", "~$plan.docx", " plan.pdf", "plan.", "a\\b"] {
            assert!(unfit(name, 1).unwrap().contains("give it a name"), "{name}");
        }
        assert!(unfit("plan.pdf", 0).unwrap().contains("empty"));
    }
}
