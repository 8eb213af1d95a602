//! The grade of a network by the delay that load adds.
//!
//! Source: DSLReports, "Bufferbloat Grades", <https://www.dslreports.com/faq/17930>: the mean of the increase in round-trip time
//! under download and that under upload, below 5, 30, 60, 200 and 400 ms.

use crate::plan::PhaseLoad;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A grade by the increase in round-trip time under load.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Grade {
    /// Less than 5 ms.
    #[serde(rename = "A+")]
    APlus,
    /// Less than 30 ms.
    A,
    /// Less than 60 ms.
    B,
    /// Less than 200 ms.
    C,
    /// Less than 400 ms.
    D,
    /// 400 ms and more.
    F,
}

impl Grade {
    /// Each grade but the last with the increase below which it is given, ms.
    pub const LIMITS_MS: [(Self, f64); 5] = [
        (Self::APlus, 5.0),
        (Self::A, 30.0),
        (Self::B, 60.0),
        (Self::C, 200.0),
        (Self::D, 400.0),
    ];

    /// The grade of an increase in µs.
    #[must_use]
    pub fn of_increase_us(us: f64) -> Self {
        let reached = Self::LIMITS_MS
            .into_iter()
            .find(|(_, limit)| us < limit * 1e3);
        reached.map_or(Self::F, |(grade, _)| grade)
    }

    /// `A+` to `F`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

/// The grade of a test with the increase that it was given for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GradeReport {
    /// The grade.
    pub grade: Grade,
    /// The mean of the increases under download and under upload, µs; that of one alone where the other has no grade.
    pub increase_us: f64,
    /// The loads that it was given for: `download` and `upload`, or one of them. Empty in documents of earlier versions, for both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<PhaseLoad>,
}

impl GradeReport {
    /// The grade of a test whose load adds this much under each of these, µs; `None` without any.
    #[must_use]
    pub fn of_increases(increases_us: &[(PhaseLoad, f64)]) -> Option<Self> {
        let sum_us: f64 = increases_us.iter().map(|(_, us)| us).sum();
        (!increases_us.is_empty()).then(|| {
            let increase_us = sum_us / increases_us.len() as f64;
            Self {
                grade: Grade::of_increase_us(increase_us),
                increase_us,
                loads: increases_us.iter().map(|(load, _)| *load).collect(),
            }
        })
    }

    /// The load that it was given for alone; `None` where it is for both.
    #[must_use]
    pub fn single_load(&self) -> Option<PhaseLoad> {
        match self.loads[..] {
            [load] => Some(load),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thresholds_are_those_that_were_published() {
        let cases = [
            (0.0, "A+"),
            (4.999, "A+"),
            (5.0, "A"),
            (29.9, "A"),
            (30.0, "B"),
            (59.9, "B"),
            (60.0, "C"),
            (199.9, "C"),
            (200.0, "D"),
            (399.9, "D"),
            (400.0, "F"),
            (5000.0, "F"),
            (-1.0, "A+"),
        ];
        for (ms, grade) in cases {
            assert_eq!(Grade::of_increase_us(ms * 1e3).name(), grade, "{ms} ms");
        }
        assert_eq!(serde_json::to_string(&Grade::APlus).unwrap(), r#""A+""#);
    }
}
