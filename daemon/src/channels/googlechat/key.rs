//! A service account: its key file, and what it proves with it.
//!
//! The key signs a statement of who asks for what, for an hour at most, and Google gives an access token for it
//! (<https://developers.google.com/identity/protocols/oauth2/service-account#httprest>). The key itself never leaves.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    channels::{account::OpenError, kit::http::base::Base},
    settings::secret::SecretSource,
};

/// What the app may do: <https://developers.google.com/workspace/chat/authenticate-authorize-chat-app>.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/chat.bot";

/// For how long a statement holds, in seconds: the most that Google takes.
const LASTS: u64 = 3600;

/// The longest key file that is read, in bytes. Google's have 2,400.
const MAX_FILE: usize = 16 * 1024;

/// A service account whose key file may be replaced while the hub runs: it is read anew when Google refuses the key.
pub(super) struct Replaceable {
    source: SecretSource,
    token_url: Option<Base>,
    now: Mutex<Arc<ServiceAccount>>,
}

impl Replaceable {
    /// Reads the key file.
    pub(super) fn read(source: SecretSource, token_url: Option<Base>) -> Result<Self, OpenError> {
        let now = Mutex::new(Arc::new(ServiceAccount::read(&source, token_url.clone())?));
        Ok(Self { source, token_url, now })
    }

    /// As it is now.
    pub(super) fn now(&self) -> Arc<ServiceAccount> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads it anew after Google refused `used`; whether there is another one now.
    pub(super) fn renewed(&self, used: &ServiceAccount) -> bool {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        // One of another account is for a reload: a message goes from the account that it was accepted for.
        if let Ok(read) = ServiceAccount::read(&self.source, self.token_url.clone())
            && read.email == now.email
        {
            *now = Arc::new(read);
        }
        now.key_id != used.key_id
    }
}

/// An account of an app.
pub(super) struct ServiceAccount {
    /// `NAME@PROJECT.iam.gserviceaccount.com`.
    pub(super) email: String,
    key_id: String,
    key: RsaKeyPair,
    /// Where it asks.
    pub(super) token_url: Base,
    /// What a statement is made for: the address as Google writes it.
    audience: String,
}

/// The service account that a key file is of; all of the text, if it is none.
pub(super) fn email_of(text: &str) -> String {
    #[derive(Deserialize)]
    struct Named {
        client_email: String,
    }
    serde_json::from_str(text).map_or_else(|_| text.to_owned(), |Named { client_email }| client_email)
}

/// What Google hands out.
#[derive(Deserialize)]
struct File {
    client_email: String,
    private_key_id: String,
    private_key: String,
    token_uri: String,
}

impl ServiceAccount {
    /// Reads the key file, which other than most secrets has many lines.
    pub(super) fn read(source: &SecretSource, token_url: Option<Base>) -> Result<Self, OpenError> {
        let text = source.read_whole()?;
        Self::parse(&text, token_url).map_err(|why| OpenError::Invalid(format!("key: {source} {why}")))
    }

    fn parse(text: &str, token_url: Option<Base>) -> Result<Self, &'static str> {
        const NONE: &str = "is no key file of a service account: make one in the Google Cloud console, as JSON, and use it whole";
        if text.len() > MAX_FILE {
            return Err(NONE);
        }
        // Not why: the error would repeat a line of it.
        let file: File = serde_json::from_str(text).map_err(|_| NONE)?;
        let der: String = file.private_key.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(der.trim()).map_err(|_| NONE)?;
        let key = RsaKeyPair::from_pkcs8(&der)
            .map_err(|_| "has a private key that is no RSA key of 2048 bits or more")?;
        let token_url = match token_url {
            Some(url) => url,
            None => Base::parse("token_uri", &file.token_uri).map_err(|_| NONE)?,
        };
        Ok(Self {
            email: file.client_email,
            key_id: file.private_key_id,
            key,
            token_url,
            audience: file.token_uri,
        })
    }

    /// A signed statement that asks for a token for `scope`.
    pub(super) fn statement(&self, scope: &str, now: SystemTime) -> Result<String, &'static str> {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let header = json!({ "alg": "RS256", "typ": "JWT", "kid": self.key_id });
        let claims = json!({
            "iss": self.email, "scope": scope, "aud": self.audience, "iat": now, "exp": now + LASTS,
        });
        let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let said = format!("{}.{}", encode(&header), encode(&claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), said.as_bytes(), &mut signature)
            .map_err(|_| "the service account's key does not sign")?;
        Ok(format!("{said}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

impl fmt::Debug for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (***)", self.email)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    const FILE: &str = include_str!("testdata/service-account.json");
    const PUBLIC: &[u8] = include_bytes!("testdata/public.der");

    #[test]
    fn a_statement_says_who_asks_for_what_and_is_signed() {
        let account = ServiceAccount::parse(FILE, None).unwrap();
        let now = UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        let statement = account.statement(SCOPE, now).unwrap();
        let (said, signature) = statement.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, PUBLIC)
            .verify(said.as_bytes(), &signature)
            .unwrap();
        let (header, claims) = said.split_once('.').unwrap();
        let read = |text| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
        assert_eq!(read(header), json!({ "alg": "RS256", "typ": "JWT", "kid": "0123456789abcdef" }));
        assert_eq!(
            read(claims),
            json!({
                "iss": "gatepost@hub-test.iam.gserviceaccount.com",
                "scope": "https://www.googleapis.com/auth/chat.bot",
                "aud": "https://oauth2.googleapis.com/token",
                "iat": 1_790_000_000, "exp": 1_790_003_600,
            })
        );
    }

    #[test]
    fn what_is_no_key_file_is_refused_without_a_word_of_it() {
        for text in ["", "{}", "xoxb-hush", &FILE.replace("MII", "hush")] {
            let why = ServiceAccount::parse(text, None).unwrap_err();
            assert!(!why.contains("hush"), "{why}");
        }
        let account = ServiceAccount::parse(FILE, None).unwrap();
        assert_eq!(format!("{account:?}"), "gatepost@hub-test.iam.gserviceaccount.com (***)");
    }

    #[test]
    fn a_key_file_keeps_its_lines() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), FILE).unwrap();
        assert!(ServiceAccount::read(&SecretSource::File(file.path().into()), None).is_ok());
        assert!(ServiceAccount::read(&SecretSource::File("/no/such/file".into()), None).is_err());
    }
}
