//! Logins as iperf3 has them: user, password and time, encrypted for the server's RSA key.

use super::used_logins::UsedLogins;
use base64ct::{Base64, Base64Unpadded, Encoding};
use caudal_sys::clock::realtime_ns;
use rsa::pkcs1::{DecodeRsaPrivateKey, DecodeRsaPublicKey};
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::rand_core::{CryptoRng, Error, RngCore};
use rsa::{Oaep, Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use subtle::ConstantTimeEq;

/// Maximum length of a token, characters: a key of 16384 bits makes 2732.
const MAX_TOKEN_CHARS: usize = 4096;

/// An error in making a login, or in reading what it is checked with.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {cause}; name a file that can be read")]
    File {
        /// Its path.
        path: PathBuf,
        /// The kernel's error.
        cause: std::io::Error,
    },
    /// A file that is no key.
    #[error("{0} holds no RSA key in PEM; make one with openssl genrsa")]
    Key(PathBuf),
    /// A line of the users' file that makes no sense.
    #[error(
        "{path} line {line}: write each user as name,sha256 of {{name}}password in hexadecimal"
    )]
    User {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// No password.
    #[error("no password; set IPERF3_PASSWORD, or type one")]
    Password,
    /// A login that does not fit the key.
    #[error("name and password are too long for the server's key")]
    TooLong,
}

/// The kernel's random numbers.
struct KernelRandom;

impl RngCore for KernelRandom {
    fn next_u32(&mut self) -> u32 {
        rsa::rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rsa::rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("a kernel that runs this program has random numbers");
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        // The only codes this type has for an error are custom ones.
        let no_numbers = Error::from(NonZeroU32::MIN.saturating_add(Error::CUSTOM_START));
        getrandom::fill(bytes).map_err(|_| no_numbers)
    }
}

impl CryptoRng for KernelRandom {}

fn text_of(path: &Path) -> Result<String, LoginError> {
    fs::read_to_string(path).map_err(|cause| LoginError::File {
        path: path.to_owned(),
        cause,
    })
}

/// The password of the user: from the environment, or typed.
fn password() -> Result<String, LoginError> {
    if let Ok(password) = std::env::var("IPERF3_PASSWORD") {
        return Ok(password);
    }
    let _ = write!(std::io::stderr(), "Password: ");
    let mut line = String::new();
    let read = caudal_sys::terminal::without_echo(std::io::stdin(), || {
        std::io::stdin().lock().read_line(&mut line)
    });
    let _ = writeln!(std::io::stderr());
    let line = line.trim_end_matches(['\r', '\n']).to_owned();
    match read {
        Ok(_) if !line.is_empty() => Ok(line),
        _ => Err(LoginError::Password),
    }
}

/// A login for the server with this public key.
///
/// # Errors
/// When the key cannot be read, there is no password, or both are too long for the key.
pub fn token(user: &str, key: &Path, padding: LoginPadding) -> Result<String, LoginError> {
    let pem = text_of(key)?;
    let key = RsaPublicKey::from_public_key_pem(&pem)
        .or_else(|_| RsaPublicKey::from_pkcs1_pem(&pem))
        .map_err(|_| LoginError::Key(key.to_owned()))?;
    let seconds = realtime_ns() / 1_000_000_000;
    let plain = plain_login(user, &password()?, seconds);
    padding
        .encrypt(&key, plain.as_bytes())
        .map(|bytes| Base64::encode_string(&bytes))
        .map_err(|_| LoginError::TooLong)
}

/// The text of a login before it is encrypted.
fn plain_login(user: &str, password: &str, seconds: u64) -> String {
    format!("user: {user}\npwd:  {password}\nts:   {seconds}")
}

/// The user, the password and the time (s since 1970) of a decrypted login.
fn parse_login(plain: &str) -> Option<(&str, &str, u64)> {
    let mut lines = plain.lines();
    let user = lines.next()?.strip_prefix("user:")?.trim();
    let password = lines.next()?.strip_prefix("pwd:")?.trim();
    let seconds = lines.next()?.strip_prefix("ts:")?.trim().parse().ok()?;
    Some((user, password, seconds))
}

