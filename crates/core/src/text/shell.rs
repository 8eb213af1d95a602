//! Text for a shell.

use super::printable::is_printable;
use std::borrow::Cow;

/// The options whose values are secrets, which a command line of a run is recorded and shown without. What their names abbreviate to is
/// one as well.
const SECRET_OPTIONS: [&str; 1] = ["--permit-key"];
/// Minimum length of an abbreviated name.
const MIN_NAME: usize = "--per".len();

/// The command line of `caudal` with these arguments, quoted for a shell, without the values of secret options.
#[must_use]
pub fn command_line<'a>(arguments: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = "caudal".to_owned();
    for argument in arguments {
        line.push(' ');
        line.push_str(&shell_quoted(&without_secret(argument)));
    }
    line
}

/// The argument with a secret replaced by three asterisks.
fn without_secret(argument: &str) -> Cow<'_, str> {
    let is_secret = |name: &str| {
        name.len() >= MIN_NAME && SECRET_OPTIONS.iter().any(|option| option.starts_with(name))
    };
    match argument.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}=***").into(),
        _ => argument.into(),
    }
}

/// The argument as a shell reads it again, in printable characters: `$'…'` of POSIX.1-2024 for one with others.
fn shell_quoted(argument: &str) -> String {
    if !argument.chars().all(is_printable) {
        let escaped: String = argument.chars().map(escaped).collect();
        return format!("$'{escaped}'");
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// A character within `$'…'`; one that is not printable by its bytes in octal.
fn escaped(c: char) -> String {
    match c {
        '\\' => r"\\".to_owned(),
        '\'' => r"\'".to_owned(),
        '\n' => r"\n".to_owned(),
        c if is_printable(c) => c.to_string(),
        c => {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).bytes();
            bytes.map(|byte| format!("\\{byte:03o}")).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_a_shell_would_split_are_quoted() {
        assert_eq!(shell_quoted("100M"), "100M");
        assert_eq!(shell_quoted("a b"), "'a b'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
        assert_eq!(shell_quoted("a  é"), "'a  é'");
    }

    #[test]
    fn the_values_of_secret_options_are_left_out() {
        for (argument, shown) in [
            ("--permit-key=hunter2", "'--permit-key=***'"),
            ("--permit-k=a=b", "'--permit-k=***'"),
            ("--permit-key-timeout=5", "--permit-key-timeout=5"),
            ("--port=5201", "--port=5201"),
        ] {
            assert_eq!(command_line([argument]), format!("caudal {shown}"));
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_for_the_shell() {
        assert_eq!(shell_quoted("a\n\x1b[31m'\\"), r"$'a\n\033[31m\'\\'");
        assert_eq!(shell_quoted("\u{202e}1"), r"$'\342\200\2561'");
    }
}
