//! The forms of commands: made of the definitions of their command lines, and turned into command lines again.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of values of a form, and of bytes in one.
const MAX_VALUES: usize = 64;
const MAX_VALUE_BYTES: usize = 1024;

/// The form of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandForm {
    /// The command: `tcp`.
    pub name: String,
    /// What it does, in a line.
    pub about: String,
    /// Its arguments, in their order.
    pub arguments: Vec<FormArgument>,
}

/// One argument of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormArgument {
    /// Its name without dashes: `parallel`.
    pub name: String,
    /// What it does.
    pub help: String,
    /// The group it stands under; empty for none.
    pub group: String,
    /// `true` for one without a flag, such as the host.
    pub is_positional: bool,
    /// `false` for a flag without a value.
    pub takes_value: bool,
    /// `true` where it may be given several times.
    pub is_repeatable: bool,
    /// What stands for its value in help: `TIME`.
    pub value_name: String,
    /// Its value where it is not given.
    pub default: Option<String>,
    /// The values there are, where only some are.
    pub choices: Vec<String>,
    /// `true` for those that most tests need.
    pub is_common: bool,
}

/// The value of an argument as a page gives it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum FormValue {
    /// A flag is given, or not.
    Flag(bool),
    /// A value.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl CommandForm {
    /// The command line of these values, without the program's name.
    ///
    /// # Errors
    /// When a value is of no argument, or not of its kind.
    pub(crate) fn line(&self, values: &BTreeMap<String, FormValue>) -> Result<Vec<String>, String> {
        if values.len() > MAX_VALUES {
            return Err("there are too many values".to_owned());
        }
        if let Some(unknown) = values.keys().find(|name| self.argument(name).is_none()) {
            return Err(format!("{} has no argument {unknown:?}", self.name));
        }
        let mut words = vec![self.name.clone()];
        let mut positional = Vec::new();
        for argument in &self.arguments {
            let given: Vec<&str> = match values.get(&argument.name) {
                None | Some(FormValue::Flag(false)) => continue,
                Some(FormValue::Flag(true)) if argument.takes_value => {
                    return Err(format!("--{} takes a value", argument.name));
                }
                Some(FormValue::Flag(true)) => {
                    words.push(format!("--{}", argument.name));
                    continue;
                }
                Some(FormValue::One(value)) => vec![value],
                Some(FormValue::Many(all)) => all.iter().map(String::as_str).collect(),
            };
            let given: Vec<&str> = given
                .into_iter()
                .filter(|value| !value.is_empty())
                .collect();
            if !argument.takes_value && !given.is_empty() {
                return Err(format!("--{} takes no value", argument.name));
            }
            if given.len() > 1 && !argument.is_repeatable {
                return Err(format!("--{} may be given once", argument.name));
            }
            for value in given {
                if value.len() > MAX_VALUE_BYTES || value.contains('\0') {
                    return Err(format!("the value of --{} makes no sense", argument.name));
                }
                if argument.is_positional {
                    if value.starts_with('-') {
                        return Err(format!(
                            "{} must not begin with a dash",
                            argument.value_name
                        ));
                    }
                    positional.push(value.to_owned());
                } else {
                    // In one word, so that no value is taken for a flag.
                    words.push(format!("--{}={value}", argument.name));
                }
            }
        }
        words.splice(1..1, positional);
        Ok(words)
    }

    fn argument(&self, name: &str) -> Option<&FormArgument> {
        self.arguments.iter().find(|one| one.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, is_positional: bool, takes_value: bool) -> FormArgument {
        FormArgument {
            name: name.to_owned(),
            help: String::new(),
            group: String::new(),
            is_positional,
            takes_value,
            is_repeatable: false,
            value_name: name.to_uppercase(),
            default: None,
            choices: Vec::new(),
            is_common: true,
        }
    }

    fn line(values: &str) -> Result<Vec<String>, String> {
        let form = CommandForm {
            name: "tcp".to_owned(),
            about: String::new(),
            arguments: vec![
                argument("parallel", false, true),
                argument("reverse", false, false),
                argument("host", true, true),
            ],
        };
        form.line(&serde_json::from_str(values).unwrap())
    }

    #[test]
    fn values_become_the_command_line_that_they_stand_for() {
        let words = line(r#"{"host":"far","parallel":"4","reverse":true}"#).unwrap();
        assert_eq!(words, ["tcp", "far", "--parallel=4", "--reverse"]);
        assert_eq!(line(r#"{"host":"","reverse":false}"#).unwrap(), ["tcp"]);
    }

    #[test]
    fn no_value_becomes_a_flag() {
        assert_eq!(
            line(r#"{"parallel":"--output=x"}"#).unwrap(),
            ["tcp", "--parallel=--output=x"]
        );
        for wrong in [
            r#"{"host":"--output=/etc/passwd"}"#,
            r#"{"output":"x"}"#,
            r#"{"reverse":"yes"}"#,
            r#"{"parallel":true}"#,
            r#"{"parallel":["1","2"]}"#,
            r#"{"host":"a\u0000b"}"#,
        ] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }
}
