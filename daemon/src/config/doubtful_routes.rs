//! Routes and accounts that hear less than they seem to.
//!
//! Each can be run with, and nothing is heard by it, or by one of two: somebody who set it up would wait for words that never come. What a
//! program of the owner's reports ([`crate::intake`]) needs no account that receives, so that is a warning, too.

use std::collections::BTreeSet;

use super::Config;
use crate::{
    channels::{
        fingerprint::Fingerprint,
        registry::{NAMES, kind},
    },
    policy::Pattern,
    router::{Engage, Ignored, Route, Senders, UnknownSenders},
    spelling::nearest,
};

/// Channels on which programs speak: nothing there is a mention, or a direct message.
const PROGRAMS: [&str; 2] = ["webhook", "ntfy"];
/// The channel of which nothing comes but what a program reports.
const REPORTED: &str = "local";

impl Config {
    /// What to mend of routes, and of accounts that receive.
    pub(super) fn doubtful_routes(&self) -> Vec<String> {
        let routes = &self.checked().routing.routes;
        let mut found: Vec<String> = routes.iter().flat_map(|route| self.doubts(route)).collect();
        found.extend(self.unheard());
        found.extend(self.twins());
        if self.hub.platform_listen.is_some_and(|listen| listen.port() == 0) {
            found.push(
                "hub.platform_listen: port 0 is another one at every start, and no tunnel finds it: write a number, such as 8791".into(),
            );
        }
        found
    }

    fn doubts(&self, route: &Route) -> Vec<String> {
        let key = format!("routes.{}", route.name);
        let channels: BTreeSet<&str> = route.from.iter().filter_map(Pattern::channel).collect();
        let mut found: Vec<String> = channels
            .iter()
            .filter_map(|channel| self.nothing_comes(route, channel))
            .map(|problem| format!("{key}.{problem}"))
            .collect();
        for channel in &channels {
            found.extend(self.nobody_wakes(route, channel).map(|problem| format!("{key}.{problem}")));
            let rights = self.checked().agents.get(&route.agent).map(|agent| &agent.rights);
            if !PROGRAMS.contains(channel) && rights.is_some_and(|rights| !rights.reach(channel)) {
                found.push(format!(
                    "{key}.agent: agents.{}.allow has nothing on {channel}: it could answer nobody there; add \"{channel}:*\" or the address",
                    route.agent
                ));
            }
        }
        match (route.unknown, route.senders, route.ignored) {
            (Some(UnknownSenders::Strict), Senders::All, _) => found.push(format!(
                "{key}.senders: \"all\" changes nothing beside unknown = \"strict\", by which strangers' words are dropped: leave one of them out"
            )),
            (Some(UnknownSenders::Public), Senders::Known, Ignored::Drop) => found.push(format!(
                "{key}.unknown: \"public\" changes nothing beside senders = \"known\": write senders = \"all\", or ignored = \"accumulate\""
            )),
            _ => {}
        }
        found
    }

    /// Why nothing comes by a route from a channel that it names, and what to write; behind the key's last part.
    fn nothing_comes(&self, route: &Route, channel: &str) -> Option<String> {
        if kind(channel).is_none() {
            let meant = nearest(channel, NAMES.iter().copied());
            let meant = meant.map(|meant| format!(", did you mean {meant:?}?")).unwrap_or_default();
            return Some(format!("from: there is no channel {channel:?}{meant}"));
        }
        let Some(accounts) = self.channels.get(channel) else {
            return Some(format!(
                "from: there is no account on {channel}: add [channels.{channel}.home] with receive = true"
            ));
        };
        if let Some(account) = route.account.as_ref().filter(|account| !accounts.contains_key(*account)) {
            let known = accounts.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Some(format!("account: there is no [channels.{channel}.{account}]; there is: {known}"));
        }
        let its = |account: &str| route.account.as_deref().is_none_or(|named| named == account);
        let hears = accounts.iter().any(|(account, settings)| its(account) && receives(settings));
        (!hears && channel != REPORTED).then(|| {
            format!(
                "from: no account on {channel} that it is for reads what people write: set receive = true; without it comes only what a program of yours reports"
            )
        })
    }

