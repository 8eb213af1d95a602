//! What is shown: a fold of the events of a test, and the sessions of a server.

mod flow;
mod limit;
mod model;
mod point;
mod server;

pub use flow::{FlowHistory, FlowPoint};
pub use model::Model;
pub use point::{Band, ScreenColumn, TestPoint, columns};
pub use server::{ServerModel, ShownSession};
