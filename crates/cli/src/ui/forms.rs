//! The forms of tests, from the definitions of their command lines.

use crate::args::Cli;
use crate::short_help::with_short_help;
use caudal_ui::{CommandForm, FormArgument};
use clap::{Arg, ArgAction, CommandFactory};

/// The commands that a page may start.
const COMMANDS: [&str; 8] = [
    "tcp", "udp", "rtt", "connect", "stamp", "quality", "path", "check",
];
/// The arguments that say where results go, which is the page's business.
const OUTPUT: [&str; 10] = [
    "json",
    "json_stream",
    "csv",
    "quiet",
    "verbose",
    "top",
    "no_store",
    "help",
    "version",
    "explain",
];

/// The forms of all of them.
pub(super) fn forms() -> Vec<CommandForm> {
    let (mut cli, mut short) = (Cli::command(), with_short_help(Cli::command()));
    cli.build();
    short.build();
    let find = |name: &&str| Some((cli.find_subcommand(name)?, short.find_subcommand(name)?));
    COMMANDS
        .iter()
        .filter_map(find)
        .map(|(command, short)| CommandForm {
            name: command.get_name().to_owned(),
            about: command
                .get_about()
                .map_or_else(String::new, ToString::to_string),
            arguments: command
                .get_arguments()
                .filter(|argument| is_shown(argument))
                .map(|one| FormArgument {
                    is_common: short
                        .get_arguments()
                        .any(|shown| shown.get_id() == one.get_id() && !shown.is_hide_set()),
                    ..argument(one)
                })
                .collect(),
        })
        .collect()
}

/// `true` for arguments of a test that name no file: a page has none.
fn is_shown(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    let is_path = names.iter().any(|name| {
        ["FILE", "DIR", "PATH"]
            .iter()
            .any(|word| name.contains(word))
    });
    !is_path && !argument.is_hide_set() && !OUTPUT.contains(&argument.get_id().as_str())
}

fn argument(argument: &Arg) -> FormArgument {
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let text = |value: Option<&clap::builder::StyledStr>| value.map(ToString::to_string);
    let defaults = argument.get_default_values().iter();
    let choices = match takes_value {
        true => argument.get_possible_values(),
        false => Vec::new(),
    };
    FormArgument {
        name: argument
            .get_long()
            .unwrap_or(argument.get_id().as_str())
            .to_owned(),
        help: text(argument.get_help()).unwrap_or_default(),
        group: argument.get_help_heading().unwrap_or_default().to_owned(),
        is_positional: argument.is_positional(),
        takes_value,
        is_repeatable: matches!(argument.get_action(), ArgAction::Append),
        value_name: argument
            .get_value_names()
            .and_then(|names| names.first())
            .map_or_else(String::new, ToString::to_string),
        default: defaults
            .map(|value| value.to_string_lossy().into_owned())
            .next()
            .filter(|_| takes_value),
        choices: choices
            .iter()
            .map(|choice| choice.get_name().to_owned())
            .collect(),
        is_common: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn each_command_has_a_form_without_paths() {
        let forms = forms();
        assert_eq!(forms.len(), COMMANDS.len());
        for form in &forms {
            let names: Vec<&str> = form.arguments.iter().map(|one| one.name.as_str()).collect();
            assert!(names.contains(&"host"), "{names:?}");
            for path in ["output", "store", "token-file", "capture", "file", "json"] {
                assert!(!names.contains(&path), "{}: {path}", form.name);
            }
            assert!(form.arguments.iter().filter(|one| one.is_common).count() >= 2);
        }
        let tcp = &forms[0];
        assert!(tcp.arguments.len() > 15, "{}", tcp.arguments.len());
        let interval = tcp.arguments.iter().find(|one| one.name == "interval");
        assert!(interval.is_some_and(|one| !one.is_common));
        let parallel = tcp.arguments.iter().find(|one| one.name == "parallel");
        assert!(parallel.is_some_and(|one| one.takes_value && one.is_common));
    }

    #[test]
    fn a_form_without_values_is_a_command_line() {
        for form in forms() {
            let mut words = vec!["caudal".to_owned(), form.name.clone()];
            let host = form.arguments.iter().find(|one| one.name == "host");
            words.extend(host.map(|_| "192.0.2.1".to_owned()));
            assert!(Cli::try_parse_from(&words).is_ok(), "{words:?}");
        }
    }
}
