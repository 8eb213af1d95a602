//! Text for a shell.

/// The command line of `caudal` with these arguments, quoted for a shell.
#[must_use]
pub fn command_line<'a>(arguments: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = "caudal".to_owned();
    for argument in arguments {
        line.push(' ');
        line.push_str(&shell_quoted(argument));
    }
    line
}

fn shell_quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
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
    }
}
