//! The names available to an expression, and errors for those that are not.

use super::name::ExpressionName;
use crate::file::FlowKindFile;
use crate::metric::{METRICS, MetricSubject, is_path_link};
use crate::suggestion::suggestion;

/// The names available to an expression.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The parameters.
    pub parameters: &'a [&'a str],
    /// The flows; `None` where metrics are not allowed, as in `when`.
    pub flows: Option<&'a [(&'a str, FlowKindFile)]>,
    /// The links; `None` where they are not known yet.
    pub links: Option<&'a [&'a str]>,
    /// `true` when starvation is analysed, so that there is a load at which it begins.
    pub contention: bool,
}

/// The problem and the remedy for a name that is not in scope.
pub(super) fn unknown(named: ExpressionName<'_>, scope: &Scope<'_>) -> Option<(String, String)> {
    match named {
        ExpressionName::Parameter(name) => {
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
                format!("{remedy}; a text is written in quotes"),
            ))
        }
        ExpressionName::Metric(_, name) | ExpressionName::MetricAt(_, _, name) => {
            unknown_metric(name, scope)
        }
        ExpressionName::StarvationLoad(_) if !scope.contention => Some((
            "no flow is analysed for starvation".to_owned(),
            "write [contention] with victim and load".to_owned(),
        )),
        ExpressionName::StarvationLoad(_) | ExpressionName::Case(_) => None,
    }
}

fn unknown_metric(name: &str, scope: &Scope<'_>) -> Option<(String, String)> {
    let Some(flows) = scope.flows else {
        return Some((
            format!("{name} is measured, but this must be known before"),
            "use parameters only".to_owned(),
        ));
    };
    let (owner, metric) = name.rsplit_once('.')?;
    let subjects: Vec<MetricSubject> = if let Some(link) = owner.strip_prefix("links.") {
        if let Some(links) = scope.links
            && !links.contains(&link)
        {
            return Some((
                format!("there is no link {link:?}"),
                suggestion(link, "link", links.iter().copied()),
            ));
        }
        vec![MetricSubject::Link]
    } else if owner == "total" {
        vec![MetricSubject::Total]
    } else if let Some((_, kind)) = flows.iter().find(|(flow, _)| *flow == owner) {
        MetricSubject::for_flow(*kind).to_vec()
    } else if let Some((flow, link)) = owner.split_once('.')
        && is_path_link(link)
        && flows.contains(&(flow, FlowKindFile::Path))
    {
        vec![MetricSubject::PathLink]
    } else {
        let names = flows.iter().map(|(flow, _)| *flow);
        return Some((
            format!("there is no flow {owner:?}"),
            suggestion(owner, "flow", names.chain(["total", "links"])),
        ));
    };
    let metrics: Vec<&str> = METRICS
        .iter()
        .filter(|metric| subjects.contains(&metric.subject))
        .map(|metric| metric.name)
        .collect();
    (!metrics.contains(&metric)).then(|| {
        (
            format!("{owner} has no metric {metric:?}"),
            suggestion(metric, "metric", metrics.iter().copied()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expression;

    #[test]
    fn unknown_names_are_reported_before_anything_runs() {
        let flows = [
            ("tcp", FlowKindFile::Tcp),
            ("udp", FlowKindFile::Udp),
            ("ping", FlowKindFile::Rtt),
            ("path", FlowKindFile::Path),
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
                "did you mean load?; a text is written in quotes",
            ),
            (
                "tcp > 5",
                0,
                "there is no parameter tcp",
                "name one of its metrics, as tcp.goodput; a text is written in quotes",
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
                "path.link2.capacty > 5",
                0,
                "path.link2 has no metric \"capacty\"",
                "did you mean capacity?",
            ),
            (
                "ping.link2.capacity > 5",
                0,
                "there is no flow \"ping.link2\"",
                "",
            ),
            (
                "begins() > 5",
                0,
                "no flow is analysed for starvation",
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
        assert!(early.unwrap_err().problem.contains("must be known before"));
        let fine = "tcp.rtt < 1 and ping.rtt < 1 and udp.loss < 1 and total.jain > 0 and links.north-1.drops == 0 \
                    and path.capacity > 0 and path.link2.shaped == 1";
        assert_eq!(Expression::parse(fine).unwrap().check(&scope), Ok(()));
    }
}
