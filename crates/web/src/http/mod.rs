//! HTTP/1.1 as far as a page and the opening of a WebSocket need it: one request a connection.

mod origin;
mod request;
mod response;
mod route;

pub(crate) use origin::is_own_or_listed;
pub(crate) use request::{HeadError, RequestHead, RequestMethod, UpgradeRequest, read_head};
pub(crate) use response::{Body, Status, respond, whole_response};
pub(crate) use route::{RequestRoute, WebFlow, session_of};
