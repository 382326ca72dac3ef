//! TLS of the hub's own: the page, a login and an agent's message by it; what is refused there; and a certificate that is renewed.
//!
//! Installed by `tests/run --setup-only`: OpenSSL.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{hub::SpawnedHub, main_job::CONFIG, peers::free_port};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use serde_json::json;
use tempfile::TempDir;

/// The hub waits for a first request for ten seconds.
const SILENCE: Duration = Duration::from_secs(20);

fn openssl(folder: &Path, arguments: &[&str]) -> Result<()> {
    let ran = Command::new("openssl").args(arguments).current_dir(folder).output();
    let ran = ran.context("openssl is missing: run `tests/run --setup-only`")?;
    ensure!(ran.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    Ok(())
}

/// An authority that clients trust here, in a folder of its own.
struct Authority(TempDir);

impl Authority {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority \
                    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign -keyout ca.key -out ca.pem";
        openssl(folder.path(), &made.split_whitespace().collect::<Vec<_>>())?;
        Ok(Self(folder))
    }

    /// Writes `cert.pem` and `key.pem` anew, for this name and so many days.
    fn sign(&self, name: &str, days: u32) -> Result<()> {
        let folder = self.0.path();
        fs::write(folder.join("names"), format!("subjectAltName=DNS:{name}\nbasicConstraints=CA:FALSE\n"))?;
        let asked = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=hub -keyout key.pem -out hub.csr";
        openssl(folder, &asked.split_whitespace().collect::<Vec<_>>())?;
        let signed = format!(
            "x509 -req -in hub.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days {days} -extfile names -out cert.pem"
        );
        openssl(folder, &signed.split_whitespace().collect::<Vec<_>>())?;
        Ok(fs::set_permissions(folder.join("key.pem"), fs::Permissions::from_mode(0o600))?)
    }

    fn config(&self, port: u16) -> String {
        let folder = self.0.path().display();
        format!(
            "{CONFIG}[web]\nlisten = \"127.0.0.1:{port}\"\ncert = \"{folder}/cert.pem\"\nkey = \"file:{folder}/key.pem\"\n"
        )
    }

    /// Somebody who trusts this authority alone, at the hub.
    fn client(&self, port: u16) -> Result<Client> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.0.path().join("ca.pem"))?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Client { port, config: Arc::new(config) })
    }
}

struct Client {
    port: u16,
    config: Arc<ClientConfig>,
}

impl Client {
    fn connect(&self) -> Result<StreamOwned<ClientConnection, TcpStream>> {
        let socket = TcpStream::connect(("127.0.0.1", self.port))?;
        socket.set_read_timeout(Some(SILENCE))?;
        let mut stream = StreamOwned::new(
            ClientConnection::new(Arc::clone(&self.config), ServerName::try_from("localhost")?)?,
            socket,
        );
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(stream)
    }

