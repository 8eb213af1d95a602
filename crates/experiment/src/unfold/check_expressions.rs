//! Checks of the expressions and sentences of a file.

use super::check_names::parameter_names;
use super::condition::{condition, parameter_scope};
use super::error::{ExperimentError, Result, element, no_case, no_link, no_parameter, top};
use super::matrix::Point;
use crate::case::is_named_by;
use crate::expression::{Expression, ExpressionName, MetricValue, Scope, Template};
use crate::file::{ExperimentFile, FlowKindFile};
use crate::scalar::parse_number;
use caudal_topology::Location;

/// Checks the names in every expression of the file; those of links only where they are known.
pub(super) fn check_expressions(
    file: &ExperimentFile,
    points: &[Point],
    links: Option<&[&str]>,
) -> Result<()> {
    let parameters = parameter_names(file);
    let flows: Vec<(&str, FlowKindFile)> = file
        .flow
        .iter()
        .map(|flow| (flow.name.as_str(), flow.kind))
        .collect();
    let checker = ExpressionChecker {
        file,
        points,
        measured: Scope {
            parameters: &parameters,
            flows: Some(&flows),
            links,
            contention: file.contention.is_some(),
        },
        parameters: parameter_scope(&parameters),
    };
    checker.check()
}

struct ExpressionChecker<'a> {
    file: &'a ExperimentFile,
    points: &'a [Point],
    measured: Scope<'a>,
    parameters: Scope<'a>,
}