    /// Why nobody wakes the agent of a route from a channel of programs, and what to write.
    fn nobody_wakes(&self, route: &Route, channel: &str) -> Option<String> {
        if !PROGRAMS.contains(&channel) {
            return None;
        }
        if !matches!(route.engage, Engage::Pattern(_)) {
            return Some(format!(
                "engage: nothing on {channel} is a mention, so nothing wakes {}: write engage = \"pattern\" and a pattern, such as \".\"",
                route.agent
            ));
        }
        let is_stranger =
            |settings: &toml::Table| settings.get("trust").and_then(toml::Value::as_str) == Some("unknown");
        let accounts = self.channels.get(channel)?;
        let its = |account: &str| route.account.as_deref().is_none_or(|named| named == account);
        let of_strangers = channel == "ntfy"
            || accounts.iter().any(|(account, settings)| its(account) && is_stranger(settings));
        let lets_in = route.unknown == Some(UnknownSenders::Public) && route.senders == Senders::All;
        (of_strangers && !lets_in).then(|| {
            format!(
                "senders: who posts on {channel} is a stranger, and wakes nobody: write senders = \"all\" and unknown = \"public\""
            )
        })
    }

    /// Accounts that receive, and no route leads anywhere from them.
    fn unheard(&self) -> Vec<String> {
        let routing = &self.checked().routing;
        if routing.default_agent.is_some() {
            return vec![];
        }
        let leads = |route: &Route, channel: &str, account: &str| {
            route.account.as_deref().is_none_or(|named| named == account)
                && route.from.iter().any(|pattern| pattern.is_on(channel))
        };
        let heard =
            |channel: &str, account: &str| routing.routes.iter().any(|route| leads(route, channel, account));
        let all = self.receiving().filter(|(channel, account, _)| !heard(channel, account));
        all.map(|(channel, account, _)| {
            format!(
                "channels.{channel}.{account}: it receives, and no route leads to an agent: add [routes.{account}] with from = [\"{channel}:*\"] and an agent, or [routing] default_agent"
            )
        })
        .collect()
    }

    /// Accounts that receive and are one on their platform.
    fn twins(&self) -> Vec<String> {
        let mut seen: Vec<(&str, &str, Fingerprint)> = vec![];
        let mut found = vec![];
        for (channel, account, settings) in self.receiving() {
            let Some(kind) = kind(channel).filter(|_| !PROGRAMS.contains(&channel)) else { continue };
            let who = Fingerprint::of(kind, settings);
            // Nothing in its settings says who it is.
            if who == Fingerprint::of(kind, &toml::Table::new()) {
                continue;
            }
            match seen.iter().find(|(of, _, other)| *of == channel && *other == who) {
                Some((_, other, _)) => found.push(format!(
                    "channels.{channel}.{account}: it is the same account there as channels.{channel}.{other}, and one would take what the other is to hear: give it its own, or remove one"
                )),
                None => seen.push((channel, account, who)),
            }
        }
        found
    }

    fn receiving(&self) -> impl Iterator<Item = (&str, &str, &toml::Table)> {
        let accounts = self.channels.iter().flat_map(|(channel, accounts)| {
            accounts.iter().map(move |(account, settings)| (channel.as_str(), account.as_str(), settings))
        });
        accounts.filter(|(.., settings)| receives(settings))
    }
}

