//! Several tests of one host, and what they say together.

mod finding;
mod report;
mod suitability;

pub use finding::{CheckFinding, CheckFindingCode, FindingWeight};
pub use report::{
    CheckFamily, CheckLoad, CheckLoadDirection, CheckPart, CheckPath, CheckReport, CheckRoundTrips,
    CheckTcp, CheckUdp, CheckVerdict, PartNotMeasured,
};
pub use suitability::{NetworkUse, Suitability, UseSuitability};
