//! The formulas and sentences of a file, held against the names there are.

use super::super::expression::{Expression, Named, Scope, Template, Which};
use super::super::file::{ExperimentFile, KindFile};
use super::super::scalar::number;
use super::condition::{before, condition};
use super::error::{ExperimentError, Result, element, no_case, no_link, no_parameter, top};
use super::matrix::{Point, describes};
use super::names::parameter_names;
use caudal_topology::Location;

/// Holds every formula of the file against the names there are; against links only where they are known.
pub(super) fn check_texts(
    file: &ExperimentFile,
    whole: &[Point],
    links: Option<&[&str]>,
) -> Result<()> {
    let parameters = parameter_names(file);
    let flows: Vec<(&str, KindFile)> = file
        .flow
        .iter()
        .map(|flow| (flow.name.as_str(), flow.kind))
        .collect();
    let texts = Texts {
        file,
        whole,
        measured: Scope {
            parameters: &parameters,
            flows: Some(&flows),
            links,
            contention: file.contention.is_some(),
        },
        before: before(&parameters),
    };
    texts.all()
}

struct Texts<'a> {
    file: &'a ExperimentFile,
    whole: &'a [Point],
    measured: Scope<'a>,
    before: Scope<'a>,
}

impl Texts<'_> {
    fn all(&self) -> Result<()> {
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
                // By name, or else by an expression; a word that is neither was meant as a name.
                let expression = Expression::condition(case);
                let checked = expression.is_ok_and(|it| it.check(&self.before).is_ok());
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
                        format!("{:?} is no number", value.to_string()),
                        "write it in the metric's base unit or with a unit, as 8.17M or 1.94%",
                    ));
                }
            }
            if published.value.is_none() && published.predicted.is_none() {
                return Err(ExperimentError::new(
                    at,
                    "this publishes nothing",
                    "give value or predicted",
                ));
            }
            if let Some(within) = &published.within {
                self.part(at.key("within"), within)?;
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
                self.part(at.key("below"), below)?;
            }
            if let (Some(link), Some(links)) = (&contention.link, self.measured.links)
                && !links.contains(&link.as_str())
            {
                return Err(no_link(at.key("link"), link, links));
            }
            for point in self.whole {
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
                            "{} has the value {value}, which is no number",
                            contention.load
                        ),
                        "take a parameter of rates or parts, as 50M or 80%",
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
                    "else stands without if",
                    "write if",
                ));
            }
            self.say(&at.key("say"), &conclude.say)?;
            if let Some(otherwise) = &conclude.otherwise {
                self.say(&at.key("else"), otherwise)?;
            }
        }
        Ok(())
    }

    fn tables(&self) -> Result<()> {
        for (index, table) in self.file.table.iter().enumerate() {
            let at = Location::element("table", index);
            self.when(&at, table.when.as_ref())?;
            for (place, metric) in table.metrics.iter().enumerate() {
                self.metric(element(&at.key("metrics"), place), metric)?;
            }
        }
        Ok(())
    }

    fn figures(&self) -> Result<()> {
        for (index, figure) in self.file.figure.iter().enumerate() {
            let at = Location::element("figure", index);
            self.when(&at, figure.when.as_ref())?;
            for (place, metric) in figure.metrics.iter().enumerate() {
                self.metric(element(&at.key("metrics"), place), metric)?;
            }
            for (key, name) in [("over", &figure.over), ("by", &figure.by)] {
                if let Some(name) = name {
                    self.parameter(at.key(key), name)?;
                }
            }
        }
        Ok(())
    }

    fn fits(&self, at: &Location, text: &str, expression: &Expression) -> Result<()> {
        expression
            .check(&self.measured)
            .map_err(|error| ExperimentError::of_expression(at.clone(), error, text))?;
        self.cases(at, expression)
    }

    fn condition(&self, at: &Location, text: &str) -> Result<()> {
        let expression = condition(at, text, &self.measured)?;
        self.cases(at, &expression)
    }

    /// Holds the cases that an expression names against those there are.
    fn cases(&self, at: &Location, expression: &Expression) -> Result<()> {
        for name in expression.names() {
            if let Named::Case(case) = name {
                self.case(at, case)?;
            }
        }
        Ok(())
    }

    fn names_case(&self, text: &str) -> bool {
        self.whole
            .iter()
            .any(|point| describes(text, &point.key(), point.name.as_deref(), &point.parameters))
    }

    fn case(&self, at: &Location, case: &str) -> Result<()> {
        if self.names_case(case) {
            return Ok(());
        }
        let mut known: Vec<String> = self
            .whole
            .iter()
            .flat_map(|point| point.name.clone().into_iter().chain([point.key()]))
            .collect();
        known.dedup();
        Err(no_case(at.clone(), case, known.iter().map(String::as_str)))
    }

    fn metric(&self, at: Location, text: &str) -> Result<()> {
        let wrong = |error| ExperimentError::of_expression(at.clone(), error, text);
        let expression = Expression::parse(text).map_err(wrong)?;
        if !matches!(expression.as_metric(), Some((None, Which::Observed, _))) {
            return Err(ExperimentError::new(
                at,
                format!("{text:?} is no metric"),
                "write FLOW.METRIC, total.METRIC or links.NAME.METRIC",
            ));
        }
        self.fits(&at, text, &expression)
    }

    fn when(&self, at: &Location, text: Option<&String>) -> Result<()> {
        text.map_or(Ok(()), |text| {
            condition(&at.key("when"), text, &self.before).map(drop)
        })
    }

    fn parameter(&self, at: Location, name: &str) -> Result<()> {
        if self.before.parameters.contains(&name) {
            return Ok(());
        }
        Err(no_parameter(
            at,
            name,
            self.before.parameters.iter().copied(),
        ))
    }

    fn say(&self, at: &Location, text: &str) -> Result<()> {
        let wrong = |error| ExperimentError::of_expression(at.clone(), error, text);
        let template = Template::parse(text).map_err(wrong)?;
        for expression in template.expressions() {
            self.fits(at, "", expression)?;
        }
        Ok(())
    }

    fn part(&self, at: Location, text: &str) -> Result<()> {
        match number(text) {
            Some(part) if (0.0..=1e6).contains(&part) => Ok(()),
            _ => Err(ExperimentError::new(
                at,
                format!("{text:?} is no part"),
                "write for example 5%",
            )),
        }
    }
}