/// The padding of encrypted logins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoginPadding {
    /// OAEP with SHA-1, since version 3.17.
    #[default]
    Oaep,
    /// That of PKCS #1 v1.5, of versions before 3.17. A server takes either then.
    Pkcs1,
}

impl LoginPadding {
    fn encrypt(self, key: &RsaPublicKey, plain: &[u8]) -> rsa::Result<Vec<u8>> {
        match self {
            Self::Oaep => key.encrypt(&mut KernelRandom, Oaep::new::<Sha1>(), plain),
            Self::Pkcs1 => key.encrypt(&mut KernelRandom, Pkcs1v15Encrypt, plain),
        }
    }

    /// Decrypts with blinding, so that the time it takes does not depend on the key.
    fn decrypt(self, key: &RsaPrivateKey, bytes: &[u8]) -> Option<Vec<u8>> {
        let oaep = || key.decrypt_blinded(&mut KernelRandom, Oaep::new::<Sha1>(), bytes);
        let pkcs1 = || key.decrypt_blinded(&mut KernelRandom, Pkcs1v15Encrypt, bytes);
        match self {
            Self::Oaep => oaep().ok(),
            Self::Pkcs1 => oaep().or_else(|_| pkcs1()).ok(),
        }
    }
}

/// The users that a server answers.
pub struct AuthorizedUsers {
    key: RsaPrivateKey,
    /// The SHA-256 of each user's name and password.
    users: HashMap<String, [u8; 32]>,
    skew: Duration,
    padding: LoginPadding,
    /// The logins that were admitted and are still within their time.
    used: Mutex<UsedLogins>,
}

impl AuthorizedUsers {
    /// Reads the server's private key and its users. A login may be made at most `skew` before or after the time it is
    /// checked.
    ///
    /// # Errors
    /// When one of both files cannot be read.
    pub fn open(
        key: &Path,
        users: &Path,
        skew: Duration,
        padding: LoginPadding,
    ) -> Result<Self, LoginError> {
        let pem = text_of(key)?;
        let private = RsaPrivateKey::from_pkcs8_pem(&pem)
            .or_else(|_| RsaPrivateKey::from_pkcs1_pem(&pem))
            .map_err(|_| LoginError::Key(key.to_owned()))?;
        let mut known = HashMap::new();
        for (nth, line) in text_of(users)?.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line
                .split_once(',')
                .and_then(|(name, hash)| Some((name.trim(), hash_from_hex(hash.trim())?)));
            let Some((name, hash)) = entry else {
                return Err(LoginError::User {
                    path: users.to_owned(),
                    line: nth + 1,
                });
            };
            known.insert(name.to_owned(), hash);
        }
        Ok(Self {
            key: private,
            users: known,
            skew,
            padding,
            used: Mutex::default(),
        })
    }

    /// `true` when a token is a login of one of the users, made just now and not used before.
    #[must_use]
    pub fn admits(&self, token: &str) -> bool {
        self.admits_at(token, realtime_ns() / 1_000_000_000)
    }

    fn admits_at(&self, token: &str, now_s: u64) -> bool {
        let Some(encrypted) = decode_token(token).filter(|_| token.len() <= MAX_TOKEN_CHARS) else {
            return false;
        };
        let Some(plain) = self.decrypt(&encrypted) else {
            return false;
        };
        let Some((user, password, then_s)) = parse_login(&plain) else {
            return false;
        };
        let hash: [u8; 32] = Sha256::digest(format!("{{{user}}}{password}").as_bytes()).into();
        // All of it is compared, also for an unknown user, so that the time it takes reveals nothing.
        let known = self.users.get(user).copied().unwrap_or_default();
        let is_right = bool::from(hash.ct_eq(&known));
        let is_fresh = now_s.abs_diff(then_s) <= self.skew.as_secs();
        if !is_right || !is_fresh || !self.users.contains_key(user) {
            return false;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.take(
            &encrypted,
            then_s.saturating_add(self.skew.as_secs()),
            now_s,
        )
    }

    fn decrypt(&self, encrypted: &[u8]) -> Option<String> {
        let plain = self.padding.decrypt(&self.key, encrypted)?;
        let text = String::from_utf8(plain).ok()?;
        Some(text.trim_end_matches('\0').to_owned())
    }
}

