//! Files of a message: whether they fit, and where they stand among its parts.

use gatepost_chunk::Unit;

use super::{
    capability_check::without,
    content::{Piece, rendered},
    mentions, speech,
};
use crate::{
    channels::{Adapter, FileForm, FileRules, registry},
    message::{
        attachment::Attachment,
        refusal::{Code, Refusal},
    },
    render::{self, Flavour, Mention, Part},
};

/// The most bytes of files in one request: what a slow line takes in the time that a delivery has.
const TOGETHER: u64 = 48 * 1024 * 1024;

/// Behind the text, in the form that the channel has for them. `prefix` stands before the first caption, or for it; with
/// `apart`, no two share a request.
pub(super) fn add<'a>(
    adapter: &dyn Adapter,
    flavour: &Flavour,
    files: &'a [Attachment],
    prefix: Option<&str>,
    apart: bool,
    pieces: &mut Vec<Piece<'a>>,
) -> Result<(), Refusal> {
    let channel = adapter.capabilities().channel;
    let rules = fits(adapter, files.iter())?
        .ok_or_else(|| without(channel, "files", "put what matters into the text, or send a link to it"))?;
    let captions = files.iter().enumerate().map(|(index, file)| {
        let mut caption = render::parse(file.caption.as_deref().unwrap_or_default());
        mentions::check(adapter, &caption)?;
        if rules.form == FileForm::Together && !caption.is_blank() {
            caption.decorate(&format!("{}: ", file.name));
        }
        if let Some(prefix) = prefix.filter(|_| index == 0) {
            caption.decorate(prefix);
        }
        rendered(&caption, flavour)
    });
    match rules.form {
        FileForm::Together => {
            let mut whole = pieces.pop().map_or_else(Part::default, |piece| piece.part);
            for part in captions.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
                append(&mut whole, part);
            }
            pieces.push(Piece { part: whole, files, words: None });
        }
        FileForm::Captioned => {
            let limit = registry::format(channel).and_then(|format| format.caption_limit);
            let most = limit.unwrap_or(usize::MAX);
            let mut album = 0..0;
            for (index, (file, caption)) in files.iter().zip(captions).enumerate() {
                let mut caption = caption?;
                // One without words of its own stands with those before it, where the platform shows them together.
                let before = &files[album.clone()];
                let together = before.iter().map(|file| file.size).sum::<u64>() + file.size;
                if let (true, false, Some(last)) = (caption.is_empty(), apart, pieces.last_mut())
                    && last.words.is_none()
                    && !before.is_empty()
                    && together <= TOGETHER
                    && adapter.joins_album(before, file)
                {
                    album.end = index + 1;
                    last.files = &files[album.clone()];
                    continue;
                }
                album = index..index + 1;
                let part = match caption.len() {
                    1 if caption[0].units <= most => caption.remove(0),
                    // Too long to stand with it here: it goes before it.
                    _ => {
                        pieces.extend(caption.into_iter().map(|part| Piece { part, ..Piece::default() }));
                        Part::default()
                    }
                };
                let words = words(file, prefix.filter(|_| index == 0), flavour)?;
                pieces.push(Piece { part, files: std::slice::from_ref(file), words });
            }
        }
    }
    Ok(())
}

/// What a recording says, as one message of text, as it stands: nothing, where the hub did not make it from words. `prefix`
/// says whose it is, where nothing before it does.
fn words(file: &Attachment, prefix: Option<&str>, flavour: &Flavour) -> Result<Option<Part>, Refusal> {
    match file.spoken.as_ref().filter(|_| file.voice) {
        Some(words) => speech::as_message(words, prefix, flavour),
        None => Ok(None),
    }
}

/// What an account takes of files, if it takes these; none where it takes no files.
pub(in crate::admission) fn fits<'a>(
    adapter: &dyn Adapter,
    files: impl Iterator<Item = &'a Attachment>,
) -> Result<Option<FileRules>, Refusal> {
    let can = adapter.capabilities();
    let Some(rules) = can.files else { return Ok(None) };
    let mut left = rules.max_together;
    for &Attachment { size, ref name, ref kind, .. } in files {
        if let Some(alone) = rules.alone().filter(|_| !rules.takes(kind)) {
            let error = format!("{} takes no file of the type {kind} here, and {name} is one", can.channel);
            let hint = format!("send a link to it; what it takes is {alone}");
            return Err(Refusal::input(error, hint).because("files"));
        }
        if size > rules.max_size || size > left {
            let most = rules.max_size.min(left);
            let error = format!("{} takes no file of {size} bytes here, but {most} at most", can.channel);
            let hint = "send less, several messages, or a link to it";
            return Err(Refusal::new(Code::TooLarge, error, hint).because("files"));
        }
        left -= size;
    }
    Ok(Some(rules))
}

/// Puts a paragraph behind a part of a channel that does not split.
fn append(whole: &mut Part, more: Part) {
    if whole.text.is_empty() {
        *whole = more;
        return;
    }
    let before = format!("{}\n\n", whole.text);
    let units = Unit::Utf16.count(&before);
    whole.called.extend(more.called.into_iter().map(|one| Mention { start: one.start + units, ..one }));
    whole.text = before + &more.text;
    whole.shown = format!("{}\n\n{}", whole.shown, more.shown);
    if let (Some(html), Some(more)) = (&mut whole.html, more.html) {
        html.push('\n');
        html.push_str(&more);
    }
    whole.units += more.units;
    for id in more.mentions {
        if !whole.mentions.contains(&id) {
            whole.mentions.push(id);
        }
    }
}
