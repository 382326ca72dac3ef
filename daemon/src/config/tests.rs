use std::fs;

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("gatepost.toml"))
}

#[test]
fn an_empty_file_is_a_hub_that_sends_nothing() {
    let config = parse("").unwrap();
    assert!(config.agents.is_empty() && config.channels.is_empty());
    assert!(config.hub.listen.ip().is_loopback() && config.broker.listen.ip().is_loopback());
}

#[test]
fn an_unknown_key_is_answered_with_its_line_and_its_neighbour() {
    let error = parse("[agents.engineer]\nallow = []\ncross_contxt = \"allow\"\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "gatepost.toml:3: unknown key `agents.engineer.cross_contxt`, did you mean `cross_context`?"
    );
    let error = parse("[hbu]\n").unwrap_err();
    assert_eq!(error.to_string(), "gatepost.toml:1: unknown key `hbu`, did you mean `hub`?");
    let error = parse("[channels.emial.work]\nhost = \"x\"\n").unwrap_err();
    assert_eq!(error.to_string(), "gatepost.toml:1: unknown key `channels.emial`, did you mean `email`?");
    let error = parse("[channels.local.home]\nlimt = 5\n").unwrap_err();
    assert!(error.to_string().contains("did you mean `limit`?"), "{error}");
}

#[test]
fn a_wrong_value_is_shown_where_it_stands() {
    let error = parse("[agents.engineer]\ncross_context = \"maybe\"\n").unwrap_err().to_string();
    assert!(error.starts_with("gatepost.toml:2: ") && error.contains("maybe"), "{error}");
    let error = parse("[approval]\nttl = \"soon\"\n").unwrap_err().to_string();
    assert!(error.contains("\"soon\" is not a length of time"), "{error}");
    let error = parse("[agents.engineer]\nhold = [\"emial:*\"]\n").unwrap_err().to_string();
    assert!(error.contains("no channel \"emial\""), "{error}");
    let error = parse("[agents.engineer]\nallow = [\"slack\"]\n").unwrap_err().to_string();
    assert!(error.contains("channel:address"), "{error}");
}

#[test]
fn the_address_for_a_tunnel_is_none_of_the_others() {
    let at = |address: &str, rest: &str| parse(&format!("[hub]\nplatform_listen = \"{address}\"\n{rest}"));
    assert_eq!(at("127.0.0.1:8791", "").unwrap().hub.platform_listen.map(|at| at.port()), Some(8791));
    for (address, taken) in [("127.0.0.1:8787", "hub.listen"), ("0.0.0.0:1883", "broker.listen")] {
        let error = at(address, "").unwrap_err().to_string();
        assert!(error.contains("hub.platform_listen") && error.contains(taken), "{error}");
    }
    at("0.0.0.0:1883", "[broker]\nurl = \"mqtt://broker.home\"\n").unwrap();
}

#[test]
fn a_hook_is_asked_in_one_way_and_never_through_the_net_in_plain() {
    let on = "[hooks.h]\non = \"message_sending\"\n";
    for (keys, problem) in [
        ("", "give one of"),
        ("command = [\"/bin/x\"]\nbuiltin = \"secrets\"", "give one of"),
        ("command = []", "absolute path"),
        ("command = [\"redact\"]", "absolute path"),
        ("url = \"http://example.org/\"", "in plain"),
        ("url = \"https://user:word@example.org/\"", "no name and password"),
        ("url = \"ftp://example.org/\"", "https"),
        ("command = [\"/bin/x\"]\ntoken = \"env:T\"", "token goes with url"),
        ("command = [\"/bin/x\"]\ntimeout = \"1h\"", "at most 5m"),
        ("builtin = \"magic\"", "unknown variant"),
        ("command = [\"/bin/x\"]\ntools = [\"message\"]", "goes with before_tool_call"),
        ("builtin = \"guide\"", "runs on tool_result"),
        ("comand = [\"/bin/x\"]", "did you mean `command`?"),
    ] {
        let error = parse(&format!("{on}{keys}\n")).unwrap_err().to_string();
        assert!(error.contains(problem), "{keys}: {error}");
    }
    for keys in [
        "url = \"https://example.org/x\"\ntoken = \"env:T\"",
        "url = \"http://[::1]:1/\"",
        "builtin = \"secrets\"",
    ] {
        parse(&format!("{on}{keys}\n")).unwrap_or_else(|error| panic!("{keys}: {error}"));
    }
    let error = parse("[hooks.h]\non = \"message_sent\"\nbuiltin = \"secrets\"\n").unwrap_err();
    assert!(error.to_string().contains("runs on message_sending"), "{error}");
    for on in ["before_tool_call", "tool_result"] {
        parse(&format!("[hooks.h]\non = \"{on}\"\ncommand = [\"/bin/x\"]\ntools = [\"message\"]\n")).unwrap();
    }
    let misspelt = "[hooks.h]\non = \"before_tool_call\"\ncommand = [\"/bin/x\"]\ntools = [\"mesage\"]\n";
    assert!(parse(misspelt).unwrap_err().to_string().contains("tools are message, send_message"));
    parse("[hooks.guide]\non = \"tool_result\"\nbuiltin = \"guide\"\nenabled = false\n").unwrap();
}

