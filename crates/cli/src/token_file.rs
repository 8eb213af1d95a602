//! Files with the tokens that clients and servers share.

use crate::exit::Failure;
use caudal_wire::access_token::{AccessToken, NamedToken, parse_tokens};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Maximum size of a file of tokens, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The permissions that let every user read or write a file.
const OTHERS: u32 = 0o006;

/// The text of the file of `flag`, which only its owner may read.
///
/// # Errors
/// When it cannot be read, every user may read or write it, or it is far too large.
pub(crate) fn read_private(path: &Path, flag: &str) -> Result<String, Failure> {
    let shown = path.display();
    let unreadable = |cause: std::io::Error| {
        Failure::usage(
            format!("cannot read the {flag} {shown}: {cause}"),
            "name a file that can be read",
        )
    };
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(Failure::usage(
            format!("every user may read or write the {flag} {shown}"),
            format!("keep it to its owner: chmod 600 {shown}"),
        ));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::usage(
            format!("the {flag} {shown} is larger than {MAX_FILE_BYTES} bytes"),
            "name the file that was made for this",
        ));
    }
    Ok(text)
}

/// The tokens of a server's file.
///
/// # Errors
/// When the file cannot be read, every user may read or write it, or it is no list of tokens.
pub fn read_tokens(path: &Path) -> Result<Vec<NamedToken>, Failure> {
    let text = read_private(path, "--token-file")?;
    parse_tokens(&text).map_err(|error| {
        Failure::usage(
            format!(
                "the --token-file {} cannot be used: {error}",
                path.display()
            ),
            "make a token with `openssl rand -hex 32`, one a line",
        )
    })
}

/// The only token of a client's file.
///
/// # Errors
/// Those of [`read_tokens`], and when it contains more than one token.
pub fn read_token(path: &Path) -> Result<AccessToken, Failure> {
    let mut tokens = read_tokens(path)?;
    match (tokens.pop(), tokens.len()) {
        (Some(only), 0) => Ok(only.token),
        (_, others) => Err(Failure::usage(
            format!(
                "the --token-file {} contains {} tokens",
                path.display(),
                others + 1
            ),
            "give a client a file with its own",
        )),
    }
}
