//! An IMAP server on loopback with one folder, as strict as the account is meant to be: what would change the mailbox is a fault.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustls::{ServerConnection, StreamOwned};

use crate::channels::email::{mock, submission::Security};

/// The server. Stops listening when the test's process ends.
pub(super) struct Server {
    /// Where it listens, as `localhost`.
    pub(super) port: u16,
    state: Arc<Mutex<State>>,
}

/// What is in it, and how it behaves.
pub(super) struct State {
    pub(super) validity: u32,
    next: u32,
    mails: Vec<Kept>,
    /// How many were there at the last search: of others it tells in IDLE.
    seen: usize,
    pub(super) password: &'static str,
    /// Its capabilities.
    pub(super) can: &'static str,
    /// How it greets.
    pub(super) greeting: &'static str,
    /// UIDs of mails over which it hangs up, and whether over their heads too.
    pub(super) breaks: Vec<(u32, bool)>,
    /// UIDs of mails that it does not hand out.
    pub(super) refuses: Vec<u32>,
    /// UIDs of mails of which it says not even how large they are.
    pub(super) conceals: Vec<u32>,
    /// What the next commands that have these words in them are answered with instead, in this order: the untagged lines, and then `!`
    /// and the tagged one, or nothing where it hangs up.
    pub(super) instead: VecDeque<(&'static str, &'static str)>,
    /// How many KB it says before it does as it is told in EXAMINE.
    pub(super) chatter: usize,
    /// Whether it answers no search any more.
    pub(super) silent: bool,
    /// The commands that it was given, without their tags.
    pub(super) heard: Vec<String>,
    pub(super) connections: usize,
}

struct Kept {
    uid: u32,
    at: i64,
    bytes: Vec<u8>,
    /// What the server says that it has, where that is not so.
    size: Option<usize>,
}

impl Server {
    pub(super) fn start(security: Security) -> Self {
        let state = State {
            validity: 7,
            next: 1,
            mails: Vec::new(),
            seen: 0,
            password: "hunter2",
            can: "IMAP4rev1 IDLE",
            greeting: "* OK ready",
            breaks: Vec::new(),
            refuses: Vec::new(),
            conceals: Vec::new(),
            instead: VecDeque::new(),
            chatter: 0,
            silent: false,
            heard: Vec::new(),
            connections: 0,
        };
        let state = Arc::new(Mutex::new(state));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                thread::spawn(move || serve(stream, security, &state));
            }
        });
        Self { port, state }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a mail into the folder, which came now; its UID.
    pub(super) fn put(&self, mail: &str) -> u32 {
        self.put_at(mail, crate::clock::now_ms(), None)
    }

    pub(super) fn put_at(&self, mail: &str, at: i64, size: Option<usize>) -> u32 {
        let mut state = self.state();
        let uid = state.next;
        state.next += 1;
        state.mails.push(Kept { uid, at, bytes: mail.as_bytes().to_vec(), size });
        uid
    }

    /// Everything counts anew.
    pub(super) fn count_anew(&self) {
        let mut state = self.state();
        state.validity += 1;
        for (n, mail) in state.mails.iter_mut().enumerate() {
            mail.uid = 1 + u32::try_from(n).unwrap();
        }
        state.next = 1 + u32::try_from(state.mails.len()).unwrap();
    }

    /// What was asked for that begins so.
    pub(super) fn heard(&self, begins: &str) -> Vec<String> {
        self.state().heard.iter().filter(|line| line.starts_with(begins)).cloned().collect()
    }
}

fn serve(mut stream: TcpStream, security: Security, state: &Mutex<State>) -> io::Result<()> {
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    lock().connections += 1;
    let greeting = lock().greeting;
    if security == Security::Starttls {
        say(&mut stream, greeting)?;
        let (tag, command) = hear(&mut stream)?;
        if command != "STARTTLS" {
            return say(&mut stream, &format!("{tag} BAD not in the clear"));
        }
        say(&mut stream, &format!("{tag} OK go ahead"))?;
    }
    let raw = stream.try_clone()?;
    let tls = ServerConnection::new(mock::tls()).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(tls, stream);
    if security == Security::Implicit {
        say(&mut stream, greeting)?;
    }
    loop {
        let (tag, command) = hear(&mut stream)?;
        lock().heard.push(command.clone());
        if let Some((untagged, last)) = lock().instead_of(&command) {
            stream.write_all(untagged.as_bytes())?;
            let Some(last) = last else {
                stream.conn.send_close_notify();
                return stream.flush();
            };
            say(&mut stream, &format!("{tag} {last}"))?;
            continue;
        }
        let answer = match command.split(' ').next().unwrap_or_default() {
            "IDLE" => {
                idle(&mut stream, &raw, state)?;
                Some(String::new())
            }
            "UID" if command.contains("SEARCH") && lock().silent => {
                thread::sleep(Duration::from_secs(30));
                return Ok(());
            }
            _ => lock().answer(&command),
        };
        let Some(mut answer) = answer else { return Ok(()) };
        if !answer.contains("!") {
            answer.push_str("!OK done");
        }
        let (untagged, last) = answer.rsplit_once('!').unwrap();
        stream.write_all(untagged.as_bytes())?;
        say(&mut stream, &format!("{tag} {last}"))?;
    }
}

/// Tells of mail that comes until it is told to stop.
fn idle(stream: &mut (impl Read + Write), raw: &TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let exists = || state.lock().unwrap_or_else(PoisonError::into_inner).mails.len();
    let mut told = state.lock().unwrap_or_else(PoisonError::into_inner).seen;
    say(stream, "+ idling")?;
    raw.set_read_timeout(Some(Duration::from_millis(10)))?;
    // It comes in pieces.
    let mut heard = Vec::new();
    while !heard.ends_with(b"\n") {
        let mut byte = [0];
        match stream.read_exact(&mut byte) {
            Ok(()) => heard.push(byte[0]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if exists() != told {
                    told = exists();
                    say(stream, &format!("* {told} EXISTS"))?;
                }
            }
            Err(error) => return Err(error),
        }
    }
    assert_eq!(heard, b"DONE\r\n");
    raw.set_read_timeout(None)
}

