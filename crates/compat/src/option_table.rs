//! The parser of command lines in the manner of GNU `getopt_long`: clusters of short options, abbreviated long ones.
//!
//! An option is a row of a program's table: its names, its argument, and the setting that it changes in the program's
//! draft `D`. Unknown, ambiguous and incomplete options are errors of the parser.

/// The argument of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// It has none.
    Absent,
    /// It has one, attached or as the next argument of the command line.
    Required,
    /// It has one if that is attached.
    Optional,
}

/// The effect of an option on the draft `D`, with the error where its argument is invalid.
#[derive(Debug)]
pub enum OptionEffect<D> {
    /// It sets something by itself.
    Flag(fn(&mut D)),
    /// It sets something to its argument.
    Argument(fn(&mut D, &OptionArgument<'_>) -> Result<(), String>),
    /// It sets something, to its argument where that is given.
    Optional(fn(&mut D, Option<&OptionArgument<'_>>) -> Result<(), String>),
    /// It is accepted and changes nothing.
    Ignored(ArgumentKind),
    /// It is known, and not supported, for this reason.
    Unsupported(ArgumentKind, &'static str),
}

/// An option of a program: a row of its table. `G` is the group of options that it belongs to.
#[derive(Debug)]
pub struct CommandOption<D, G = ()> {
    /// Its letter.
    pub short: Option<char>,
    /// Its names, the usual one first.
    pub long: &'static [&'static str],
    /// The group it belongs to.
    pub group: G,
    /// Its effect.
    pub effect: OptionEffect<D>,
}

impl<D, G> CommandOption<D, G> {
    /// The argument it takes.
    #[must_use]
    pub const fn argument(&self) -> ArgumentKind {
        match self.effect {
            OptionEffect::Flag(_) => ArgumentKind::Absent,
            OptionEffect::Argument(_) => ArgumentKind::Required,
            OptionEffect::Optional(_) => ArgumentKind::Optional,
            OptionEffect::Ignored(argument) | OptionEffect::Unsupported(argument, _) => argument,
        }
    }
}

/// The argument of an option as it was given.
#[derive(Debug, Clone, Copy)]
pub struct OptionArgument<'a> {
    /// The option as it was written, in full: `-p` or `--port`.
    pub written: &'a str,
    /// The option's usual name.
    pub name: &'static str,
    /// The argument.
    pub text: &'a str,
}

/// An element of a command line.
#[derive(Debug)]
pub enum CommandWord<'t, D, G> {
    /// An option.
    Option(GivenOption<'t, D, G>),
    /// Anything else.
    Operand(String),
}

/// An option that was given.
#[derive(Debug)]
pub struct GivenOption<'t, D, G> {
    /// Its row.
    pub option: &'t CommandOption<D, G>,
    /// The option as it was written, in full.
    pub written: String,
    /// Its argument.
    argument: Option<String>,
}

/// The option that was given is known, and not supported, or its argument is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectError {
    /// The option is not supported, for this reason.
    Unsupported(&'static str),
    /// Its argument is invalid.
    Argument(String),
}

impl<D, G> GivenOption<'_, D, G> {
    /// Applies the option to a draft.
    ///
    /// # Errors
    /// When it is not supported, or its argument is invalid.
    pub fn apply(&self, draft: &mut D) -> Result<(), EffectError> {
        let argument = self.argument.as_deref().map(|text| OptionArgument {
            written: &self.written,
            name: self.option.long.first().copied().unwrap_or_default(),
            text,
        });
        match (&self.option.effect, argument) {
            (OptionEffect::Flag(set), _) => {
                set(draft);
                Ok(())
            }
            (OptionEffect::Argument(set), Some(argument)) => set(draft, &argument),
            (OptionEffect::Optional(set), argument) => set(draft, argument.as_ref()),
            (OptionEffect::Argument(_), None) | (OptionEffect::Ignored(_), _) => Ok(()),
            (OptionEffect::Unsupported(_, reason), _) => {
                return Err(EffectError::Unsupported(reason));
            }
        }
        .map_err(EffectError::Argument)
    }
}

/// An error in a command line, worded as by `getopt_long` of the GNU C library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no option of this name.
    #[error("unrecognized option '--{0}'")]
    UnknownName(String),
    /// There is no option of this letter.
    #[error("invalid option -- '{0}'")]
    UnknownLetter(char),
    /// The name abbreviates several.
    #[error("option '--{0}' is ambiguous; possibilities: {names}", names = quoted(.1))]
    Ambiguous(String, Vec<&'static str>),
    /// The option of this name takes no argument.
    #[error("option '--{0}' doesn't allow an argument")]
    ExcessArgument(&'static str),
    /// The option of this name takes an argument, and nothing follows.
    #[error("option '--{0}' requires an argument")]
    NameAlone(&'static str),
    /// The option of this letter takes an argument, and nothing follows.
    #[error("option requires an argument -- '{0}'")]
    LetterAlone(char),
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'--{name}'")).collect();
    names.join(" ")
}

/// Parses a command line, without the program's own name.
///
/// # Errors
/// The first error in the command line.
pub fn read_options<D, G>(
    table: &[CommandOption<D, G>],
    arguments: impl IntoIterator<Item = String>,
) -> Result<Vec<CommandWord<'_, D, G>>, OptionError> {
    let mut arguments = arguments.into_iter();
    let mut words = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            words.extend(arguments.by_ref().map(CommandWord::Operand));
        } else if let Some(long) = argument.strip_prefix("--") {
            let given = read_long(table, long, &mut arguments)?;
            words.push(CommandWord::Option(given));
        } else if argument.len() > 1 && argument.starts_with('-') {
            let cluster = read_cluster(table, &argument, &mut arguments)?;
            words.extend(cluster.into_iter().map(CommandWord::Option));
        } else {
            words.push(CommandWord::Operand(argument));
        }
    }
    Ok(words)
}