fn hash_from_hex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok()?;
    Some(hash)
}

/// Decodes base 64 (RFC 4648, section 4), with or without padding and white space; `None` for anything else.
fn decode_token(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    Base64Unpadded::decode_vec(digits.trim_end_matches('=')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_survives_the_trip() {
        // RFC 4648, section 10.
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(Base64::encode_string(plain.as_bytes()), coded);
            assert_eq!(decode_token(coded), Some(plain.as_bytes().to_vec()));
        }
        assert_eq!(decode_token("Zg==Zg"), None);
        assert_eq!(decode_token("Z*"), None);
    }

    #[test]
    fn only_a_user_with_the_right_password_is_admitted_and_only_in_time() {
        let key = RsaPrivateKey::new(&mut KernelRandom, 1024).unwrap();
        let public = key.to_public_key();
        let hash: [u8; 32] = Sha256::digest(b"{ann}secret").into();
        let users = |padding| AuthorizedUsers {
            key: key.clone(),
            users: HashMap::from([("ann".to_owned(), hash)]),
            skew: Duration::from_secs(10),
            padding,
            used: Mutex::default(),
        };
        let encrypted = |padding: LoginPadding, user: &str, password: &str, at: u64| {
            let plain = plain_login(user, password, at);
            let bytes = padding.encrypt(&public, plain.as_bytes()).unwrap();
            Base64::encode_string(&bytes)
        };
        let login =
            |user: &str, password: &str, at: u64| encrypted(LoginPadding::Oaep, user, password, at);
        let now = 1_800_000_000;
        let cases = [
            (login("ann", "secret", now), true),
            (login("ann", "secret", now - 10), true),
            (login("ann", "secret", now - 11), false),
            (login("ann", "Secret", now), false),
            (login("bob", "secret", now), false),
            (login("", "", now), false),
            ("AAAA".to_owned(), false),
            ("not base 64!".to_owned(), false),
            (String::new(), false),
            ("A".repeat(10_000), false),
        ];
        for (token, expected) in &cases {
            assert_eq!(
                users(LoginPadding::Oaep).admits_at(token, now),
                *expected,
                "{token}"
            );
        }
        let old = encrypted(LoginPadding::Pkcs1, "ann", "secret", now);
        assert!(!users(LoginPadding::Oaep).admits_at(&old, now));
        assert!(users(LoginPadding::Pkcs1).admits_at(&old, now));
    }

    #[test]
    fn a_login_is_used_once_however_its_text_is_written() {
        let key = RsaPrivateKey::new(&mut KernelRandom, 1024).unwrap();
        let hash: [u8; 32] = Sha256::digest(b"{ann}secret").into();
        let users = AuthorizedUsers {
            key: key.clone(),
            users: HashMap::from([("ann".to_owned(), hash)]),
            skew: Duration::from_secs(10),
            padding: LoginPadding::Pkcs1,
            used: Mutex::default(),
        };
        let now = 1_800_000_000;
        for padding in [LoginPadding::Oaep, LoginPadding::Pkcs1] {
            let plain = plain_login("ann", "secret", now);
            let encrypt = || {
                let public = key.to_public_key();
                padding.encrypt(&public, plain.as_bytes()).unwrap()
            };
            let bytes = encrypt();
            let token = Base64::encode_string(&bytes);
            assert!(users.admits_at(&token, now));
            let longer = Base64::encode_string(&[&[0, 0], bytes.as_slice()].concat());
            let folded = format!("{}\n{}", &token[..64], &token[64..]);
            for again in [&token, token.trim_end_matches('='), &longer, &folded] {
                assert!(!users.admits_at(again, now + 1), "{again}");
            }
            // Another login of the same second is another token.
            assert!(users.admits_at(&Base64::encode_string(&encrypt()), now));
        }
    }
}
