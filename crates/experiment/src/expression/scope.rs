//! The names there are, and what is wrong with one that is not among them.

use super::name::Named;
use crate::file::KindFile;
use crate::metric::{METRICS, On};
use crate::nearest::suggestion;

/// The names there are.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Parameters.
    pub parameters: &'a [&'a str],
    /// Flows; `None` where metrics have no place, as in `when`.
    pub flows: Option<&'a [(&'a str, KindFile)]>,
    /// Links; `None` where they are not known yet.
    pub links: Option<&'a [&'a str]>,
    /// Whether there is a load at which starvation can begin.
    pub contention: bool,
}

/// What is wrong with a name that is not in scope, and what to do about it.
pub(super) fn unknown(named: Named<'_>, scope: &Scope<'_>) -> Option<(String, String)> {
    match named {
        Named::Parameter(name) => {
            if scope.parameters.contains(&name) {
                return None;
            }
            let flow = scope
                .flows
                .is_some_and(|flows| flows.iter().any(|(flow, _)| *flow == name));
            let remedy = if flow {
                format!("name one of its metrics, as {name}.goodput")
            } else {
                suggestion(name, "parameter", scope.parameters.iter().copied())
            };
            Some((
                format!("there is no parameter {name}"),
                format!("{remedy}; a text stands in quotes"),
            ))
        }
        Named::Metric(_, name) | Named::MetricAt(_, _, name) => unknown_metric(name, scope),
        Named::Begins(_) if !scope.contention => Some((
            "nothing says whose starvation might begin".to_owned(),
            "write [contention] with victim and load".to_owned(),
        )),
        Named::Begins(_) | Named::Case(_) => None,
    }
}

fn unknown_metric(name: &str, scope: &Scope<'_>) -> Option<(String, String)> {
    let Some(flows) = scope.flows else {
        return Some((
            format!("{name} is measured, and this has to be known before"),
            "use parameters only".to_owned(),
        ));
    };
    let (of, metric) = name.rsplit_once('.')?;
    let on: Vec<On> = if let Some(link) = of.strip_prefix("links.") {
        if let Some(links) = scope.links
            && !links.contains(&link)
        {
            return Some((
                format!("there is no link {link:?}"),
                suggestion(link, "link", links.iter().copied()),
            ));
        }
        vec![On::Link]
    } else if of == "total" {
        vec![On::Total]
    } else if let Some((_, kind)) = flows.iter().find(|(flow, _)| *flow == of) {
        On::of(*kind).to_vec()
    } else {
        let names = flows.iter().map(|(flow, _)| *flow);
        return Some((
            format!("there is no flow {of:?}"),
            suggestion(of, "flow", names.chain(["total", "links"])),
        ));
    };
    let metrics: Vec<&str> = METRICS
        .iter()
        .filter(|metric| on.contains(&metric.on))
        .map(|metric| metric.name)
        .collect();
    (!metrics.contains(&metric)).then(|| {
        (
            format!("{of} has no metric {metric:?}"),
            suggestion(metric, "metric", metrics.iter().copied()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Expression;
    use super::*;

    #[test]
    fn names_that_are_not_there_are_found_before_anything_runs() {
        let flows = [
            ("tcp", KindFile::Tcp),
            ("udp", KindFile::Udp),
            ("ping", KindFile::Rtt),
        ];
        let scope = Scope {
            parameters: &["load", "congestion"],
            flows: Some(&flows),
            links: Some(&["north-1"]),
            contention: false,
        };
        let error = |text: &str| Expression::parse(text).unwrap().check(&scope).unwrap_err();
        for (text, at, problem, remedy) in [
            (
                "1 < laod",
                4,
                "there is no parameter laod",
                "did you mean load?; a text stands in quotes",
            ),
            (
                "tcp > 5",
                0,
                "there is no parameter tcp",
                "name one of its metrics, as tcp.goodput; a text stands in quotes",
            ),
            (
                "tpc.goodput > 5",
                0,
                "there is no flow \"tpc\"",
                "did you mean tcp?",
            ),
            (
                "tcp.godput > 5",
                0,
                "tcp has no metric \"godput\"",
                "did you mean goodput?",
            ),
            (
                "udp.los > 5",
                0,
                "udp has no metric \"los\"",
                "did you mean loss?",
            ),
            (
                "links.north-2.drops > 5",
                0,
                "there is no link \"north-2\"",
                "did you mean north-1?",
            ),
            (
                "at(\"A\", low(ping.goodput)) > 5",
                12,
                "ping has no metric \"goodput\"",
                "",
            ),
            (
                "begins() > 5",
                0,
                "nothing says whose starvation might begin",
                "write [contention] with victim and load",
            ),
        ] {
            let error = error(text);
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
            assert!(
                remedy.is_empty() || error.remedy == remedy,
                "{text}: {}",
                error.remedy
            );
        }
        let before = Scope {
            flows: None,
            ..scope
        };
        let early = Expression::parse("tcp.goodput > 5").unwrap().check(&before);
        assert!(
            early
                .unwrap_err()
                .problem
                .contains("has to be known before")
        );
        let fine = "tcp.rtt < 1 and ping.rtt < 1 and udp.loss < 1 and total.jain > 0 and links.north-1.drops == 0";
        assert_eq!(Expression::parse(fine).unwrap().check(&scope), Ok(()));
    }
}
