//! Telegram's tags. They cost nothing of a message's length, but Telegram reads a limited number of bytes of them.

use crate::document::{Attribute, Text};
use crate::html_escape::{attribute_bytes, push_attribute};

use super::body::BodyMarkup;

/// An opening tag and its closing tag.
pub(crate) struct TelegramTag<'a> {
    open: &'static str,
    /// The URL of a link, which stands inside the opening tag.
    url: Option<&'a str>,
    pub(crate) close: &'static str,
}

/// What ends the opening tag after a URL.
const AFTER_URL: &str = "\">";

impl<'a> TelegramTag<'a> {
    /// The tag of an attribute of `text`; `None` for a link that Telegram would not accept.
    #[inline]
    pub(crate) fn new(text: Text<'a>, attribute: Attribute) -> Option<Self> {
        Some(match attribute {
            Attribute::Link(link) => {
                let link = text.links().get(link).filter(|link| BodyMarkup::Telegram.accepts_link(link))?;
                match link.person() {
                    // <https://core.telegram.org/bots/api#formatting-options>
                    Some(id) => Self { open: "<a href=\"tg://user?id=", url: Some(id), close: "</a>" },
                    None => Self { open: "<a href=\"", url: Some(&link.url), close: "</a>" },
                }
            }
            Attribute::Strong => Self { open: "<b>", url: None, close: "</b>" },
            Attribute::Emphasis => Self { open: "<i>", url: None, close: "</i>" },
            Attribute::Strike => Self { open: "<s>", url: None, close: "</s>" },
            Attribute::Code => Self { open: "<code>", url: None, close: "</code>" },
            // <https://core.telegram.org/bots/api#html-style>
            Attribute::Spoiler => Self { open: "<tg-spoiler>", url: None, close: "</tg-spoiler>" },
        })
    }

    pub(crate) fn push_open(&self, out: &mut String) {
        out.push_str(self.open);
        if let Some(url) = self.url {
            push_attribute(url, out);
            out.push_str(AFTER_URL);
        }
    }

    /// The bytes of both tags.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        let url = self.url.map_or(0, |url| attribute_bytes(url) + AFTER_URL.len());
        self.open.len() + url + self.close.len()
    }
}
