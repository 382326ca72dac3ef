//! How it reads a body: JSON, or a form with a file (`multer({ storage: memoryStorage() })`, `upload.single('file')`:
//! `src/api/routes/sendMessage.router.ts`@1787238c6387e23af6175db5c9f13456d6f3e59e:36, 62 and 74). How multer reads a
//! form is its own, and was not read: <https://github.com/expressjs/multer>.

use serde_json::{Map, Value, json};

use super::Request;

/// The field `file`.
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
}

/// Fields, of which those with brackets are objects (multer's npm append-field), and the file; a file of another name
/// is multer's error `LIMIT_UNEXPECTED_FILE`, "Unexpected field".
pub(super) fn read(request: &Request) -> Result<(Value, Option<File>), String> {
    let Some((_, boundary)) = request.header("content-type").split_once("multipart/form-data; boundary=")
    else {
        return Ok((request.json(), None));
    };
    let boundary = format!("--{}", boundary.trim_matches('"'));
    let (mut fields, mut file) = (Map::new(), None);
    for part in split(&request.body, boundary.as_bytes()) {
        let Some(at) = part.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&part[..at]).into_owned();
        let content = part[at + 4..].strip_suffix(b"\r\n").unwrap_or(&part[at + 4..]);
        let name =
            head.split_once(" name=\"").and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name);
        let name = name.ok_or("a field without a name")?;
        match (head.contains("filename="), name) {
            (true, "file") if file.is_none() => file = Some(File { bytes: content.to_vec() }),
            (true, _) => return Err("Unexpected field".into()),
            (false, _) => put(&mut fields, name, &String::from_utf8_lossy(content)),
        }
    }
    Ok((Value::Object(fields), file))
}

fn split<'a>(body: &'a [u8], boundary: &'a [u8]) -> Vec<&'a [u8]> {
    let (mut parts, mut rest) = (Vec::new(), body);
    let at = |text: &[u8]| text.windows(boundary.len()).position(|window| window == boundary);
    while let Some(next) = at(rest) {
        parts.push(&rest[..next]);
        rest = &rest[next + boundary.len()..];
    }
    parts
}

/// `quoted[key][id]` is an id within a key within what is quoted, and each `mentioned[]` one more of a list.
fn put(fields: &mut Map<String, Value>, name: &str, value: &str) {
    if let Some(list) = name.strip_suffix("[]") {
        let list = fields.entry(list).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(json!(value));
        }
        return;
    }
    let mut steps = name.split(['[', ']']).filter(|step| !step.is_empty());
    let first = steps.next().unwrap_or_default().to_owned();
    let mut place = fields.entry(first).or_insert(Value::Null);
    for step in steps {
        place = &mut place[step];
    }
    *place = json!(value);
}

/// The type of a name's ending, as npm mime-types has it: the few that tests use.
pub(super) fn type_of(name: &str) -> Option<&'static str> {
    const ENDINGS: &[(&str, &str)] = &[
        ("bin", "application/octet-stream"),
        ("gif", "image/gif"),
        ("heic", "image/heic"),
        ("jpg", "image/jpeg"),
        ("jpeg", "image/jpeg"),
        ("mp4", "video/mp4"),
        ("ogg", "audio/ogg"),
        ("pdf", "application/pdf"),
        ("png", "image/png"),
        ("svg", "image/svg+xml"),
        ("txt", "text/plain"),
        ("zip", "application/zip"),
    ];
    let (_, ending) = name.rsplit_once('.')?;
    ENDINGS.iter().find(|(known, _)| *known == ending.to_ascii_lowercase()).map(|(_, kind)| *kind)
}
