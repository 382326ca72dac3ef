//! Files from addresses.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
};

use super::*;

impl Fixture {
    async fn url(&self, url: &str) -> Result<Staged, StageError> {
        self.stage(asked(Source::Url(url.to_owned()))).await
    }
}

/// A server that answers every request with this, and says where it listens.
fn server(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                request.push(byte[0]);
            }
            answer(&String::from_utf8_lossy(&request), &mut stream);
        }
    });
    format!("http://{address}")
}

fn says(head: &'static str, body: &'static [u8]) -> String {
    server(move |_, stream| {
        let _ = stream.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
        let _ = stream.write_all(body);
    })
}

#[tokio::test]
async fn nothing_inside_the_house_is_fetched_by_whatever_name() {
    let fixture = fixture(SMALL, &[]);
    let inside = says("200 OK", b"secret");
    let port = inside.rsplit(':').next().unwrap().to_owned();
    for host in
        ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "0", "017700000001"]
    {
        let refused = fixture.url(&format!("http://{host}:{port}/")).await;
        assert!(matches!(refused, Err(StageError::Private { .. })), "{host}: {refused:?}");
    }
    for (url, why) in [
        ("file:///etc/passwd", "neither"),
        ("ftp://example.org/", "neither"),
        ("http://user:word@127.0.0.1/", "password"),
        ("no address", "no address"),
    ] {
        let refused = fixture.url(url).await.unwrap_err();
        assert!(matches!(refused, StageError::Url(words) if words.contains(why)), "{url}: {refused:?}");
    }
    let nowhere = fixture.files.stage("a", &Sources::default(), vec![asked(Source::Url(inside))]).await;
    assert!(matches!(nowhere, Err(StageError::Host(host)) if host == "127.0.0.1"));
}

#[tokio::test]
async fn every_hop_is_judged_by_itself() {
    // Only one host and one address of this machine are open.
    let fixture = fixture(SMALL, &["127.0.0.1"]);
    let inside = says("200 OK\r\nContent-Type: image/png", b"hello");
    let port = inside.rsplit(':').next().unwrap().to_owned();
    for (to, refused) in [
        (format!("http://127.0.0.1:{port}/x/note%20one.txt"), false),
        (format!("//127.0.0.1:{port}/note%20one.txt"), false),
        (format!("http://127.0.0.2:{port}/"), true),
        (format!("http://[::1]:{port}/"), true),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), true),
    ] {
        let from = server(move |_, stream| {
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        });
        match fixture.url(&from).await {
            Ok(staged) => {
                assert!(!refused, "{staged:?}");
                let file = staged.attachment;
                assert_eq!((file.name.as_str(), file.kind.as_str()), ("note one.txt", "text/plain"));
                assert_eq!(file.said_to_be.as_deref(), Some("image/png"), "the server's word does not count");
            }
            Err(error) => {
                assert!(refused && matches!(error, StageError::Private { .. }), "{error:?}");
            }
        }
    }
    let round = server(|_, stream| {
        let _ = stream.write_all(
            b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    });
    assert!(matches!(fixture.url(&round).await, Err(StageError::Fetch(why)) if why.contains("more than")));
    let file = says("302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0", b"");
    assert!(matches!(fixture.url(&file).await, Err(StageError::Url(_))));
}

#[tokio::test]
async fn what_a_server_says_of_the_length_is_not_believed() {
    let fixture = fixture(SMALL, &["127.0.0.0/8"]);
    let refused = async |url: String| fixture.url(&url).await.unwrap_err();
    let declared = refused(says("200 OK\r\nContent-Length: 100001", b"")).await;
    assert!(matches!(declared, StageError::TooLarge(100_000)), "{declared:?}");
    let endless = server(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    assert!(matches!(refused(endless).await, StageError::TooLarge(100_000)));
    // More than it said is not read, less is no file.
    let more = fixture.url(&says("200 OK\r\nContent-Length: 5", b"hello, and more")).await.unwrap();
    assert_eq!(more.attachment.size, 5);
    let less = refused(says("200 OK\r\nContent-Length: 50", b"hello")).await;
    assert!(matches!(less, StageError::Fetch(_)), "{less:?}");
    let packed = refused(says("200 OK\r\nContent-Encoding: gzip", b"\x1f\x8b")).await;
    assert!(matches!(packed, StageError::Fetch(_)), "{packed:?}");
    let missing = refused(says("404 Not Found\r\nContent-Length: 2", b"no")).await;
    assert!(matches!(&missing, StageError::Fetch(why) if why.contains("404")), "{missing:?}");
    drop(more);
    fixture.files.sweep().await.unwrap();
    assert!(fixture.names().is_empty(), "{:?}", fixture.names());
}

#[tokio::test]
async fn a_slow_server_has_so_long_and_no_longer() {
    let fixture = fixture(SMALL, &["127.0.0.0/8"]);
    let slow = server(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let start = std::time::Instant::now();
    assert!(matches!(fixture.url(&slow).await, Err(StageError::Slow(_))));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(fixture.names().is_empty());
}

#[tokio::test]
async fn nothing_of_ours_goes_along_with_a_request() {
    let fixture = fixture(SMALL, &["127.0.0.0/8"]);
    let (heard, hears) = std::sync::mpsc::channel();
    let first = server(move |request, stream| {
        heard.send(request.to_ascii_lowercase()).unwrap();
        let answer = match request.starts_with("GET /next") {
            true => "200 OK\r\nContent-Length: 2",
            false => "302 Found\r\nSet-Cookie: a=b\r\nLocation: /next\r\nContent-Length: 0",
        };
        let _ = stream.write_all(format!("HTTP/1.1 {answer}\r\nConnection: close\r\n\r\nhi").as_bytes());
    });
    fixture.url(&format!("{first}/#fragment")).await.unwrap();
    for request in hears.try_iter() {
        for header in ["cookie", "authorization", "referer", "fragment"] {
            assert!(!request.contains(header), "{request}");
        }
    }
}
