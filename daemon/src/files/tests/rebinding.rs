//! A name whose answer changes between two look-ups, as somebody's own name server can make it.

use std::{
    io::Write as _,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::*;
use crate::files::fetch::Fetcher;

/// Stands for a public address: the only one of this machine that may be fetched from.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const INSIDE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A name server that answers from a list, and its last answer for ever after.
struct Changing {
    answers: Mutex<Vec<Vec<Ipv4Addr>>>,
    asked: AtomicUsize,
}

impl Resolve for Changing {
    fn resolve(&self, _: Name) -> Resolving {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        let answer: Vec<_> = answer.into_iter().map(|address| SocketAddr::from((address, 0))).collect();
        Box::pin(async move { Ok(Box::new(answer.into_iter()) as Addrs) })
    }
}

/// A server on both addresses, at one port: outside it answers this, and inside it counts whoever comes.
fn servers(answer: &'static str) -> (u16, Arc<AtomicUsize>) {
    let (outside, inside) = loop {
        let outside = TcpListener::bind((OUTSIDE, 0)).unwrap();
        // The same port may be taken there.
        if let Ok(inside) = TcpListener::bind((INSIDE, outside.local_addr().unwrap().port())) {
            break (outside, inside);
        }
    };
    let (port, reached) = (outside.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
    thread::spawn(move || {
        for mut stream in outside.incoming().flatten() {
            let (mut request, mut byte) = (Vec::new(), [0]);
            while !request.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                request.push(byte[0]);
            }
            let _ =
                stream.write_all(format!("HTTP/1.1 {answer}\r\nConnection: close\r\n\r\nhello").as_bytes());
        }
    });
    let count = Arc::clone(&reached);
    thread::spawn(move || {
        for _ in inside.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, reached)
}

/// What becomes of a fetch by a name that is answered with these, one after the other; how often the name was looked up, and how
/// often something inside was connected to.
async fn fetched(
    answer: &'static str,
    answers: &[&[Ipv4Addr]],
) -> (Result<Staged, StageError>, usize, usize) {
    let private = [OUTSIDE.to_string()];
    let mut fixture = fixture(SMALL, &[]);
    let names = Arc::new(Changing {
        answers: Mutex::new(answers.iter().map(|answer| answer.to_vec()).collect()),
        asked: AtomicUsize::new(0),
    });
    let shared = Arc::get_mut(&mut fixture.files.0).unwrap();
    shared.fetcher =
        Fetcher::asking(Arc::clone(&names) as Arc<dyn Resolve>, Private::parse(&private).unwrap());
    let (port, reached) = servers(answer);
    let became = fixture.stage(asked(Source::Url(format!("http://files.test:{port}/a.txt")))).await;
    (became, names.asked.load(Ordering::SeqCst), reached.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_name_whose_answer_changes_leads_to_nothing_inside() {
    const FILE: &str = "200 OK\r\nContent-Length: 5";
    const ONWARD: &str = "302 Found\r\nLocation: /b.txt\r\nContent-Length: 0";
    // It is looked up once, and the connection goes to what was judged.
    let (file, asked, reached) = fetched(FILE, &[&[OUTSIDE], &[INSIDE]]).await;
    assert_eq!((file.unwrap().attachment.size, asked, reached), (5, 1, 0));
    // A redirect to the same name is judged anew.
    let (refused, asked, reached) = fetched(ONWARD, &[&[OUTSIDE], &[INSIDE]]).await;
    assert!(
        matches!(&refused, Err(StageError::Private { address, .. }) if *address == INSIDE),
        "{refused:?}"
    );
    assert_eq!((asked, reached), (2, 0));
    // One address inside among others is enough to be refused, wherever it stands.
    for both in [[OUTSIDE, INSIDE], [INSIDE, OUTSIDE]] {
        let (refused, _, reached) = fetched(FILE, &[&both]).await;
        assert!(matches!(refused, Err(StageError::Private { .. })), "{refused:?}");
        assert_eq!(reached, 0);
    }
}
