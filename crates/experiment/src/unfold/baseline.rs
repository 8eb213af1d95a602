//! Flows alone, which those of a case are compared with.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::super::campaign::{Case, FlowSpec};
use super::super::file::PlaceFile;
use super::super::scalar::Scalar;
use super::error::{Result, same_key};

/// A flow that is to be measured alone, and the parameters on which it and its place depend.
pub(super) type Alone = (String, FlowSpec, BTreeSet<String>);

/// Adds the solo baselines that the cases want; identical ones are shared, and a case that is one already serves as one.
pub(super) fn baselines(cases: &mut Vec<Case>, alone: Vec<Vec<Alone>>) -> Result<()> {
    let signature = |place: &PlaceFile, flow: &FlowSpec| format!("{place:?} {flow:?}");
    let mut known: HashMap<String, String> = HashMap::new();
    for case in cases.iter() {
        if let [flow] = case.flows.as_slice() {
            known
                .entry(signature(&case.place, flow))
                .or_insert_with(|| case.key.clone());
        }
    }
    let mut taken: HashSet<String> = cases.iter().map(|case| case.key.clone()).collect();
    for (index, wanted) in alone.into_iter().enumerate() {
        for (name, flow, used) in wanted {
            let signature = signature(&cases[index].place, &flow);
            let key = match known.get(&signature) {
                Some(key) => key.clone(),
                None => {
                    let baseline = baseline(&cases[index], &name, flow, &used);
                    let key = baseline.key.clone();
                    if !taken.insert(key.clone()) {
                        return Err(same_key(&key));
                    }
                    cases.push(baseline);
                    known.insert(signature, key.clone());
                    key
                }
            };
            cases[index].baselines.insert(name, key);
        }
    }
    Ok(())
}

fn baseline(of: &Case, name: &str, flow: FlowSpec, used: &BTreeSet<String>) -> Case {
    let parameters: Vec<(String, Scalar)> = of
        .parameters
        .iter()
        .filter(|(parameter, _)| used.contains(parameter))
        .cloned()
        .collect();
    let words: Vec<String> = parameters
        .iter()
        .map(|(parameter, value)| format!("{parameter}={value}"))
        .collect();
    let key = if words.is_empty() {
        format!("alone: {name}")
    } else {
        format!("alone: {name} ({})", words.join(" "))
    };
    Case {
        key,
        name: None,
        title: None,
        parameters,
        flows: vec![flow],
        alone: Some(name.to_owned()),
        baselines: BTreeMap::new(),
        ..of.clone()
    }
}
