//! The grade of a network by the delay that load adds.
//!
//! Source: DSLReports, "Bufferbloat Grades", <https://www.dslreports.com/faq/17930>: the mean of the increase in round-trip time
//! under download and that under upload, below 5, 30, 60, 200 and 400 ms.

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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GradeReport {
    /// The grade.
    pub grade: Grade,
    /// The mean of the increases under download and under upload, µs.
    pub increase_us: f64,
}

impl GradeReport {
    /// The grade of a test whose load adds this much under download and under upload, µs.
    #[must_use]
    pub fn of_increases(down_us: f64, up_us: f64) -> Self {
        let increase_us = f64::midpoint(down_us, up_us);
        Self {
            grade: Grade::of_increase_us(increase_us),
            increase_us,
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