    /// The certificate that a new connection is shown.
    fn shown(&self) -> Result<CertificateDer<'static>> {
        let stream = self.connect()?;
        let shown = stream.conn.peer_certificates().and_then(<[_]>::first).context("a certificate")?;
        Ok(shown.clone().into_owned())
    }

    /// The whole answer.
    fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Result<String> {
        let mut stream = self.connect()?;
        ensure!(stream.conn.alpn_protocol() == Some(b"http/1.1".as_slice()));
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

#[test]
fn the_page_a_login_and_an_agents_message_come_over_tls() -> Result<()> {
    let (authority, port) = (Authority::new()?, free_port()?);
    authority.sign("localhost", 90)?;
    let hub = SpawnedHub::start(&authority.config(port))?;
    let client = authority.client(port)?;
    let own = format!("localhost:{port}");
    let host = ("host", own.as_str());

    let page = client.call("GET", "/", &[host], "")?;
    ensure!(page.starts_with("HTTP/1.1 200"), "{page}");
    // By an address too: it is the connection that is safe, and elsewhere no header makes it so.
    let lan = ("host", "192.0.2.7");
    ensure!(client.call("GET", "/", &[lan], "")?.starts_with("HTTP/1.1 200"));
    let plain = hub.anybody(None).raw("GET", "/", &[lan, ("x-forwarded-proto", "https")], &[])?;
    ensure!(plain.status == 403, "{plain:?}");

    let (token, origin) = (hub.operator()?.token().to_owned(), format!("https://{own}"));
    let login = json!({ "token": token }).to_string();
    let signed_in = client.call("POST", "/v1/login", &[host, ("origin", &origin)], &login)?;
    let cookie = signed_in.lines().find_map(|line| line.strip_prefix("set-cookie: ")).context("a cookie")?;
    ensure!(cookie.starts_with("__Host-gatepost=") && cookie.contains("; Secure;"), "{cookie}");
    let cookie = ("cookie", cookie.split(';').next().unwrap_or_default());
    ensure!(client.call("GET", "/v1/logins", &[host, cookie], "")?.starts_with("HTTP/1.1 200"));
    let foreign = ("origin", "https://evil.example");
    ensure!(client.call("DELETE", "/v1/login", &[host, cookie, foreign], "")?.starts_with("HTTP/1.1 403"));
    ensure!(client.call("GET", "/", &[("host", "evil.example")], "")?.starts_with("HTTP/1.1 421"));

    let bearer = format!("Bearer {}", hub.agent("engineer")?.token());
    let message = json!({"to": "local:ann", "message": "Tea is ready. ".repeat(500)}).to_string();
    let sent = client.call("POST", "/v1/messages", &[host, ("authorization", &bearer)], &message)?;
    ensure!(sent.starts_with("HTTP/1.1 20") && sent.contains("\"id\""), "{sent}");

    let link = hub.cli(&["open", "--print"])?.well()?;
    ensure!(link.starts_with(&format!("{origin}/#in=")), "{link}");
    Ok(())
}

#[test]
fn what_speaks_no_tls_or_an_old_one_or_nothing_is_sent_away() -> Result<()> {
    let (authority, port) = (Authority::new()?, free_port()?);
    authority.sign("localhost", 90)?;
    let _hub = SpawnedHub::start(&authority.config(port))?;
    let said = |bytes: &[u8]| -> Result<(String, Duration)> {
        let (mut socket, start) = (TcpStream::connect(("127.0.0.1", port))?, Instant::now());
        socket.set_read_timeout(Some(SILENCE))?;
        socket.write_all(bytes)?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer)?;
        Ok((String::from_utf8_lossy(&answer).into_owned(), start.elapsed()))
    };
    let (plain, time) = said(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
    ensure!(plain.starts_with("HTTP/1.1 400") && plain.contains("https://"), "{plain}");
    ensure!(time < Duration::from_secs(5), "{time:?}");
    for begun in [&b""[..], b"\x16\x03\x01"] {
        let (answer, time) = said(begun)?;
        ensure!(answer.is_empty() && time > Duration::from_secs(5), "{answer:?} after {time:?}");
    }
    let handshake = |version: &str| -> Result<bool> {
        let at = format!("127.0.0.1:{port}");
        let mut client = Command::new("openssl");
        client.args(["s_client", "-connect", &at, version, "-cipher", "ALL@SECLEVEL=0"]).stdin(Stdio::null());
        Ok(client.output()?.status.success())
    };
    ensure!(handshake("-tls1_2")? && handshake("-tls1_3")?);
    ensure!(!handshake("-tls1_1")? && !handshake("-tls1")?, "an old TLS");
    Ok(())
}

#[test]
fn a_renewed_certificate_is_shown_after_a_reload_and_breaks_nothing_off() -> Result<()> {
    let (authority, port) = (Authority::new()?, free_port()?);
    authority.sign("localhost", 90)?;
    let hub = SpawnedHub::start(&authority.config(port))?;
    let client = authority.client(port)?;
    let first = client.shown()?;

    let mut stream = client.connect()?;
    let token = hub.operator()?.token().to_owned();
    write!(
        stream,
        "GET /v1/events HTTP/1.1\r\nhost: localhost:{port}\r\nauthorization: Bearer {token}\r\n\r\n"
    )?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line)?;
    ensure!(line.starts_with("HTTP/1.1 200"), "{line}");

    // Half of it is nothing: the certificate before holds.
    let key = fs::read(authority.0.path().join("key.pem"))?;
    authority.sign("localhost", 90)?;
    let new = fs::read(authority.0.path().join("key.pem"))?;
    fs::write(authority.0.path().join("key.pem"), key)?;
    let refused = hub.cli(&["reload"])?;
    ensure!(refused.status != 0 && refused.stderr.contains("web.key"), "{refused:?}");
    ensure!(client.shown()? == first);
    fs::write(authority.0.path().join("key.pem"), new)?;
    let changes = hub.cli(&["reload", "--json"])?.json()?;
    ensure!(changes["changed"] == json!(["web.cert"]), "{changes}");
    ensure!(client.shown()? != first);

    // The stream has it as well.
    while !line.contains("configuration.reloaded") {
        line.clear();
        ensure!(stream.read_line(&mut line)? > 0, "the stream ended");
    }
    let log = hub.log()?;
    ensure!(!log.contains("PRIVATE") && !log.contains("MIG"), "{log}");
    Ok(())
}

#[test]
fn what_is_wrong_with_a_certificate_is_said_at_the_start_and_by_a_check() -> Result<()> {
    let (authority, port) = (Authority::new()?, free_port()?);
    authority.sign("hub.example.org", 5)?;
    let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), &authority.config(port))?;
    let checked = hub.cli(&["check", "--offline"])?;
    ensure!(checked.status == 0, "{checked:?}");
    for warning in ["within 14 days: renew it", "is for hub.example.org, and the hub answers to no such name"]
    {
        ensure!(checked.stderr.contains(warning), "{}", checked.stderr);
    }
    let key = authority.0.path().join("key.pem");
    fs::copy(authority.0.path().join("ca.key"), &key)?;
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
    let wrong = "web.key: file:";
    let checked = hub.cli(&["check", "--offline"])?;
    ensure!(checked.status != 0 && checked.stderr.contains(wrong), "{checked:?}");
    let error = hub.run().err().context("it started")?.to_string();
    ensure!(error.contains(wrong) && error.contains("is not the key of the certificate"), "{error}");
    Ok(())
}

