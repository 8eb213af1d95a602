//! The expressions in an experiment file: conditions, expectations, conclusions.
//!
//! A text is parsed into an [`Expression`] once, with the types of its parts checked; [`Expression::check`] checks its names against
//! those of an experiment; [`Expression::evaluate`] asks a [`Lookup`] for their values.

mod comparison;
mod display;
mod error;
mod evaluation;
mod expression;
mod lexer;
mod lookup;
mod name;
mod node;
mod parser;
mod scope;
mod template;
mod value;

pub use comparison::ExpressionComparison;
pub use error::ExpressionError;
pub use expression::Expression;
pub use lookup::Lookup;
pub use name::{ExpressionName, MetricValue, find_metric, metric_unit};
pub use parser::{MAX_DEPTH, MAX_LENGTH};
pub use scope::Scope;
pub use template::Template;
pub use value::{EvaluationError, Value};
