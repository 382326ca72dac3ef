//! What is to be spoken, as recordings whose words are one message each.
//!
//! Where a platform refuses a recording for good, its words go in its place (see [`crate::delivery`]), as one message: half
//! of them must not be left when the other half has to wait. So words that are more than one message there are spoken as
//! several recordings, cut where a sentence ends if one does. Where the words are the message's own text, that has gone
//! already, and nothing goes in the place of the recording.

use gatepost_chunk::{Mode, split};

use super::content::rendered;
use crate::{
    channels::{Adapter, FileForm},
    message::{
        attachment::Attachment,
        attachment_spec::{Asked, Source},
        refusal::Refusal,
    },
    render::{self, Flavour, Part},
    voice,
};

/// What a piece may have of a message, in sixteenths, tried in this order: escapes take room that nobody sees before.
const SHARES: [usize; 5] = [16, 12, 8, 4, 2];

/// The files of a call, each voice message that is too long for its words to be one message as several. `prefix` may stand
/// before the first words; more than `most` characters are not spoken at all, and are left for the voice to refuse.
pub(in crate::admission) fn apart(
    adapter: &dyn Adapter,
    prefix: Option<&str>,
    most: usize,
    asked: Vec<Asked>,
) -> Result<Vec<Asked>, Refusal> {
    let has_words = adapter.capabilities().files.is_some_and(|rules| rules.form == FileForm::Captioned);
    if !has_words {
        return Ok(asked);
    }
    let flavour = adapter.flavour();
    let mut all = Vec::with_capacity(asked.len());
    for asked in asked {
        let pieces = match &asked.source {
            Source::Words(words) if words.chars().count() <= most => pieces(words, prefix, &flavour)?,
            _ => None,
        };
        match pieces {
            None => all.push(asked),
            Some(pieces) => all.extend(
                pieces.into_iter().map(|piece| Asked { source: Source::Words(piece), ..asked.clone() }),
            ),
        }
    }
    Ok(all)
}

/// The words in as many pieces as it takes for each to be one message; none where they are one already, or nothing helps.
fn pieces(words: &str, prefix: Option<&str>, flavour: &Flavour) -> Result<Option<Vec<String>>, Refusal> {
    let Some(limit) = flavour.limit else { return Ok(None) };
    if as_message(words, prefix, flavour)?.is_some() {
        return Ok(None);
    }
    let room = limit.saturating_sub(prefix.map_or(0, |prefix| flavour.unit.count(prefix)));
    for share in SHARES {
        let Ok(chunks) = split(words, room / 16 * share, flavour.unit, Mode::Newline) else { continue };
        let pieces: Vec<String> =
            chunks.map(|chunk| chunk.text.trim().to_owned()).filter(|piece| !piece.is_empty()).collect();
        let mut fit = true;
        for piece in &pieces {
            fit &= as_message(piece, prefix, flavour)?.is_some();
        }
        if fit {
            return Ok(Some(pieces));
        }
    }
    Ok(None)
}

/// Whether what the recordings among these files say, one after the other, is a message's text and nothing else.
pub(super) fn repeats(text: &str, files: &[Attachment]) -> bool {
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    let spoken = files.iter().filter(|file| file.voice).filter_map(|file| file.spoken.as_deref());
    let spoken: String = spoken.map(letters).collect();
    let aloud = || voice::words_of(text).is_some_and(|words| letters(&words) == spoken);
    !spoken.is_empty() && (letters(text) == spoken || aloud())
}

/// Words as one message of text, as they stand: none where they are too many for one.
pub(super) fn as_message(
    words: &str,
    prefix: Option<&str>,
    flavour: &Flavour,
) -> Result<Option<Part>, Refusal> {
    let mut document = render::parse("");
    document.decorate(&format!("{}{}", prefix.unwrap_or_default(), words.trim()));
    let mut parts = rendered(&document, flavour)?;
    Ok(if parts.len() == 1 { parts.pop() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::registry;

    #[test]
    fn many_words_become_pieces_of_whole_sentences_of_which_nothing_is_missing() {
        for channel in ["discord", "telegram", "signal", "whatsapp"] {
            let flavour = registry::flavour(channel);
            for sentence in ["The door is open, and nobody is home. ", "*<&>_ ~`|** is what it said. "] {
                let words = sentence.repeat(240);
                let pieces = pieces(&words, Some("[engineer, from local] "), &flavour).unwrap().unwrap();
                assert!((2..16).contains(&pieces.len()), "{channel}: {}", pieces.len());
                assert_eq!(pieces.join(" "), words.trim());
                for piece in &pieces {
                    assert!(piece.ends_with('.'), "{channel}: {piece}");
                    assert!(as_message(piece, Some("[engineer, from local] "), &flavour).unwrap().is_some());
                }
            }
            assert_eq!(pieces("The door is open.", None, &flavour).unwrap(), None);
        }
    }
}
