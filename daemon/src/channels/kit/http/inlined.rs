//! A JSON body in which a file stands as base64.
//!
//! Some platforms take files no other way. The file is read and encoded as the request leaves, so that no more of it than a
//! block is ever in memory; the body's length is known before, since base64's is.

use std::io;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::{StreamExt as _, future::ready, stream};
use reqwest::{Body, RequestBuilder, header};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

use crate::{files::kept::Checked, message::attachment::referred, random};

/// What is read of a file at a time: whole groups of three bytes, so that the pieces' encodings are the whole's.
const BLOCK: usize = 48 * 1024;

/// The [reference](crate::message::attachment::Attachment::reference) with which the text at this JSON pointer ends.
pub fn reference<'a>(json: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = json.pointer(pointer)?.as_str()?;
    let at = text.rfind("attachment:")?;
    referred(&text[at..]).map(|_| &text[at..])
}

/// How many characters base64 takes for so many bytes.
pub const fn encoded(size: u64) -> u64 {
    size.div_ceil(3) * 4
}

/// Gives a request this JSON as its body, with the file in place of the reference with which the text at `pointer` ends;
/// none where there is no such text.
pub fn body(
    request: RequestBuilder,
    mut json: Value,
    pointer: &str,
    file: Checked,
) -> Option<RequestBuilder> {
    let kept = reference(&json, pointer)?.len();
    // No text that somebody wrote can look like it.
    let mark = random::hex::<32>();
    let place = json.pointer_mut(pointer)?;
    let text = place.as_str()?;
    *place = Value::String(format!("{}{mark}", &text[..text.len() - kept]));
    let json = json.to_string();
    let (head, tail) = json.split_once(&mark)?;
    let length = head.len() as u64 + encoded(file.size) + tail.len() as u64;
    let once = |text: &str| stream::once(ready(Ok::<_, io::Error>(text.to_owned())));
    let blocks = stream::try_unfold(tokio::fs::File::from_std(file.file), |mut file| async move {
        let (mut block, mut filled) = (vec![0; BLOCK], 0);
        while filled < BLOCK {
            match file.read(&mut block[filled..]).await? {
                0 => break,
                more => filled += more,
            }
        }
        Ok((filled > 0).then(|| (STANDARD.encode(&block[..filled]), file)))
    });
    let whole = once(head).chain(blocks).chain(once(tail));
    Some(
        request
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::CONTENT_LENGTH, length)
            .body(Body::wrap_stream(whole)),
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use gatepost_link::Digest;
    use serde_json::json;

    use super::*;
    use crate::channels::testing::http::{Mock, Reply, http};

    #[tokio::test]
    async fn a_file_stands_in_the_body_as_base64_and_a_text_that_names_it_stays() {
        for size in [0, 1, 2, 3, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
            let bytes: Vec<u8> = (0..size).map(|n| n as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            file.rewind().unwrap();
            let name = format!("attachment:{}", Digest::of(&bytes));
            let json = json!({"a": name, "list": [format!("data:x/y;base64,{name}")], "z": name});
            assert_eq!(reference(&json, "/list/0"), Some(name.as_str()));
            let mock = Mock::start(&[Reply::Says(200, "", "{}")]);
            let request = http().post(format!("http://127.0.0.1:{}/", mock.port));
            let checked = Checked { file, size: size as u64 };
            body(request, json, "/list/0", checked).unwrap().send().await.unwrap();
            let heard = mock.heard().remove(0);
            let sent: Value = serde_json::from_str(heard.split_once("\r\n\r\n").unwrap().1).unwrap();
            let expected = format!("data:x/y;base64,{}", STANDARD.encode(&bytes));
            assert_eq!(sent, json!({"a": name, "list": [expected], "z": name}), "{size}");
        }
        assert_eq!(reference(&json!({"a": "attachment:x"}), "/a"), None);
    }
}