/// What OpenSSL says of a hub's certificate under this name, for somebody who trusts this authority.
fn judged(folder: &Path, port: u16, name: &str) -> Result<bool> {
    let at = format!("127.0.0.1:{port}");
    let client = Command::new("openssl")
        .args([
            "s_client",
            "-connect",
            &at,
            "-CAfile",
            "ca.pem",
            "-verify_return_error",
            "-verify_hostname",
            name,
        ])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    Ok(client.status.success())
}

#[test]
fn an_authority_of_the_hubs_own_is_trusted_once_and_vouches_for_the_hub_alone() -> Result<()> {
    let port = free_port()?;
    let config = |hosts: &str| {
        format!("[hub]\nhosts = {hosts}\n{CONFIG}[web]\nlisten = \"127.0.0.1:{port}\"\ntls = \"own\"\n")
    };
    let folder = tempfile::tempdir()?;
    let mut hub = SpawnedHub::start(&config(&format!("[\"gatepost.local:{port}\"]")))?;
    let at_hub = |hub: &SpawnedHub| -> Result<String> {
        let answer = hub.anybody(None).raw("GET", "/ca.pem", &[], &[])?;
        ensure!(answer.status == 200 && answer.kind == "application/x-x509-ca-cert", "{answer:?}");
        Ok(answer.body.as_str().context("PEM")?.to_owned())
    };
    let pem = at_hub(&hub)?;
    fs::write(folder.path().join("ca.pem"), &pem)?;
    ensure!(judged(folder.path(), port, "gatepost.local")? && !judged(folder.path(), port, "bank.example")?);
    let open = hub.cli(&["open", "--print"])?.well()?;
    ensure!(open.starts_with(&format!("https://gatepost.local:{port}/#in=")), "{open}");

    // The same authority after a restart and a reload, with a certificate that is not on disk.
    hub.cli(&["reload"])?.well()?;
    hub.kill()?;
    hub.run()?;
    ensure!(at_hub(&hub)? == pem && judged(folder.path(), port, "gatepost.local")?);

    // What a thief of its key makes of it for others, a client refuses.
    let own = hub.data_dir().join("authority.pem");
    ensure!(fs::metadata(&own)?.permissions().mode() & 0o777 == 0o600);
    fs::copy(&own, folder.path().join("both.pem"))?;
    for (name, good) in [("DNS:gatepost.local", true), ("DNS:bank.example", false), ("IP:127.0.0.1", false)] {
        fs::write(
            folder.path().join("names"),
            format!("subjectAltName={name}\nbasicConstraints=CA:FALSE\n"),
        )?;
        for arguments in [
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj / -keyout key.pem -out any.csr",
            "x509 -req -in any.csr -CA both.pem -CAkey both.pem -CAcreateserial -days 2 -extfile names -out any.pem",
        ] {
            openssl(folder.path(), &arguments.split_whitespace().collect::<Vec<_>>())?;
        }
        let verified = openssl(folder.path(), &["verify", "-CAfile", "ca.pem", "any.pem"]);
        ensure!(verified.is_ok() == good, "{name}: {verified:?}");
        if let Err(error) = verified {
            ensure!(error.to_string().contains("subtree violation"), "{name}: {error}");
        }
    }

    // Another name is another authority's.
    hub.kill()?;
    hub.configure(&config("[\"gatepost.local\", \"later.local\"]"))?;
    let checked = hub.cli(&["check", "--offline"])?;
    ensure!(checked.stderr.contains("was made before later.local came into [hub] hosts"), "{checked:?}");
    let sha256 = Command::new("openssl")
        .args(["x509", "-in", "ca.pem", "-noout", "-fingerprint", "-sha256"])
        .current_dir(folder.path())
        .output()?;
    let sha256 = String::from_utf8(sha256.stdout)?;
    let sha256 = sha256.trim().split('=').nth(1).context("a fingerprint")?;
    ensure!(checked.stderr.contains(sha256), "{sha256}: {checked:?}");
    hub.configure(&config("[\"later.local\"]"))?;
    let error = hub.run().err().context("it started")?.to_string();
    ensure!(error.contains("web.tls: ") && error.contains("made for other names"), "{error}");
    fs::remove_file(&own)?;
    hub.run()?;
    ensure!(at_hub(&hub)? != pem);
    ensure!(!hub.log()?.contains("PRIVATE"));
    Ok(())
}
