//! A token that may be replaced while the hub runs.
//!
//! It is read when its account is opened, and once more when the platform refuses it: whoever writes a new token into its
//! file need not stop the hub, and the message that found out goes again. Only one of the same account takes its place like this: a
//! message goes from the account that it was accepted for, and from no other ([`crate::channels::fingerprint`]).

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::settings::secret::{Secret, SecretError, SecretSource};

/// For how long a refusal may still be of a request that left with the token before this one: longer than any request takes.
const OLD_ONES: Duration = Duration::from_mins(10);

/// A token and where it comes from. Clones share it.
#[derive(Clone)]
pub struct Token(Arc<Shared>);

struct Shared {
    source: Option<SecretSource>,
    /// What of it must stay, if anything.
    identity: Option<fn(&str) -> String>,
    now: Mutex<Read>,
}

struct Read {
    secret: Secret,
    /// When it took another's place.
    replaced: Option<Instant>,
}

impl Token {
    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(source: SecretSource) -> Result<Self, SecretError> {
        Self::open(source, None)
    }

    /// Reads it; a later one takes its place only if this part of both is the same.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_with_identity(
        source: SecretSource,
        identity: fn(&str) -> String,
    ) -> Result<Self, SecretError> {
        Self::open(source, Some(identity))
    }

    fn open(source: SecretSource, identity: Option<fn(&str) -> String>) -> Result<Self, SecretError> {
        let now = Mutex::new(Read { secret: source.read()?, replaced: None });
        Ok(Self(Arc::new(Shared { source: Some(source), identity, now })))
    }

    /// As it is now.
    pub fn now(&self) -> Secret {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner).secret.clone()
    }

    /// Reads it anew, after the platform refused it; whether there is another one now.
    pub fn renewed(&self) -> bool {
        let mut now = self.0.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Ok(secret)) = self.0.source.as_ref().map(SecretSource::read)
            && secret != now.secret
            && self.0.identity.is_none_or(|of| of(secret.expose()) == of(now.secret.expose()))
        {
            *now = Read { secret, replaced: Some(Instant::now()) };
        }
        now.replaced.is_some_and(|at| at.elapsed() < OLD_ONES)
    }
}

impl From<Secret> for Token {
    /// One that stays as it is.
    fn from(secret: Secret) -> Self {
        let now = Mutex::new(Read { secret, replaced: None });
        Self(Arc::new(Shared { source: None, identity: None, now }))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_token_that_was_replaced_is_found_when_the_old_one_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "old").unwrap();
        let token = Token::read(SecretSource::File(file.path().into())).unwrap();
        assert!(!token.renewed());
        fs::write(file.path(), "new").unwrap();
        assert_eq!(token.now().expose(), "old");
        assert!(token.renewed());
        assert_eq!(token.now().expose(), "new");
        // Somebody else found out first; or it cannot be read just now.
        assert!(token.renewed());
        fs::remove_file(file.path()).unwrap();
        assert!(token.renewed());
    }

    #[test]
    fn a_token_of_another_account_never_takes_the_place_of_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let source = || SecretSource::File(file.path().into());
        let write = |token| fs::write(file.path(), token).unwrap();
        write("1:a");
        let bot = |token: &str| token.split(':').next().unwrap_or(token).to_owned();
        let token = Token::read_with_identity(source(), bot).unwrap();
        let opaque = Token::read_with_identity(source(), str::to_owned).unwrap();
        write("2:a");
        assert!(!token.renewed() && token.now().expose() == "1:a");
        write("1:b");
        assert!(token.renewed() && token.now().expose() == "1:b");
        assert!(!opaque.renewed() && opaque.now().expose() == "1:a");
    }
}
