//! The certificate that the hub's own authority signs for it: made when the hub starts, and again before it ends.

use std::{ops::Range, path::Path, sync::Arc, time::Duration};

use super::{
    authority::{Authority, AuthorityError, GOOD_FOR, names},
    certificate::Certificate,
};

/// A certificate that ends within this is made anew.
const LEFT: Duration = Duration::from_hours(30 * 24);

/// An authority, and what it has signed last.
pub struct Own {
    authority: Authority,
    names: Vec<String>,
    certificate: Certificate,
    /// While it is shown, since 1970.
    shown: Range<Duration>,
}

impl Own {
    /// By the authority in this data directory, for a hub of these names, at this time (since 1970); with what is not right about it.
    ///
    /// # Errors
    /// It cannot be used, or is for none of these names.
    pub fn open(
        directory: &Path,
        hosts: &[String],
        now: Duration,
    ) -> Result<(Self, Vec<String>), AuthorityError> {
        let (names, mut warnings) = usable(hosts)?;
        let authority = Authority::open(directory, &names)?;
        let (names, others) = permitted(&authority, directory, names)?;
        warnings.extend(others);
        let certificate = signed(&authority, &names, now)?;
        Ok((Self { authority, names, certificate, shown: range(now) }, warnings))
    }

    /// What is not right about the authority in this data directory, if there is one already.
    ///
    /// # Errors
    /// It cannot be used, or is for none of these names.
    pub fn check(directory: &Path, hosts: &[String]) -> Result<Vec<String>, AuthorityError> {
        let (names, mut warnings) = usable(hosts)?;
        if let Some(authority) = Authority::kept(directory)? {
            warnings.extend(permitted(&authority, directory, names)?.1);
        }
        Ok(warnings)
    }

    /// The SHA-256 of the authority's certificate in this data directory, as systems show it; nothing, if there is none yet.
    pub fn fingerprint_in(directory: &Path) -> Option<String> {
        Some(Authority::kept(directory).ok()??.fingerprint())
    }

    /// The certificate that is shown at this time. It is a new one if the clock has left the time of the last.
    pub(super) fn certificate(&mut self, now: Duration) -> &Certificate {
        if !self.shown.contains(&now) {
            match signed(&self.authority, &self.names, now) {
                Ok(certificate) => self.certificate = certificate,
                Err(error) => tracing::error!(%error, "the hub shows its old certificate"),
            }
            self.shown = range(now);
        }
        &self.certificate
    }

    /// The authority's certificate, for the devices that are to trust it.
    pub(super) fn pem(&self) -> Arc<str> {
        self.authority.pem()
    }

    /// Its SHA-256, as systems show it.
    pub fn fingerprint(&self) -> String {
        self.authority.fingerprint()
    }
}

fn range(now: Duration) -> Range<Duration> {
    now..now + GOOD_FOR - LEFT
}

fn signed(authority: &Authority, names: &[String], now: Duration) -> Result<Certificate, AuthorityError> {
    let (certificate, key) = authority.sign(names, now)?;
    Certificate::new(vec![certificate], key).map_err(AuthorityError::Use)
}

/// The names that a certificate can be for, and what to say of the others.
fn usable(hosts: &[String]) -> Result<(Vec<String>, Vec<String>), AuthorityError> {
    let (names, others) = names(hosts);
    if names.is_empty() {
        return Err(AuthorityError::Nameless);
    }
    let warning = |other| {
        format!(
            "[hub] hosts: a certificate cannot be for {other:?}, so nobody reaches the page there over TLS"
        )
    };
    Ok((names, others.iter().map(warning).collect()))
}

/// The names that an authority is for, and what to say of the others.
fn permitted(
    authority: &Authority,
    directory: &Path,
    names: Vec<String>,
) -> Result<(Vec<String>, Option<String>), AuthorityError> {
    let (names, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| authority.permits(name));
    if names.is_empty() {
        return Err(AuthorityError::Names(Authority::path(directory)));
    }
    let warning = (!others.is_empty()).then(|| {
        format!(
            "the hub's own authority was made before {} came into [hub] hosts, so nobody reaches the page there over TLS: delete {}, restart \
             the hub, and have every device trust the new one",
            others.join(", "),
            Authority::path(directory).display()
        )
    });
    Ok((names, warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2027-01-15.
    const NOW: Duration = Duration::from_secs(1_800_000_000);
    const DAY: Duration = Duration::from_hours(24);

    fn hosts(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.into()).collect()
    }

    #[test]
    fn it_is_renewed_a_month_before_it_ends_and_when_the_clock_was_wrong() {
        let folder = tempfile::tempdir().unwrap();
        // A machine that begins in 1970 shows what is good in 2026.
        let (mut own, _) = Own::open(folder.path(), &hosts(&["hub"]), Duration::ZERO).unwrap();
        let mut last = own.certificate(Duration::ZERO).config();
        for (at, renewed) in [
            (DAY, false),
            (NOW, true),
            (NOW + DAY * 59, false),
            (NOW + DAY * 61, true),
            (NOW + DAY * 60, true),
            (NOW + DAY * 36_500, true),
        ] {
            let shown = own.certificate(at).config();
            assert_eq!(!Arc::ptr_eq(&shown, &last), renewed, "{at:?}");
            last = shown;
        }
    }

    #[test]
    fn names_that_came_later_are_said_and_one_that_is_gone_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Own::check(folder.path(), &hosts(&["hub"])).unwrap().is_empty(), "there is none yet");
        let (own, warnings) = Own::open(folder.path(), &hosts(&["hub", "hub:8443"]), NOW).unwrap();
        assert_eq!((own.names, warnings), (hosts(&["hub"]), vec![]));
        let (own, warnings) = Own::open(folder.path(), &hosts(&["hub", "*.hub"]), NOW).unwrap();
        assert_eq!(own.names, hosts(&["hub"]));
        assert!(warnings.len() == 1 && warnings[0].contains("cannot be for \"*.hub\""), "{warnings:?}");
        let error = Own::check(folder.path(), &hosts(&["*.hub"])).err().unwrap();
        assert!(matches!(error, AuthorityError::Nameless), "{error}");
        let (own, warnings) = Own::open(folder.path(), &hosts(&["hub", "new.local"]), NOW).unwrap();
        assert_eq!(own.names, hosts(&["hub"]));
        assert!(warnings[0].contains("before new.local came into [hub] hosts"), "{warnings:?}");
        assert_eq!(Own::check(folder.path(), &hosts(&["hub", "new.local"])).unwrap(), warnings);
        let error = Own::open(folder.path(), &hosts(&["new.local"]), NOW).err().unwrap();
        assert!(matches!(error, AuthorityError::Names(_)), "{error}");
    }
}
