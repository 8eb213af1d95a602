//! Logins as iperf3 has them: user, password and time, encrypted for the server's RSA key.

use caudal_sys::clock::realtime_ns;
use rsa::pkcs1::{DecodeRsaPrivateKey, DecodeRsaPublicKey};
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::rand_core::{CryptoRng, Error, RngCore};
use rsa::{Oaep, Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, Read, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest token that is looked at, characters: a key of 16384 bits makes 2732.
const LONGEST_TOKEN: usize = 4096;

/// Why a login cannot be made or checked.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {cause}; name a file that can be read")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
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

/// The kernel's source of random numbers.
struct Random(File);

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        rsa::rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rsa::rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0
            .read_exact(bytes)
            .expect("the kernel's random numbers do not end");
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        // The only numbers this type has for an error are its own.
        let unread = Error::from(NonZeroU32::MIN.saturating_add(Error::CUSTOM_START));
        self.0.read_exact(bytes).map_err(|_| unread)
    }
}

impl CryptoRng for Random {}

fn random() -> Result<Random, LoginError> {
    let path = PathBuf::from("/dev/urandom");
    match File::open(&path) {
        Ok(file) => Ok(Random(file)),
        Err(cause) => Err(LoginError::File { path, cause }),
    }
}

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

/// A login for the server with this public key; `pkcs1` for servers before 3.17.
///
/// # Errors
/// When the key or the password cannot be had.
pub fn token(user: &str, key: &Path, pkcs1: bool) -> Result<String, LoginError> {
    let pem = text_of(key)?;
    let key = RsaPublicKey::from_public_key_pem(&pem)
        .or_else(|_| RsaPublicKey::from_pkcs1_pem(&pem))
        .map_err(|_| LoginError::Key(key.to_owned()))?;
    let seconds = realtime_ns() / 1_000_000_000;
    let plain = plain(user, &password()?, seconds);
    let mut random = random()?;
    let encrypted = if pkcs1 {
        key.encrypt(&mut random, Pkcs1v15Encrypt, plain.as_bytes())
    } else {
        key.encrypt(&mut random, Oaep::new::<Sha1>(), plain.as_bytes())
    };
    encrypted
        .map(|bytes| base64_encode(&bytes))
        .map_err(|_| LoginError::TooLong)
}

fn plain(user: &str, password: &str, seconds: u64) -> String {
    format!("user: {user}\npwd:  {password}\nts:   {seconds}")
}

/// What a decrypted login says: who, with what password, when.
fn parse(plain: &str) -> Option<(&str, &str, u64)> {
    let mut lines = plain.lines();
    let user = lines.next()?.strip_prefix("user:")?.trim();
    let password = lines.next()?.strip_prefix("pwd:")?.trim();
    let seconds = lines.next()?.strip_prefix("ts:")?.trim().parse().ok()?;
    Some((user, password, seconds))
}

/// Whom a server answers.
pub struct Book {
    key: RsaPrivateKey,
    users: HashMap<String, [u8; 32]>,
    skew: Duration,
    pkcs1: bool,
}

impl Book {
    /// Reads the server's private key and its users; `pkcs1` also takes what clients before 3.17 send.
    ///
    /// # Errors
    /// When one of both cannot be read.
    pub fn open(key: &Path, users: &Path, skew: Duration, pkcs1: bool) -> Result<Self, LoginError> {
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
                .and_then(|(name, hash)| Some((name.trim(), from_hex(hash.trim())?)));
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
            pkcs1,
        })
    }

    /// Whether a token is a login of one of the users, made just now.
    #[must_use]
    pub fn admits(&self, token: &str) -> bool {
        self.admits_at(token, realtime_ns() / 1_000_000_000)
    }

    fn admits_at(&self, token: &str, now_s: u64) -> bool {
        let Some(plain) = self.decrypt(token) else {
            return false;
        };
        let Some((user, password, then_s)) = parse(&plain) else {
            return false;
        };
        let hash: [u8; 32] = Sha256::digest(format!("{{{user}}}{password}").as_bytes()).into();
        // Compared whole, whether the user exists or not: how long it takes tells nothing.
        let known = self.users.get(user).copied().unwrap_or_default();
        let differs = hash
            .iter()
            .zip(known)
            .fold(0, |differs, (one, other)| differs | (one ^ other));
        let fresh = now_s.abs_diff(then_s) <= self.skew.as_secs();
        differs == 0 && fresh && self.users.contains_key(user)
    }

    fn decrypt(&self, token: &str) -> Option<String> {
        if token.len() > LONGEST_TOKEN {
            return None;
        }
        let bytes = base64_decode(token)?;
        let mut random = random().ok()?;
        // Blinded, so that how long it takes does not tell of the key.
        let plain = self
            .key
            .decrypt_blinded(&mut random, Oaep::new::<Sha1>(), &bytes)
            .ok()
            .or_else(|| {
                if !self.pkcs1 {
                    return None;
                }
                self.key
                    .decrypt_blinded(&mut random, Pkcs1v15Encrypt, &bytes)
                    .ok()
            })?;
        let text = String::from_utf8(plain).ok()?;
        Some(text.trim_end_matches('\0').to_owned())
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 with padding and without line breaks (RFC 4648, section 4).
fn base64_encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let at = |nth: usize| u32::from(part.get(nth).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for nth in 0..4 {
            if nth <= part.len() {
                let sextet = (word >> (18 - 6 * nth)) & 63;
                text.push(char::from(BASE64[sextet as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Reads base 64, with or without padding and white space; `None` for anything else.
fn base64_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0_u32, 0);
    let mut padded = false;
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        if byte == b'=' {
            padded = true;
            continue;
        }
        if padded {
            return None;
        }
        let sextet = BASE64.iter().position(|known| *known == byte)?;
        word = (word << 6 | sextet as u32) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    Some(bytes)
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
            assert_eq!(base64_encode(plain.as_bytes()), coded);
            assert_eq!(base64_decode(coded), Some(plain.as_bytes().to_vec()));
        }
        assert_eq!(base64_decode("Zg==Zg"), None);
        assert_eq!(base64_decode("Z*"), None);
    }

    #[test]
    fn only_a_user_with_the_right_password_is_admitted_and_only_in_time() {
        let mut random = random().unwrap();
        let key = RsaPrivateKey::new(&mut random, 1024).unwrap();
        let public = key.to_public_key();
        let hash: [u8; 32] = Sha256::digest(b"{ann}secret").into();
        let book = |pkcs1| Book {
            key: key.clone(),
            users: HashMap::from([("ann".to_owned(), hash)]),
            skew: Duration::from_secs(10),
            pkcs1,
        };
        let mut login = |user: &str, password: &str, at: u64| {
            let plain = plain(user, password, at);
            let bytes = public
                .encrypt(&mut random, Oaep::new::<Sha1>(), plain.as_bytes())
                .unwrap();
            base64_encode(&bytes)
        };
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
            assert_eq!(book(false).admits_at(token, now), *expected, "{token}");
        }
        let old = public
            .encrypt(
                &mut random,
                Pkcs1v15Encrypt,
                plain("ann", "secret", now).as_bytes(),
            )
            .unwrap();
        let old = base64_encode(&old);
        assert!(!book(false).admits_at(&old, now) && book(true).admits_at(&old, now));
    }
}
