//! How a run is shown: to people as text, to programs as JSON or CSV.

pub mod csv;
pub mod json;
pub mod live;
pub mod round_trips;
pub mod sink;
pub mod text;
