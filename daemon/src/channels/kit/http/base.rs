//! The address of a platform, as the configuration gives it, and the paths behind it.

use reqwest::Url;

/// A base URL that paths can be put after. Nothing in it is secret, and it has neither query nor fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base(Url);

impl Base {
    /// Reads the setting `key`.
    ///
    /// # Errors
    /// It is none; in words for whoever wrote it. The text is not repeated: somebody may have put a password into it.
    pub fn parse(key: &str, text: &str) -> Result<Self, String> {
        let refused =
            || format!("{key}: write https://HOST, with a port or path if need be, and nothing else");
        let url = Url::parse(text).map_err(|_| refused())?;
        let bare = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.has_host();
        if matches!(url.scheme(), "https" | "http") && bare { Ok(Self(url)) } else { Err(refused()) }
    }

    /// The address of this path behind it; each segment is escaped, so that none can become two.
    pub fn at(&self, path: &[&str]) -> Url {
        let mut url = self.0.clone();
        url.path_segments_mut()
            .expect("an http URL has a path: it was checked when it was read")
            .pop_if_empty()
            .extend(path);
        url
    }

    /// Whether what is said there crosses the network unprotected.
    pub fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Whether it is on this machine: somebody tries something out, and nothing crosses a network.
    pub fn is_here(&self) -> bool {
        ["127.0.0.1", "localhost"].contains(&self.host())
    }

    /// Its host, for people.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }
}

/// A webhook's address without its query, which has what is secret in it and may be renewed: where it leads stands before that.
pub fn without_query(address: &str) -> String {
    address.split(['?', '#']).next().unwrap_or(address).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_bare_url() {
        for good in ["https://hub.test", "http://127.0.0.1:8008", "https://hub.test/matrix/"] {
            assert!(Base::parse("url", good).is_ok(), "{good}");
        }
        for bad in ["hub.test", "ftp://hub.test", "https://u:pw@hub.test", "https://hub.test?x=1", "https://"]
        {
            let error = Base::parse("url", bad).unwrap_err();
            assert!(!error.contains("pw"), "{error}");
        }
    }

    #[test]
    fn a_path_stands_behind_it_and_no_segment_becomes_two() {
        let base = Base::parse("url", "https://hub.test/matrix/").unwrap();
        assert_eq!(base.at(&["a b", "../c?d"]).as_str(), "https://hub.test/matrix/a%20b/..%2Fc%3Fd");
    }
}
