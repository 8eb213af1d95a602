//! Command lines as GNU getopt_long reads them: clusters of short options, long ones cut short.

/// Whether an option takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// One, always.
    Value,
    /// One, if it follows without a blank.
    Maybe,
}

/// An option of a program.
#[derive(Debug, Clone, Copy)]
pub struct Flag<K> {
    /// What it is.
    pub key: K,
    /// Its letter.
    pub short: Option<char>,
    /// Its names.
    pub long: &'static [&'static str],
    /// Whether it takes a value.
    pub takes: Takes,
}

/// A word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word<K> {
    /// An option with its value, and how it was written.
    Flag(K, Option<String>, String),
    /// Anything else.
    Operand(String),
}

/// Why a word cannot be read, as getopt_long of the GNU C library says it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is no option of this name.
    #[error("unrecognized option '--{0}'")]
    Name(String),
    /// There is no option of this letter.
    #[error("invalid option -- '{0}'")]
    Letter(char),
    /// The name could be cut short from any of several.
    #[error("option '--{0}' is ambiguous; possibilities: {names}", names = quoted(.1))]
    Ambiguous(String, Vec<&'static str>),
    /// The option of this name takes no value.
    #[error("option '--{0}' doesn't allow an argument")]
    Excess(&'static str),
    /// The option of this name takes a value, and nothing follows.
    #[error("option '--{0}' requires an argument")]
    NameAlone(&'static str),
    /// The option of this letter takes a value, and nothing follows.
    #[error("option requires an argument -- '{0}'")]
    LetterAlone(char),
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'--{name}'")).collect();
    names.join(" ")
}

/// Reads a command line, without the program's own name.
///
/// # Errors
/// The first word that cannot be read.
pub fn read<K: Copy + PartialEq>(
    flags: &[Flag<K>],
    words: impl IntoIterator<Item = String>,
) -> Result<Vec<Word<K>>, Unreadable> {
    let mut words = words.into_iter();
    let mut read = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            read.extend(words.by_ref().map(Word::Operand));
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let (flag, full) = find_long(flags, name)?;
            let value = match (flag.takes, value) {
                (Takes::Nothing, Some(_)) => {
                    return Err(Unreadable::Excess(full));
                }
                (Takes::Value, None) => Some(words.next().ok_or(Unreadable::NameAlone(full))?),
                (_, value) => value,
            };
            read.push(Word::Flag(flag.key, value, format!("--{full}")));
        } else if word.len() > 1 && word.starts_with('-') {
            for (at, letter) in word.char_indices().skip(1) {
                let flag = flags
                    .iter()
                    .find(|flag| flag.short == Some(letter))
                    .ok_or(Unreadable::Letter(letter))?;
                let rest = &word[at + letter.len_utf8()..];
                let glued = (!rest.is_empty()).then(|| rest.to_owned());
                let value = match flag.takes {
                    Takes::Nothing => None,
                    Takes::Maybe => glued,
                    Takes::Value => Some(match glued {
                        Some(value) => value,
                        None => words.next().ok_or(Unreadable::LetterAlone(letter))?,
                    }),
                };
                read.push(Word::Flag(flag.key, value, format!("-{letter}")));
                if flag.takes != Takes::Nothing {
                    break;
                }
            }
        } else {
            read.push(Word::Operand(word));
        }
    }
    Ok(read)
}

/// The option of this name, or the only one whose name begins so.
fn find_long<'a, K: Copy + PartialEq>(
    flags: &'a [Flag<K>],
    name: &str,
) -> Result<(&'a Flag<K>, &'static str), Unreadable> {
    let mut candidates: Vec<(&Flag<K>, &'static str)> = Vec::new();
    for flag in flags {
        for long in flag.long {
            if *long == name {
                return Ok((flag, long));
            }
            if long.starts_with(name) && !name.is_empty() {
                candidates.push((flag, long));
            }
        }
    }
    match candidates.as_slice() {
        [] => Err(Unreadable::Name(name.to_owned())),
        [(first, long), others @ ..] if others.iter().all(|(other, _)| other.key == first.key) => {
            Ok((first, long))
        }
        _ => {
            let names = candidates.iter().map(|(_, long)| *long).collect();
            Err(Unreadable::Ambiguous(name.to_owned(), names))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: [Flag<char>; 5] = [
        flag('u', "udp", Takes::Nothing),
        flag('b', "bitrate", Takes::Value),
        flag('i', "interval", Takes::Value),
        flag('d', "debug", Takes::Maybe),
        Flag {
            key: 'x',
            short: None,
            long: &["idle-timeout"],
            takes: Takes::Value,
        },
    ];

    const fn flag(letter: char, long: &'static str, takes: Takes) -> Flag<char> {
        // One name each, borrowed for ever.
        Flag {
            key: letter,
            short: Some(letter),
            long: match long.as_bytes()[0] {
                b'u' => &["udp"],
                b'b' => &["bitrate", "bandwidth"],
                b'i' => &["interval"],
                _ => &["debug"],
            },
            takes,
        }
    }

    type Read = Vec<(char, Option<String>)>;

    fn flags(line: &str) -> Result<Read, String> {
        let words = line.split_whitespace().map(str::to_owned);
        let words = read(&FLAGS, words).map_err(|error| error.to_string())?;
        Ok(words
            .into_iter()
            .map(|word| match word {
                Word::Flag(key, value, _) => (key, value),
                Word::Operand(word) => ('-', Some(word)),
            })
            .collect())
    }

    #[test]
    fn options_are_read_as_getopt_long_reads_them() {
        let some = |text: &str| Some(text.to_owned());
        let cases: [(&str, Read); 6] = [
            ("-ub1G", vec![('u', None), ('b', some("1G"))]),
            ("-b 1G host", vec![('b', some("1G")), ('-', some("host"))]),
            (
                "--bit=5 --bandwidth 6",
                vec![('b', some("5")), ('b', some("6"))],
            ),
            ("--b 5", vec![('b', some("5"))]),
            (
                "-d3 --debug -d u",
                vec![('d', some("3")), ('d', None), ('d', None), ('-', some("u"))],
            ),
            ("-- -u", vec![('-', some("-u"))]),
        ];
        for (line, expected) in cases {
            assert_eq!(flags(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_as_getopt_long_says_it() {
        let cases = [
            ("--foo", "unrecognized option '--foo'"),
            ("-q", "invalid option -- 'q'"),
            ("-b", "option requires an argument -- 'b'"),
            ("--bitrate", "option '--bitrate' requires an argument"),
            ("--udp=3", "option '--udp' doesn't allow an argument"),
            (
                "--i 3",
                "option '--i' is ambiguous; possibilities: '--interval' '--idle-timeout'",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(flags(line), Err(expected.to_owned()), "{line}");
        }
    }
}
