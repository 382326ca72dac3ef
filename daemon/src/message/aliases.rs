//! What models write for what is called otherwise here: words of other tools that no likeness of letters leads to the right one.
//!
//! "content" is one letter from "context" and means "message": so these go before the nearest word. None of them is taken for
//! what it stands for. A guess that is silently right nine times is a message that arrives otherwise the tenth.

use super::action::Action;

/// What to write in place of an unknown parameter.
pub(super) fn parameter(word: &str) -> Option<&'static str> {
    Some(match plain(word).as_str() {
        "content" | "contents" | "msg" | "markdown" | "messagetext" => "the text is \"message\"",
        "recipient" | "recipients" | "destination" | "address" | "chatid" | "chat" | "channelid" | "room"
        | "roomid" => {
            "where to is \"to\", as channel:address; several are \"targets\", with the action \"broadcast\""
        }
        "components" | "keyboard" | "inlinekeyboard" | "replymarkup" | "actions" => {
            "rows of buttons are \"buttons\", lists to choose from are \"selects\""
        }
        "menu" | "selectmenu" | "select" | "dropdown" => "lists to choose from are \"selects\"",
        "embed" | "embeds" | "blocks" | "cards" | "cardsv2" | "adaptivecard" => {
            "the platform's own JSON is \"card\", one object"
        }
        "modal" | "modals" | "form" => {
            "a form is opened by a button: \"buttons\": [[{\"text\": …, \"form\": {\"title\": …, \"fields\": [{\"name\": …, \"label\": …}]}}]]"
        }
        "file" | "files" | "image" | "images" | "attachment" | "document" | "mediaurl" => {
            "files are \"attachments\": [{\"path\": …}] or [{\"url\": …}]"
        }
        "audio" | "voicetext" | "speech" | "tts" => {
            "a voice message is \"voice\": {\"path\": …}, or {\"text\": …} to be spoken"
        }
        "account" => "the account is \"accountId\"",
        "thread" | "threadts" | "topic" | "topicid" | "messagethreadid" => "the thread is \"threadId\"",
        "inreplyto" | "replytomessageid" | "messagereference" | "quote" => {
            "the message to answer is \"replyToId\""
        }
        "id" | "ts" | "timestamp" => "the message that it is about is \"messageId\"",
        "reaction" => "the emoji to react with is \"emoji\"",
        "question" => "a poll's question is \"pollQuestion\"",
        "options" | "choices" | "answers" => {
            "a poll's answers are \"pollOption\", lists to choose from are \"selects\""
        }
        "multiple" | "allowmultiple" => "whether several answers may be chosen is \"pollMulti\"",
        "duration" => {
            "how long is \"durationMinutes\" of a time-out, \"pollDurationHours\" or \"pollDurationSeconds\" of a poll"
        }
        "ttl" => "for how long it may try to arrive is \"ttlSeconds\"",
        _ => return None,
    })
}

/// What to write in place of an unknown action.
pub(super) fn action(word: &str) -> Option<&'static str> {
    Some(match plain(word).as_str() {
        "unreact" | "removereaction" | "reactremove" | "deletereaction" => {
            "write \"action\": \"react\" with \"remove\": true"
        }
        "untimeout" | "unmute" => "write \"action\": \"timeout\" with \"durationMinutes\": 0",
        "mute" => "write \"action\": \"timeout\" with \"durationMinutes\"",
        "sendmessage" | "message" | "post" | "say" | "text" => "write \"action\": \"send\", or leave it out",
        "sendvoice" | "voice" => "write \"action\": \"send\" with \"voice\"",
        "sendfile" | "sendmedia" | "upload" => "write \"action\": \"sendAttachment\" with \"attachments\"",
        "update" => "write \"action\": \"edit\" with \"messageId\" and the new \"message\"",
        "remove" | "unsend" => "write \"action\": \"delete\" with \"messageId\"",
        "threadcreate" | "createthread" | "newthread" => "write \"action\": \"thread\" with \"threadName\"",
        "vote" => "a poll is made with \"action\": \"poll\"; nobody votes in one from here",
        _ => return None,
    })
}

/// What to write in place of a parameter that another action has.
pub(super) fn stray(name: &str, action: Action) -> Option<&'static str> {
    match (name, action) {
        ("to", Action::Broadcast) => {
            Some("a broadcast names its targets in \"targets\": [\"channel:address\", …]")
        }
        ("to", Action::SetPresence) => {
            Some("a status is the account's own: say whose by \"channel\", and leave \"to\" out")
        }
        ("targets" | "channels", Action::Send) => {
            Some("write \"action\": \"broadcast\" with \"targets\", or name one target in \"to\"")
        }
        _ => None,
    }
}

/// A word without what tools spell differently.
fn plain(word: &str) -> String {
    word.chars().take(40).filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::parameters::PARAMETERS;

    #[test]
    fn no_word_that_is_right_is_corrected_but_where_a_tool_spells_it_otherwise() {
        for name in PARAMETERS.iter().flat_map(|parameter| parameter.names) {
            assert_eq!(parameter(name), None, "{name}");
        }
        for known in Action::ALL {
            assert_eq!(action(known.word()), None, "{}", known.word());
        }
    }
}
