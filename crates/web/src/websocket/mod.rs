//! WebSockets (RFC 6455) whose payload is counted, not kept: the data path of a browser's test.
//!
//! What carries messages of a dialogue is a library's; what carries payload at the rate of the link is here.

mod accept;
mod frame;
mod frame_reader;
mod receiver;
mod sender;

pub(crate) use accept::accept_upgrade;
pub(crate) use frame::text_frame;
pub(crate) use receiver::WebSocketReceiver;
pub(crate) use sender::{SentMessageSizes, WebSocketSender, random_payload};