#[test]
fn a_voice_is_a_program_or_a_service_and_never_through_the_net_in_plain() {
    for (keys, problem) in [
        ("command = [\"speak\"]", "absolute path"),
        ("command = []", "absolute path"),
        ("command = [\"/bin/x\"]\nurl = \"https://v.test/v1\"", "one of command and url"),
        ("command = [\"/bin/x\"]\nvoice = \"de\"", "give it as an argument"),
        ("url = \"http://v.test/v1\"", "in plain"),
        ("url = \"https://v.test/v1?x=1\"", "before /audio/speech"),
        ("token = \"env:T\"", "go with url"),
        ("model = \"tts-1\"", "go with url"),
        ("timeout = \"1h\"", "at most 5m"),
        ("max_text = 0", "at least 1"),
        ("vioce = \"de\"", "did you mean `voice`?"),
    ] {
        let error = parse(&format!("[voice]\n{keys}\n")).unwrap_err().to_string();
        assert!(error.contains(problem), "{keys}: {error}");
    }
    for keys in
        ["", "voice = \"de\"", "url = \"http://127.0.0.1:1/v1\"", "enabled = false\ncommand = [\"/bin/x\"]"]
    {
        parse(&format!("[voice]\n{keys}\n")).unwrap_or_else(|error| panic!("{keys}: {error}"));
    }
}

#[test]
fn files_of_tls_go_with_a_broker_that_is_reached_by_tls() {
    for (keys, problem) in [
        ("url = \"mqtts://h\"\ncert = \"a.pem\"", "cert and key go together"),
        ("ca = \"a.pem\"", "write url = \"mqtts://host:port\""),
        ("url = \"mqtt://h\"\nca = \"a.pem\"", "write url = \"mqtts://host:port\""),
    ] {
        let error = parse(&format!("[broker]\n{keys}\n")).unwrap_err().to_string();
        assert!(error.starts_with("gatepost.toml:1: broker: ") && error.contains(problem), "{keys}: {error}");
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("gatepost.toml");
    let text =
        "[broker]\nurl = \"mqtts://h\"\nca = \"ca.pem\"\ncert = \"/etc/hub.pem\"\nkey = \"hub-key.pem\"\n";
    fs::write(&file, text).unwrap();
    let broker = Config::load(&file).unwrap().broker;
    assert_eq!(broker.ca, Some(directory.path().join("ca.pem")), "relative to the file");
    assert_eq!(broker.cert, Some("/etc/hub.pem".into()));
}

#[test]
fn hub_and_broker_do_not_listen_at_one_address() {
    for (hub, broker) in [
        ("127.0.0.1:1883", "127.0.0.1:1883"),
        ("0.0.0.0:1883", "127.0.0.1:1883"),
        ("127.0.0.1:1883", "0.0.0.0:1883"),
    ] {
        let error =
            parse(&format!("[hub]\nlisten = \"{hub}\"\n[broker]\nlisten = \"{broker}\"\n")).unwrap_err();
        let wanted = format!("gatepost.toml:4: broker.listen: hub.listen is {hub} already");
        assert!(error.to_string().starts_with(&wanted), "{error}");
    }
    for fine in [
        "[hub]\nlisten = \"127.0.0.1:0\"\n[broker]\nlisten = \"127.0.0.1:0\"\n",
        "[hub]\nlisten = \"127.0.0.1:1883\"\n[broker]\nlisten = \"127.0.0.2:1883\"\n",
        // A broker elsewhere leaves its own address free.
        "[hub]\nlisten = \"127.0.0.1:1883\"\n[broker]\nurl = \"mqtt://127.0.0.1\"\n",
    ] {
        parse(fine).unwrap_or_else(|error| panic!("{error}\n{fine}"));
    }
}

#[test]
fn a_quorum_that_can_never_be_met_is_refused_and_the_sentence_says_why() {
    for quorum in [0, 33, u32::MAX] {
        let error = parse(&format!("[approval]\nquorum = {quorum}\n")).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "gatepost.toml:2: approval.quorum: at least 1, and at most 32: no more companions"
            ),
            "{error}"
        );
    }
    assert_eq!(parse("[approval]\nquorum = 32\n").unwrap().approval.quorum, 32);
}

