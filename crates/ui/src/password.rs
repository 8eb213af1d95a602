//! The password of a server that is reached from elsewhere: kept as its Argon2 hash, tried a few times a minute by each source.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Minimum length of a password, characters.
const MIN_LENGTH: usize = 10;
/// Maximum length of what is tried, bytes.
const MAX_BYTES: usize = 256;
/// Wrong passwords of a source in a minute, after which none of it is tried until the next.
const MAX_FAILURES: u32 = 10;
/// The same of all sources together, each of which costs this machine a hash.
const MAX_FAILURES_OF_ALL: u32 = 300;
/// A minute, ns.
const MINUTE_NS: u64 = 60_000_000_000;

/// The reason why a password cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// It is short.
    #[error("the password has fewer than {MIN_LENGTH} characters")]
    Short,
    /// It is long.
    #[error("the password is longer than {MAX_BYTES} bytes")]
    Long,
    /// The file does not have one.
    #[error("it has no line that begins with $argon2id$")]
    NoHash,
    /// It could not be hashed.
    #[error("the password could not be hashed")]
    NotHashed,
}

/// The outcome of trying a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is the one.
    Right,
    /// It is not.
    Wrong,
    /// Too many were wrong in this minute; it was not tried.
    TooMany,
}

/// The line of a password file for a password.
///
/// # Errors
/// When it is too short or too long.
pub fn password_line(password: &str) -> Result<String, PasswordError> {
    if password.chars().count() < MIN_LENGTH {
        return Err(PasswordError::Short);
    }
    if password.len() > MAX_BYTES {
        return Err(PasswordError::Long);
    }
    let hash: PasswordHash = Argon2::default()
        .hash_password(password.as_bytes())
        .map_err(|_| PasswordError::NotHashed)?;
    Ok(hash.to_string())
}

/// A password that visitors must know.
pub struct UiPassword {
    hash: PasswordHash,
    failures: Mutex<MinuteOfFailures>,
}

/// The wrong passwords of a minute.
#[derive(Debug, Default)]
struct MinuteOfFailures {
    minute: u64,
    all: u32,
    by_source: HashMap<IpAddr, u32>,
}

impl MinuteOfFailures {
    /// `true` while more may be tried from there.
    fn may_try(&self, source: IpAddr) -> bool {
        let own = self.by_source.get(&source).copied().unwrap_or_default();
        own < MAX_FAILURES && self.all < MAX_FAILURES_OF_ALL
    }
}

/// Whom an address is counted as: a network of IPv6, within which a host has as many addresses as it likes, or an address of IPv4.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl UiPassword {
    /// That of a password file: its first line that is a hash.
    ///
    /// # Errors
    /// When it has none.
    pub fn of_file(text: &str) -> Result<Self, PasswordError> {
        let mut lines = text.lines().map(str::trim);
        let line = lines.find(|line| line.starts_with("$argon2id$"));
        let hash = line.and_then(|line| PasswordHash::new(line).ok());
        Ok(Self {
            hash: hash.ok_or(PasswordError::NoHash)?,
            failures: Mutex::default(),
        })
    }

    /// Tries a password that came from an address at `now_ns`.
    pub(crate) fn attempt(&self, password: &str, from: IpAddr, now_ns: u64) -> Attempt {
        let (minute, source) = (now_ns / MINUTE_NS, source(from));
        // One at a time, as each takes memory and a while.
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.minute != minute {
            *failures = MinuteOfFailures {
                minute,
                ..MinuteOfFailures::default()
            };
        }
        if !failures.may_try(source) {
            return Attempt::TooMany;
        }
        let is_right = password.len() <= MAX_BYTES
            && Argon2::default()
                .verify_password(password.as_bytes(), &self.hash)
                .is_ok();
        if is_right {
            return Attempt::Right;
        }
        failures.all += 1;
        *failures.by_source.entry(source).or_default() += 1;
        Attempt::Wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_tried_a_few_times_a_minute() {
        let line = password_line("correct horse").unwrap();
        assert!(!line.contains("correct"));
        let password = UiPassword::of_file(&format!("# of the lab\n{line}\n")).unwrap();
        let stranger: IpAddr = "2001:db8::1".parse().unwrap();
        let neighbour: IpAddr = "2001:db8::ffff:2".parse().unwrap();
        let owner: IpAddr = "192.0.2.1".parse().unwrap();
        let attempt = |text: &str, from, at| password.attempt(text, from, at);
        assert_eq!(attempt("correct horse", owner, 0), Attempt::Right);
        for _ in 0..MAX_FAILURES {
            assert_eq!(attempt("wrong", stranger, 1), Attempt::Wrong);
        }
        for from in [stranger, neighbour] {
            assert_eq!(attempt("correct horse", from, 2), Attempt::TooMany);
        }
        // Whoever guesses locks out nobody else.
        assert_eq!(attempt("correct horse", owner, 3), Attempt::Right);
        assert_eq!(
            attempt("correct horse", stranger, MINUTE_NS),
            Attempt::Right
        );
    }

    #[test]
    fn many_sources_together_do_not_guess_without_end() {
        let line = password_line("correct horse").unwrap();
        let password = UiPassword::of_file(&line).unwrap();
        password.failures.lock().unwrap().all = MAX_FAILURES_OF_ALL;
        let from: IpAddr = "192.0.2.1".parse().unwrap();
        assert_eq!(password.attempt("correct horse", from, 1), Attempt::TooMany);
    }

    #[test]
    fn what_is_no_password_is_said_so() {
        assert_eq!(password_line("short").unwrap_err(), PasswordError::Short);
        assert_eq!(
            password_line(&"x".repeat(300)).unwrap_err(),
            PasswordError::Long
        );
        for text in ["", "correct horse\n", "$argon2id$nonsense\n"] {
            assert!(UiPassword::of_file(text).is_err(), "{text}");
        }
    }
}