impl State {
    /// What a command is answered with instead.
    fn instead_of(&mut self, command: &str) -> Option<(&'static str, Option<&'static str>)> {
        let (_, said) = *self.instead.front().filter(|(words, _)| command.contains(words))?;
        self.instead.pop_front();
        Some(match said.split_once('!') {
            Some((untagged, last)) => (untagged, Some(last)),
            None => (said, None),
        })
    }

    /// The untagged lines, then `!` and the tagged one where it is not OK; nothing where it hangs up.
    fn answer(&mut self, command: &str) -> Option<String> {
        let words: Vec<&str> = command.split(' ').collect();
        Some(match words[0] {
            "CAPABILITY" => format!("* CAPABILITY {}\r\n", self.can),
            "LOGIN" if command == format!("LOGIN \"hub\" \"{}\"", self.password) => String::new(),
            "LOGIN" => format!("!NO [AUTHENTICATIONFAILED] {command} is wrong"),
            "ID" => "* ID NIL\r\n".into(),
            "EXAMINE" if words[1] == "\"INBOX\"" => format!(
                "{}* {} EXISTS\r\n* OK [UIDVALIDITY {}] x\r\n* OK [UIDNEXT {}] x\r\n",
                format!("* OK {}\r\n", "x".repeat(1000)).repeat(self.chatter),
                self.mails.len(),
                self.validity,
                self.next
            ),
            "EXAMINE" => "!NO [NONEXISTENT] there is none".into(),
            "UID" if words[1] == "SEARCH" => self.search(&words[2..]),
            "UID" if words[1] == "FETCH" => return self.fetch(words[2], &words[3..].join(" ")),
            "LOGOUT" => return None,
            other => panic!("nobody may say {other} to a mailbox that is read"),
        })
    }

    fn search(&mut self, query: &[&str]) -> String {
        self.seen = self.mails.len();
        let found: Vec<String> = match query {
            ["UID", set] if !set.ends_with(":*") => set
                .split(',')
                .filter(|uid| self.mails.iter().any(|mail| mail.uid.to_string() == **uid))
                .map(str::to_owned)
                .collect(),
            ["UID", range] => {
                let from: u32 = range.strip_suffix(":*").unwrap().parse().unwrap();
                let highest = self.mails.last().map(|mail| mail.uid);
                let is_in = |uid: u32| uid >= from || Some(uid) == highest;
                self.mails.iter().filter(|mail| is_in(mail.uid)).map(|mail| mail.uid.to_string()).collect()
            }
            // As if all days were near: who asks must look at the time as well.
            ["SINCE", _] => self.mails.iter().map(|mail| mail.uid.to_string()).collect(),
            other => panic!("{other:?}"),
        };
        format!("* SEARCH {}\r\n", found.join(" ")).replace("SEARCH \r", "SEARCH\r")
    }

    fn fetch(&self, set: &str, items: &str) -> Option<String> {
        let mut answer = String::new();
        for uid in set.split(',').map(|uid| uid.parse::<u32>().unwrap()) {
            let Some(at) = self.mails.iter().position(|mail| mail.uid == uid) else { continue };
            let mail = &self.mails[at];
            if self.conceals.contains(&uid) {
                return Some(answer + "!NO FETCH failed");
            }
            if items == "(UID RFC822.SIZE INTERNALDATE)" {
                let size = mail.size.unwrap_or(mail.bytes.len());
                let date =
                    jiff::Timestamp::from_millisecond(mail.at).unwrap().strftime("%d-%b-%Y %H:%M:%S +0000");
                answer +=
                    &format!("* {} FETCH (UID {uid} RFC822.SIZE {size} INTERNALDATE \"{date}\")\r\n", at + 1);
                continue;
            }
            let (section, part) = items.strip_prefix("(UID BODY.PEEK[").unwrap().split_once("]<").unwrap();
            let (from, most) = part.strip_suffix(">)").unwrap().split_once('.').unwrap();
            let (from, most): (usize, usize) = (from.parse().unwrap(), most.parse().unwrap());
            if self.breaks.contains(&(uid, true))
                || (section.is_empty() && self.breaks.contains(&(uid, false)))
            {
                return None;
            }
            if self.refuses.contains(&uid) {
                return Some("!NO it is broken".into());
            }
            let text = std::str::from_utf8(&mail.bytes).unwrap();
            let text = if section == "HEADER" { &text[..text.find("\r\n\r\n").unwrap() + 4] } else { text };
            let block = &text[from.min(text.len())..(from + most).min(text.len())];
            // Somebody's flags change in between.
            answer += "* 1 FETCH (FLAGS (\\Seen))\r\n";
            answer += &format!(
                "* {} FETCH (UID {uid} BODY[{section}]<{from}> {{{}}}\r\n{block})\r\n",
                at + 1,
                block.len()
            );
        }
        Some(answer + "!OK done")
    }
}

fn say(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(format!("{text}\r\n").as_bytes())?;
    stream.flush()
}

fn hear(stream: &mut impl Read) -> io::Result<(String, String)> {
    let line = line(stream)?;
    let (tag, command) = line.split_once(' ').unwrap_or((&line, ""));
    Ok((tag.to_owned(), command.to_owned()))
}

/// One line, byte by byte.
fn line(stream: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while byte[0] != b'\n' {
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}
