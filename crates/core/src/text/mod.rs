//! Text from outside, printable text, and text for a shell.

mod external_text;
mod printable;
mod shell;

pub use external_text::ExternalText;
pub use printable::{MAX_LINE_CHARS, on_one_line, printable};
pub use shell::command_line;