/// Parses `NAME` or `NAME=ARGUMENT`; `next` yields the arguments that follow.
fn read_long<'t, D, G>(
    table: &'t [CommandOption<D, G>],
    long: &str,
    next: &mut impl Iterator<Item = String>,
) -> Result<GivenOption<'t, D, G>, OptionError> {
    let (name, attached) = match long.split_once('=') {
        Some((name, attached)) => (name, Some(attached.to_owned())),
        None => (long, None),
    };
    let (option, full_name) = find_long(table, name)?;
    let argument = match (option.argument(), attached) {
        (ArgumentKind::Absent, Some(_)) => return Err(OptionError::ExcessArgument(full_name)),
        (ArgumentKind::Required, None) => {
            Some(next.next().ok_or(OptionError::NameAlone(full_name))?)
        }
        (_, attached) => attached,
    };
    Ok(GivenOption {
        option,
        written: format!("--{full_name}"),
        argument,
    })
}

/// Parses a cluster of letters after a dash, the last of which may have an argument.
fn read_cluster<'t, D, G>(
    table: &'t [CommandOption<D, G>],
    cluster: &str,
    next: &mut impl Iterator<Item = String>,
) -> Result<Vec<GivenOption<'t, D, G>>, OptionError> {
    let mut given = Vec::new();
    for (at, letter) in cluster.char_indices().skip(1) {
        let option = table
            .iter()
            .find(|option| option.short == Some(letter))
            .ok_or(OptionError::UnknownLetter(letter))?;
        let rest = &cluster[at + letter.len_utf8()..];
        let attached = (!rest.is_empty()).then(|| rest.to_owned());
        let argument = match option.argument() {
            ArgumentKind::Absent => None,
            ArgumentKind::Optional => attached,
            ArgumentKind::Required => Some(match attached {
                Some(argument) => argument,
                None => next.next().ok_or(OptionError::LetterAlone(letter))?,
            }),
        };
        given.push(GivenOption {
            option,
            written: format!("-{letter}"),
            argument,
        });
        if option.argument() != ArgumentKind::Absent {
            break;
        }
    }
    Ok(given)
}

