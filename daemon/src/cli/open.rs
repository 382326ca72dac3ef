//! `gatepost open`.

use std::{
    env,
    io::IsTerminal as _,
    net::{IpAddr, SocketAddr},
    process::{Command, Stdio},
};

use reqwest::{Method, Url};
use serde_json::json;

use super::{Failed, output};
use crate::{
    client::{Client, Place, Request},
    config::Config,
    printing::{print_note, print_result},
};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the link and start no browser.
    #[arg(long)]
    print: bool,
    /// Print the link as JSON, and start no browser.
    #[arg(long)]
    json: bool,
}

/// Where a browser reaches the page, and what has to be done before it does.
#[derive(Debug, PartialEq, Eq)]
struct Way {
    base: String,
    first: Option<String>,
}

pub(super) async fn run(place: &Place, arguments: &Arguments) -> Result<(), Failed> {
    let client = Client::at(place)?;
    let (way, names) = match &place.hub {
        Some(hub) => (given(hub)?, vec![]),
        None => {
            let Config { hub, web, .. } = Config::load(&place.config).map_err(Failed::refused)?;
            match web.page(&hub.hosts) {
                Some(base) => (Way { base, first: None }, vec![]),
                None => (configured(hub.listen), hub.hosts),
            }
        }
    };
    let made = client.call(Method::POST, "/v1/login/code", Request::default()).await?;
    let (code, seconds) = (output::text(&made, "code"), made["seconds"].as_u64().unwrap_or_default());
    let link = format!("{}/#in={code}", way.base);
    if arguments.json {
        return Ok(print_result!("{}", json!({"ok": true, "url": link, "seconds": seconds}))?);
    }
    print_result!("{link}")?;
    print_note!("the link signs in once, within {} minutes", seconds / 60);
    if let Some(first) = way.first {
        print_note!("{first}");
    }
    for name in names {
        print_note!("behind your proxy the link begins with https://{name}/ instead");
    }
    if !arguments.print && may_start_a_browser() {
        start_browser(&link);
    }
    Ok(())
}

/// From where the hub listens.
fn configured(listen: SocketAddr) -> Way {
    let port = listen.port();
    let localhost = format!("http://localhost:{port}");
    match listen.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_loopback() && ip != std::net::Ipv4Addr::LOCALHOST => {
            Way { base: format!("http://{listen}"), first: None }
        }
        ip if ip.is_loopback() || ip.is_unspecified() => Way { base: localhost, first: over_ssh(port) },
        _ => Way { base: localhost, first: Some(tunnel(port, &listen.ip().to_string())) },
    }
}

/// From the URL that the command line was given.
fn given(hub: &str) -> Result<Way, Failed> {
    let usage = || Failed::Usage(format!("--hub {hub} is no URL of a hub, such as http://localhost:8787"));
    let url = Url::parse(hub).map_err(|_| usage())?;
    let (host, port) = url.host_str().zip(url.port_or_known_default()).ok_or_else(usage)?;
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    Ok(match (url.scheme(), is_local) {
        ("https", _) | (_, true) => Way { base: hub.trim_end_matches('/').to_owned(), first: None },
        _ => Way { base: format!("http://localhost:{port}"), first: Some(tunnel(port, "localhost")) },
    })
}

/// Somebody who is here from another machine has the browser there.
fn over_ssh(port: u16) -> Option<String> {
    env::var_os("SSH_CONNECTION").map(|_| tunnel(port, "localhost"))
}

fn tunnel(port: u16, to: &str) -> String {
    format!("for a browser on another machine, first run there: ssh -L {port}:{to}:{port} HUB")
}

/// Whether there is somebody who would see a browser, and whose it may be: nobody browses as root.
fn may_start_a_browser() -> bool {
    let has_display = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    has_display
        && std::io::stdout().is_terminal()
        && env::var_os("SSH_CONNECTION").is_none()
        && !rustix::process::geteuid().is_root()
}

fn start_browser(link: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if started.is_err() {
        print_note!("no browser could be started: open the link yourself");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_leads_to_where_a_browser_takes_the_page_for_safe() {
        for (listen, base, first) in [
            ("127.0.0.3:8787", "http://127.0.0.3:8787", None),
            ("192.0.2.7:8787", "http://localhost:8787", Some("192.0.2.7")),
        ] {
            let way = configured(listen.parse().unwrap());
            assert_eq!(way.base, base);
            assert_eq!(way.first, first.map(|to| tunnel(8787, to)));
        }
        for listen in ["127.0.0.1:8787", "0.0.0.0:8787", "[::]:8787", "[::1]:8787"] {
            assert_eq!(configured(listen.parse().unwrap()).base, "http://localhost:8787");
        }
        for (hub, base, tunnels) in [
            ("https://hub.example.org/", "https://hub.example.org", false),
            ("http://localhost:9", "http://localhost:9", false),
            ("http://[::1]:9", "http://[::1]:9", false),
            ("http://hub.lan:9", "http://localhost:9", true),
        ] {
            let way = given(hub).unwrap();
            assert_eq!((way.base.as_str(), way.first.is_some()), (base, tunnels), "{hub}");
        }
        assert!(given("hub").is_err());
    }
}