fn receives(settings: &toml::Table) -> bool {
    settings.get("receive").and_then(toml::Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn doubts(text: &str) -> Vec<String> {
        let agent = "[agents.a]\nallow = [\"telegram:*\", \"local:*\"]\n";
        let config = Config::parse(&format!("{agent}{text}"), Path::new("gatepost.toml")).unwrap();
        config.doubtful_routes()
    }

    fn telegram(account: &str, receive: bool) -> String {
        format!(
            "[channels.telegram.{account}]\ntoken = \"env:GATEPOST_NO_SUCH_{account}\"\nreceive = {receive}\n"
        )
    }

    fn route(rest: &str) -> String {
        format!("[routes.r]\nagent = \"a\"\n{rest}\n")
    }

    #[test]
    fn what_never_hears_is_named_with_what_to_write() {
        let home = telegram("home", true);
        let from = |entry: &str| route(&format!("from = [{entry:?}]"));
        let webhook = |rest: &str| format!("[channels.webhook.w]\nreceive = true\n{rest}");
        let ntfy = "[channels.ntfy.n]\nreceive = true\n";
        for (text, says) in [
            (home.clone(), "channels.telegram.home: it receives, and no route leads"),
            (telegram("home", false) + &from("telegram:*"), "routes.r.from: no account on telegram"),
            (
                home.clone() + &from("telegram:*") + "account = \"zz\"\n",
                "routes.r.account: there is no [channels.telegram.zz]",
            ),
            (
                home.clone() + &route("from = [\"telegram:*\", \"slack:*\"]"),
                "routes.r.from: there is no account on slack",
            ),
            (home.clone() + &route("from = [\"telegram:*\", \"slak:*\"]"), "did you mean \"slack\"?"),
            (
                home.clone() + &from("telegram:*") + "senders = \"all\"\nunknown = \"strict\"\n",
                "routes.r.senders: \"all\" changes nothing",
            ),
            (
                home.clone() + &from("telegram:*") + "unknown = \"public\"\n",
                "routes.r.unknown: \"public\" changes nothing",
            ),
            (webhook("") + &from("webhook:*"), "engage = \"pattern\""),
            (
                webhook("trust = \"unknown\"\n")
                    + &from("webhook:*")
                    + "engage = \"pattern\"\npattern = \".\"\n",
                "routes.r.senders: who posts on webhook is a stranger",
            ),
            (ntfy.to_owned() + &from("ntfy:door"), "nothing on ntfy is a mention"),
            (
                "[channels.discord.home]\nreceive = true\n".to_owned() + &from("discord:*"),
                "agents.a.allow has nothing on discord",
            ),
            ("[hub]\nplatform_listen = \"127.0.0.1:0\"\n".to_owned(), "hub.platform_listen: port 0"),
        ] {
            let found = doubts(&text);
            assert!(found.iter().any(|found| found.contains(says)), "{text}\n{says}\n{found:?}");
        }
    }

    #[test]
    fn what_hears_is_not_named() {
        let home = telegram("home", true);
        for text in [
            home.clone() + &route("from = [\"telegram:5\"]\naccount = \"home\""),
            home.clone() + &route("from = [\"*\"]\nsenders = \"all\"\nunknown = \"public\""),
            home.clone() + &route("from = [\"telegram:*\"]\nunknown = \"public\"\nignored = \"accumulate\""),
            home.clone() + "[routing]\ndefault_agent = \"a\"\n",
            telegram("home", false),
            "[channels.local.home]\n".to_owned() + &route("from = [\"local:*\"]"),
            "[channels.ntfy.n]\nreceive = true\n".to_owned()
                + &route(
                    "from = [\"ntfy:*\"]\nengage = \"pattern\"\npattern = \".\"\nsenders = \"all\"\nunknown = \"public\"",
                ),
            "[hub]\nplatform_listen = \"127.0.0.1:8791\"\n".to_owned(),
        ] {
            assert_eq!(doubts(&text), [""; 0], "{text}");
        }
    }

    #[test]
    fn two_accounts_that_hear_as_one_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let account = |name: &str, token: &str, receive: bool| {
            let file = folder.path().join(name);
            std::fs::write(&file, token).unwrap();
            format!("[channels.telegram.{name}]\ntoken = \"file:{}\"\nreceive = {receive}\n", file.display())
        };
        let with = |b: String| account("a", "123:first", true) + &b + &route("from = [\"telegram:*\"]");
        let [found] = &doubts(&with(account("b", "123:second", true)))[..] else { panic!("none, or more") };
        assert!(
            found.starts_with("channels.telegram.b: it is the same account there as channels.telegram.a"),
            "{found}"
        );
        assert_eq!(doubts(&with(account("b", "124:first", true))), [""; 0]);
        assert_eq!(doubts(&with(account("b", "123:second", false))), [""; 0]);
    }
}
