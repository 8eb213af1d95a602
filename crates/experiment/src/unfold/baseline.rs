//! Solo baselines: flows alone, which those of the cases are compared with.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::error::{Result, same_key};
use crate::case::{Case, FlowSpec};
use crate::file::TestbedFile;
use crate::scalar::Scalar;

/// A flow of a case that is also measured alone.
pub(super) struct BaselineRequest {
    /// The name of the flow.
    pub name: String,
    pub flow: FlowSpec,
    /// The parameters that the flow and its network depend on.
    pub parameters: BTreeSet<String>,
}

/// Adds the requested baselines; identical ones are shared, and a case of one flow serves as its own baseline.
pub(super) fn add_baselines(
    cases: &mut Vec<Case>,
    requests: Vec<Vec<BaselineRequest>>,
) -> Result<()> {
    let signature = |testbed: &TestbedFile, flow: &FlowSpec| format!("{testbed:?} {flow:?}");
    let mut known: HashMap<String, String> = HashMap::new();
    for case in cases.iter() {
        if let [flow] = case.flows.as_slice() {
            known
                .entry(signature(&case.testbed, flow))
                .or_insert_with(|| case.key.clone());
        }
    }
    let mut keys: HashSet<String> = cases.iter().map(|case| case.key.clone()).collect();
    for (index, requests) in requests.into_iter().enumerate() {
        for request in requests {
            let signature = signature(&cases[index].testbed, &request.flow);
            let key = match known.get(&signature) {
                Some(key) => key.clone(),
                None => {
                    let baseline = baseline(&cases[index], &request);
                    let key = baseline.key.clone();
                    if !keys.insert(key.clone()) {
                        return Err(same_key(&key));
                    }
                    cases.push(baseline);
                    known.insert(signature, key.clone());
                    key
                }
            };
            cases[index].baselines.insert(request.name, key);
        }
    }
    Ok(())
}

fn baseline(of: &Case, request: &BaselineRequest) -> Case {
    let parameters: Vec<(String, Scalar)> = of
        .parameters
        .iter()
        .filter(|(parameter, _)| request.parameters.contains(parameter))
        .cloned()
        .collect();
    let words: Vec<String> = parameters
        .iter()
        .map(|(parameter, value)| format!("{parameter}={value}"))
        .collect();
    let key = if words.is_empty() {
        format!("alone: {}", request.name)
    } else {
        format!("alone: {} ({})", request.name, words.join(" "))
    };
    Case {
        key,
        name: None,
        title: None,
        parameters,
        flows: vec![request.flow.clone()],
        alone: Some(request.name.clone()),
        baselines: BTreeMap::new(),
        ..of.clone()
    }
}
