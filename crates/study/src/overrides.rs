//! Changes of an experiment's file: `congestion=cubic,bbr` for the values of a parameter, `time.measure=5s` for a key.

use caudal_experiment::ExperimentFile;
use caudal_topology::parse_value;
use serde::Deserialize;

/// The keys of an experiment's file that are not in a table.
const TOP_LEVEL_KEYS: [&str; 4] = ["title", "question", "capture", "seed"];

/// A change of an experiment's file that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// There is no `=`.
    #[error("{0} has no value")]
    NoValue(String),
    /// The experiment has no parameter of this name.
    #[error(
        "{change}: there is no parameter {name:?}; {}",
        known_parameters(parameters)
    )]
    NoSuchParameter {
        /// The change.
        change: String,
        /// The name.
        name: String,
        /// The names of the parameters that there are.
        parameters: Vec<String>,
    },
    /// The key leads to no place in the file.
    #[error("{0} leads nowhere")]
    NoSuchKey(String),
    /// The result is no experiment's file.
    #[error("{}: {problem}", changes.join(", "))]
    Invalid {
        /// All changes.
        changes: Vec<String>,
        /// The reason.
        problem: String,
    },
}

fn known_parameters(names: &[String]) -> String {
    if names.is_empty() {
        "the experiment has no parameters".to_owned()
    } else {
        format!("its parameters are {}", names.join(", "))
    }
}

/// The file with all changes.
///
/// # Errors
/// When one leads nowhere, or the result is no experiment's file.
pub(crate) fn apply_overrides(
    file: ExperimentFile,
    changes: &[String],
) -> Result<ExperimentFile, OverrideError> {
    if changes.is_empty() {
        return Ok(file);
    }
    let invalid = |problem: String| OverrideError::Invalid {
        changes: changes.to_vec(),
        problem,
    };
    let mut table = toml::Table::try_from(&file).map_err(|error| invalid(error.to_string()))?;
    for change in changes {
        apply(&mut table, &file, change)?;
    }
    ExperimentFile::deserialize(table)
        .map_err(|error| invalid(error.message().trim().replace('\n', " ")))
}

/// Changes the values of a parameter, or the value of a dotted key.
fn apply(
    table: &mut toml::Table,
    file: &ExperimentFile,
    change: &str,
) -> Result<(), OverrideError> {
    let (name, value) = change
        .split_once('=')
        .ok_or_else(|| OverrideError::NoValue(change.to_owned()))?;
    let name = name.trim();
    if let Some(nth) = file.parameter.iter().position(|one| one.name == name) {
        set_parameter(table, nth, name, value);
        return Ok(());
    }
    let keys: Vec<&str> = name.split('.').collect();
    if keys.len() < 2 && !TOP_LEVEL_KEYS.contains(&name) {
        return Err(OverrideError::NoSuchParameter {
            change: change.to_owned(),
            name: name.to_owned(),
            parameters: file.parameter.iter().map(|one| one.name.clone()).collect(),
        });
    }
    insert(table, &keys, parse_value(value))
        .ok_or_else(|| OverrideError::NoSuchKey(change.to_owned()))?;
    // The value of the quick variant gives way as well.
    if let Some(quick) = table.get_mut("quick").and_then(toml::Value::as_table_mut) {
        remove(quick, &keys);
    }
    Ok(())
}

/// Sets the values of parameter `nth`, in the quick variant as well.
fn set_parameter(table: &mut toml::Table, nth: usize, name: &str, value: &str) {
    let values: Vec<toml::Value> = value
        .split(',')
        .map(|one| parse_value(one.trim()))
        .collect();
    let parameters = table.get_mut("parameter");
    let parameter = parameters.and_then(|all| all.get_mut(nth)?.as_table_mut());
    if let Some(parameter) = parameter {
        parameter.insert("values".to_owned(), toml::Value::Array(values));
    }
    let quick = table.get_mut("quick");
    let quick_values = quick.and_then(|quick| quick.get_mut("values")?.as_table_mut());
    if let Some(quick_values) = quick_values {
        quick_values.remove(name);
    }
}

/// Inserts the value of a path of keys; `None` when it leads nowhere.
fn insert(table: &mut toml::Table, keys: &[&str], value: toml::Value) -> Option<()> {
    match keys {
        [] => None,
        [last] => {
            table.insert((*last).to_owned(), value);
            Some(())
        }
        [first, rest @ ..] => {
            let inner = table
                .entry((*first).to_owned())
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            match inner {
                toml::Value::Table(inner) => insert(inner, rest, value),
                // Elements of a list are known by their name.
                toml::Value::Array(items) => {
                    let (name, rest) = rest.split_first()?;
                    let mut tables = items.iter_mut().filter_map(toml::Value::as_table_mut);
                    insert(tables.find(|item| is_named(item, name))?, rest, value)
                }
                _ => None,
            }
        }
    }
}

/// `true` when the table has this name.
fn is_named(table: &toml::Table, name: &str) -> bool {
    let own = table.iter().find(|(key, _)| *key == "name");
    own.is_some_and(|(_, own)| own.as_str() == Some(name))
}

/// Removes the value of a path of keys, where there is one.
fn remove(table: &mut toml::Table, keys: &[&str]) {
    match keys {
        [] => {}
        [last] => {
            table.remove(*last);
        }
        [first, rest @ ..] => {
            if let Some(inner) = table.get_mut(*first).and_then(toml::Value::as_table_mut) {
                remove(inner, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> ExperimentFile {
        let text = "title = 'x'\n[topology]\nloopback = true\n[time]\nmeasure = '10s'\n\
                    [[parameter]]\nname = 'p'\nvalues = [1, 2]\n\
                    [[flow]]\nname = 'f'\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\n\
                    [quick.values]\np = [1]\n";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_parameter_a_key_and_a_key_of_a_named_flow_are_changed() {
        let changes = ["p=3,4", "time.measure=5s", "flow.f.count=2"].map(str::to_owned);
        let changed = apply_overrides(file(), &changes).unwrap();
        let table = toml::Table::try_from(&changed).unwrap();
        assert_eq!(table["parameter"][0]["values"].to_string(), "[3, 4]");
        assert_eq!(table["time"]["measure"].as_str(), Some("5s"));
        assert_eq!(table["flow"][0]["count"].to_string(), "2");
        // What was given explicitly holds in the quick variant as well.
        assert_eq!(changed.quick.map(|quick| quick.values.len()), Some(0));
    }

    #[test]
    fn a_change_that_leads_nowhere_is_refused_and_named() {
        for (change, expected) in [
            ("p", "p has no value"),
            (
                "q=1",
                "q=1: there is no parameter \"q\"; its parameters are p",
            ),
            ("flow.g.count=2", "flow.g.count=2 leads nowhere"),
        ] {
            let error = apply_overrides(file(), &[change.to_owned()]).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let error = apply_overrides(file(), &["time.measur=5s".to_owned()]).unwrap_err();
        assert!(matches!(error, OverrideError::Invalid { .. }), "{error}");
    }
}