impl ExpressionChecker<'_> {
    fn check(&self) -> Result<()> {
        self.repeat()?;
        self.expectations()?;
        self.published()?;
        self.contention()?;
        self.conclusions()?;
        self.tables()?;
        self.figures()
    }

    fn repeat(&self) -> Result<()> {
        for (index, metric) in self.file.repeat.of.iter().enumerate() {
            self.metric(element(&top("repeat").key("of"), index), metric)?;
        }
        Ok(())
    }

    fn expectations(&self) -> Result<()> {
        for (index, expect) in self.file.expect.iter().enumerate() {
            let at = Location::element("expect", index);
            self.condition(&at.key("that"), &expect.that)?;
            self.when(&at, expect.when.as_ref())?;
        }
        Ok(())
    }

    fn published(&self) -> Result<()> {
        for (index, published) in self.file.published.iter().enumerate() {
            let at = Location::element("published", index);
            if let Some(case) = &published.case
                && !self.names_case(case)
            {
                // By name, otherwise by an expression; a word that is neither is taken for a name.
                let expression = Expression::condition(case);
                let checked =
                    expression.is_ok_and(|expression| expression.check(&self.parameters).is_ok());
                if !checked {
                    self.case(&at.key("case"), case)?;
                }
            }
            self.when(&at, published.when.as_ref())?;
            self.metric(at.key("metric"), &published.metric)?;
            for (key, value) in [
                ("value", &published.value),
                ("predicted", &published.predicted),
            ] {
                if let Some(value) = value
                    && value.number().is_none()
                {
                    return Err(ExperimentError::new(
                        at.key(key),
                        format!("{:?} is not a number", value.to_string()),
                        "write it in the metric's base unit or with a unit, as 8.17M or 1.94%",
                    ));
                }
            }
            if published.value.is_none() && published.predicted.is_none() {
                return Err(ExperimentError::new(
                    at,
                    "this has no published value",
                    "give value or predicted",
                ));
            }
            if let Some(within) = &published.within {
                self.fraction(at.key("within"), within)?;
            }
        }
        Ok(())
    }

    fn contention(&self) -> Result<()> {
        if let Some(contention) = &self.file.contention {
            let at = top("contention");
            self.metric(at.key("victim"), &format!("{}.goodput", contention.victim))?;
            self.parameter(at.key("load"), &contention.load)?;
            if let Some(below) = &contention.below {
                self.fraction(at.key("below"), below)?;
            }
            if let (Some(link), Some(links)) = (&contention.link, self.measured.links)
                && !links.contains(&link.as_str())
            {
                return Err(no_link(at.key("link"), link, links));
            }
            for point in self.points {
                let load = point
                    .parameters
                    .iter()
                    .find(|(name, _)| *name == contention.load);
                if let Some((_, value)) = load
                    && value.number().is_none()
                {
                    return Err(ExperimentError::new(
                        at.key("load"),
                        format!(
                            "{} has the value {value}, which is not a number",
                            contention.load
                        ),
                        "use a parameter of rates or percentages, as 50M or 80%",
                    ));
                }
            }
        }
        Ok(())
    }

    fn conclusions(&self) -> Result<()> {
        for (index, conclude) in self.file.conclude.iter().enumerate() {
            let at = Location::element("conclude", index);
            if let Some(text) = &conclude.condition {
                self.condition(&at.key("if"), text)?;
            } else if conclude.otherwise.is_some() {
                return Err(ExperimentError::new(
                    at.key("else"),
                    "there is an else without an if",
                    "write if",
                ));
            }
            self.template(&at.key("say"), &conclude.say)?;
            if let Some(otherwise) = &conclude.otherwise {
                self.template(&at.key("else"), otherwise)?;
            }
        }
        Ok(())
    }

    fn tables(&self) -> Result<()> {
        for (index, table) in self.file.table.iter().enumerate() {
            let at = Location::element("table", index);
            self.when(&at, table.when.as_ref())?;
            for (number, metric) in table.metrics.iter().enumerate() {
                self.metric(element(&at.key("metrics"), number), metric)?;
            }
        }
        Ok(())
    }

    fn figures(&self) -> Result<()> {
        for (index, figure) in self.file.figure.iter().enumerate() {
            let at = Location::element("figure", index);
            self.when(&at, figure.when.as_ref())?;
            for (number, metric) in figure.metrics.iter().enumerate() {
                self.metric(element(&at.key("metrics"), number), metric)?;
            }
            for (key, name) in [("over", &figure.over), ("by", &figure.by)] {
                if let Some(name) = name {
                    self.parameter(at.key(key), name)?;
                }
            }
        }
        Ok(())
    }

    fn check_expression(&self, at: &Location, text: &str, expression: &Expression) -> Result<()> {
        expression
            .check(&self.measured)
            .map_err(|error| ExperimentError::from_expression(at.clone(), error, text))?;
        self.cases(at, expression)
    }

    fn condition(&self, at: &Location, text: &str) -> Result<()> {
        let expression = condition(at, text, &self.measured)?;
        self.cases(at, &expression)
    }

    /// Checks the cases named in an expression.
    fn cases(&self, at: &Location, expression: &Expression) -> Result<()> {
        for name in expression.names() {
            if let ExpressionName::Case(case) = name {
                self.case(at, case)?;
            }
        }
        Ok(())
    }

    fn names_case(&self, text: &str) -> bool {
        self.points
            .iter()
            .any(|point| is_named_by(text, &point.key(), point.name.as_deref(), &point.parameters))
    }

    fn case(&self, at: &Location, case: &str) -> Result<()> {
        if self.names_case(case) {
            return Ok(());
        }
        let mut known: Vec<String> = self
            .points
            .iter()
            .flat_map(|point| point.name.clone().into_iter().chain([point.key()]))
            .collect();
        known.dedup();
        Err(no_case(at.clone(), case, known.iter().map(String::as_str)))
    }

    fn metric(&self, at: Location, text: &str) -> Result<()> {
        let located = |error| ExperimentError::from_expression(at.clone(), error, text);
        let expression = Expression::parse(text).map_err(located)?;
        if !matches!(
            expression.as_metric(),
            Some((None, MetricValue::Observed, _))
        ) {
            return Err(ExperimentError::new(
                at,
                format!("{text:?} is not a metric"),
                "write FLOW.METRIC, total.METRIC or links.NAME.METRIC",
            ));
        }
        self.check_expression(&at, text, &expression)
    }

    fn when(&self, at: &Location, text: Option<&String>) -> Result<()> {
        text.map_or(Ok(()), |text| {
            condition(&at.key("when"), text, &self.parameters).map(drop)
        })
    }

    fn parameter(&self, at: Location, name: &str) -> Result<()> {
        if self.parameters.parameters.contains(&name) {
            return Ok(());
        }
        Err(no_parameter(
            at,
            name,
            self.parameters.parameters.iter().copied(),
        ))
    }

    fn template(&self, at: &Location, text: &str) -> Result<()> {
        let located = |error| ExperimentError::from_expression(at.clone(), error, text);
        let template = Template::parse(text).map_err(located)?;
        for expression in template.expressions() {
            self.check_expression(at, "", expression)?;
        }
        Ok(())
    }

    fn fraction(&self, at: Location, text: &str) -> Result<()> {
        match parse_number(text) {
            Some(fraction) if (0.0..=1e6).contains(&fraction) => Ok(()),
            _ => Err(ExperimentError::new(
                at,
                format!("{text:?} is not a fraction"),
                "write for example 5%",
            )),
        }
    }
}