/// The option of this name with the name in full, or the only option that it abbreviates.
fn find_long<'t, D, G>(
    table: &'t [CommandOption<D, G>],
    name: &str,
) -> Result<(&'t CommandOption<D, G>, &'static str), OptionError> {
    let mut candidates: Vec<(&CommandOption<D, G>, &'static str)> = Vec::new();
    for option in table {
        for long in option.long {
            if *long == name {
                return Ok((option, long));
            }
            if long.starts_with(name) && !name.is_empty() {
                candidates.push((option, long));
            }
        }
    }
    match candidates.as_slice() {
        [] => Err(OptionError::UnknownName(name.to_owned())),
        [(first, long), others @ ..]
            if others.iter().all(|(other, _)| std::ptr::eq(*other, *first)) =>
        {
            Ok((first, long))
        }
        _ => {
            let names = candidates.iter().map(|(_, long)| *long).collect();
            Err(OptionError::Ambiguous(name.to_owned(), names))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = Vec<(char, Option<String>)>;

    const fn flag(short: char, long: &'static [&'static str]) -> CommandOption<Read> {
        CommandOption {
            short: Some(short),
            long,
            group: (),
            effect: OptionEffect::Flag(|read| read.push(('u', None))),
        }
    }

    const fn with_argument(
        short: Option<char>,
        long: &'static [&'static str],
        set: fn(&mut Read, &OptionArgument<'_>) -> Result<(), String>,
    ) -> CommandOption<Read> {
        CommandOption {
            short,
            long,
            group: (),
            effect: OptionEffect::Argument(set),
        }
    }

    fn push(read: &mut Read, letter: char, argument: &OptionArgument<'_>) -> Result<(), String> {
        read.push((letter, Some(argument.text.to_owned())));
        Ok(())
    }

    const TABLE: [CommandOption<Read>; 6] = [
        flag('u', &["udp"]),
        with_argument(Some('b'), &["bitrate", "bandwidth"], |read, argument| {
            push(read, 'b', argument)
        }),
        with_argument(Some('i'), &["interval"], |read, argument| {
            push(read, 'i', argument)
        }),
        CommandOption {
            short: Some('d'),
            long: &["debug"],
            group: (),
            effect: OptionEffect::Optional(|read, argument| {
                read.push(('d', argument.map(|argument| argument.text.to_owned())));
                Ok(())
            }),
        },
        with_argument(None, &["idle-timeout"], |_, argument| {
            Err(format!("{}: {:?}", argument.written, argument.text))
        }),
        CommandOption {
            short: Some('Q'),
            long: &["quit"],
            group: (),
            effect: OptionEffect::Unsupported(ArgumentKind::Absent, "no reason"),
        },
    ];

    fn read(line: &str) -> Result<Read, String> {
        let arguments = line.split_whitespace().map(str::to_owned);
        let mut read = Read::new();
        for word in read_options(&TABLE, arguments).map_err(|error| error.to_string())? {
            match word {
                CommandWord::Option(given) => given
                    .apply(&mut read)
                    .map_err(|error| format!("{error:?}"))?,
                CommandWord::Operand(word) => read.push(('-', Some(word))),
            }
        }
        Ok(read)
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
            assert_eq!(read(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_has_the_errors_of_getopt_long() {
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
            assert_eq!(read(line), Err(expected.to_owned()), "{line}");
        }
    }

    #[test]
    fn an_option_that_cannot_be_applied_has_an_error_of_its_own() {
        assert_eq!(read("-uQ"), Err("Unsupported(\"no reason\")".to_owned()));
        assert_eq!(
            read("--idle 3"),
            Err(r#"Argument("--idle-timeout: \"3\"")"#.to_owned())
        );
    }
}