#[test]
fn the_short_template_is_valid_and_short_and_names_the_full_one() {
    let config = parse(template::SHORT).unwrap();
    assert!(config.agents.contains_key("engineer") && config.agents.contains_key("shell"));
    assert!(config.channels["local"].contains_key("home") && config.hooks.is_empty());
    // What stands there is what holds without it, so that a reader may take any line away.
    assert_eq!(config.hub.listen, Hub::default().listen);
    assert_eq!(config.hub.data_dir, Path::new(paths::DEFAULT_DATA_DIR));
    assert_eq!(config.broker.listen, Broker::default().listen);
    assert_eq!(config.approval.terms(), Approval::default().terms());
    assert!(!config.approval.allow_software_companion);
    assert!(template::SHORT.contains("gatepost init --full"));
    assert!((25..=35).contains(&template::SHORT.lines().count()));
    assert!(template::SHORT.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn the_services_template_has_the_places_of_the_package() {
    for template in [template::SHORT, &template::full()] {
        let service = template::of_service(template);
        assert_eq!(parse(&service).unwrap().hub.data_dir, Path::new(paths::SERVICE_DATA_DIR));
        assert!(!service.contains("= \"gatepost-data\""));
    }
    assert!(template::of_service(template::SHORT).contains("token = \"credential:telegram\""));
}

#[test]
fn the_short_template_is_valid_with_its_example_of_a_channel() {
    let (before, example) = template::SHORT.split_once("# [channels.telegram.home]").unwrap();
    let example: String =
        example.lines().map(|line| format!("{}\n", line.trim_start_matches("# "))).collect();
    let config = parse(&format!("{before}[channels.telegram.home]{example}")).unwrap();
    assert!(config.channels["telegram"]["home"].contains_key("token"));
}

#[test]
fn the_template_is_valid_and_names_every_key() {
    let text = template::full();
    parse(&text).unwrap();
    let tables = keys::SECTIONS.iter().map(|section| section.keys);
    let channels = crate::channels::registry::KINDS.iter().map(|kind| kind.keys);
    let channels = channels.chain([crate::channels::account::KEYS]);
    for key in tables.chain(channels).flatten() {
        assert!(text.contains(&format!("{} = ", key.name)), "{}", key.name);
    }
}

#[test]
fn the_template_is_valid_with_every_commented_line_switched_on() {
    let on: String = template::full()
        .lines()
        .map(|line| match line.strip_prefix("#: ") {
            Some(setting) => format!("{setting}\n"),
            None => format!("{line}\n"),
        })
        .collect();
    let config = parse(&on).unwrap_or_else(|error| panic!("{error}\n{on}"));
    assert_eq!(config.hub.data_dir, Path::new(paths::DEFAULT_DATA_DIR), "the example is the default");
    assert_eq!(config.hub.max_body, Hub::default().max_body);
    assert_eq!(config.hub.ttl, Hub::default().ttl);
    assert_eq!(config.queue.max_messages, Queue::default().max_messages);
    assert_eq!(config.queue.max_bytes, Queue::default().max_bytes);
    assert_eq!(config.queue.backup_every, Queue::default().backup_every);
    assert_eq!(config.queue.backups, Queue::default().backups);
    assert_eq!(config.queue.retention, Queue::default().retention);
    assert_eq!(config.queue.audit_retention, Queue::default().audit_retention);
    let (files, usual) = (config.files, FileBounds::default());
    assert_eq!((files.max_size, files.max_together), (usual.max_size, usual.max_together));
    assert_eq!((files.max_count, files.max_stored), (usual.max_count, usual.max_stored));
    assert_eq!(files.url_timeout, usual.url_timeout);
    assert_eq!(config.broker.listen, Broker::default().listen);
    assert_eq!(config.approval.terms(), Approval::default().terms());
    assert_eq!(config.contexts.ttl, Contexts::default().ttl);
    assert_eq!(config.voice.bounds(), voice::Voice::default().bounds());
}

#[test]
fn every_error_names_the_file_and_the_line_and_shows_no_secret_that_stands_there() {
    for (text, at) in [
        ("[hub]\nlisten = \n", "gatepost.toml:2: "),
        ("[agents.engineer]\ncross_context = \"maybe\"\n", "gatepost.toml:2: "),
        (
            "[agents.engineer]\ndecorate = true\nhold = [\"emial:*\"]\n",
            "gatepost.toml:3: agents.engineer.hold: ",
        ),
        ("\n[book]\nann = \"ann\"\n", "gatepost.toml:3: book.ann: "),
        ("[queue]\nmax_messages = 0\n", "gatepost.toml:1: queue: "),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(at), "{text}: {error}");
    }
    let error = parse("[broker]\nuser = \"hub\"\npassword = \"pa55w0rd\"\n").unwrap_err().to_string();
    assert!(error.starts_with("gatepost.toml:3: ") && !error.contains("pa55w0rd"), "{error}");
}

/// A configuration as it is printed for programmers, without the lines on which its entries stand.
fn debugged(text: &str) -> String {
    let config = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    format!("{:?}", Config { places: entries::Places::default(), text: "".into(), ..config })
}

#[test]
fn what_is_called_a_default_holds_without_being_written() {
    let with_agent = "[agents.x]\n";
    for section in keys::SECTIONS {
        for key in section.keys {
            let (name, base) = match section.name {
                "agents.NAME" => ("agents.x", with_agent),
                // Their keys go together, and the sort of one decides which others there are.
                "hooks.NAME" => ("hooks.x", "[hooks.x]\non = \"message_sending\"\ncommand = [\"/bin/x\"]\n"),
                "heartbeat.NAME" => ("heartbeat.x", "[agents.x]\n[heartbeat.x]\n"),
                "people.NAME" => ("people.x", "[people.x]\nids = [\"telegram:1\"]\n"),
                "wake.NAME" => ("wake.x", "[agents.x]\n[wake.x]\nagent = \"x\"\ncommand = [\"/bin/x\"]\n"),
                "routes.NAME" => {
                    ("routes.x", "[agents.x]\n[routes.x]\nfrom = [\"local:*\"]\nagent = \"x\"\n")
                }
                name => (name, ""),
            };
            // Whether they are given is kept, for each goes with one way: what they come to is tested with the ways.
            if section.name == "wake.NAME" && ["input", "max_tokens", "history"].contains(&key.name) {
                continue;
            }
            // They stand in its base, for without them there is none.
            if ["ids", "from", "agent", "command"].contains(&key.name)
                && base.contains(&format!("\n{} = ", key.name))
            {
                continue;
            }
            // A model is a service's: without a service it is an error, and with one it is its default.
            if (section.name, key.name) == ("voice", "model") {
                continue;
            }
            if section.name == "hooks.NAME" && !["timeout", "enabled"].contains(&key.name) {
                continue;
            }
            let head = if base.is_empty() { format!("[{name}]\n") } else { base.to_owned() };
            let written = format!("{head}{} = {}\n", key.name, key.value);
            match key.is_default {
                true => assert_eq!(debugged(&written), debugged(base), "{name}.{}", key.name),
                // An example may need other keys beside it.
                false => assert!(
                    parse(&written).is_err() || debugged(&written) != debugged(base),
                    "{name}.{}",
                    key.name
                ),
            }
        }
    }
}

#[test]
fn the_pages_address_over_tls_of_the_hubs_own_has_its_first_name_that_is_good_there() {
    for (listen, hosts, page) in [
        ("0.0.0.0:8443", "[\"hub.example.org\", \"hub\"]", "https://hub.example.org:8443"),
        ("0.0.0.0:8443", "[\"hub.lan:8787\", \"hub.lan:8443\"]", "https://hub.lan:8443"),
        ("[::]:443", "[\"hub.example.org\"]", "https://hub.example.org"),
        ("127.0.0.1:8443", "[]", "https://localhost:8443"),
    ] {
        let text = format!(
            "[hub]\nhosts = {hosts}\n[web]\nlisten = \"{listen}\"\ncert = \"c\"\nkey = \"k\"\n\
             [person]\nnotify = [\"local:ann\"]\n[channels.local.home]\n"
        );
        let config = Config::parse(&text, Path::new("gatepost.toml")).unwrap();
        assert_eq!(config.web.page(&config.hub.hosts).as_deref(), Some(page));
        assert_eq!(config.checked().notify.as_ref().unwrap().page, page, "what a notification leads to");
    }
}

#[test]
fn tls_of_the_hubs_own_is_whole_and_has_an_address_of_its_own() {
    let web = |text: &str| Config::parse(text, Path::new("gatepost.toml")).map(drop);
    let files = "cert = \"c\"\nkey = \"k\"";
    for (text, says) in [
        ("[web]\nlisten = \"127.0.0.1:8443\"".to_owned(), "go together"),
        (format!("[web]\n{files}"), "go together"),
        ("[web]\nlisten = \"127.0.0.1:8443\"\ncert = \"c\"".to_owned(), "go together"),
        (format!("[web]\nlisten = \"0.0.0.0:8787\"\n{files}"), "hub.listen is 127.0.0.1:8787 already"),
        (format!("[web]\nlisten = \"[::]:1883\"\n{files}"), "broker.listen is 127.0.0.1:1883 already"),
    ] {
        let error = web(&text).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    web(&format!("[web]\nlisten = \"127.0.0.1:8443\"\n{files}")).unwrap();
}
