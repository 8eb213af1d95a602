//! Contents made ready to be sent: each is read, and its digest computed, before any clock starts.

use super::args::FileArgs;
use super::file_content::FileContent;
use super::plan::direction;
use super::values::SourceArg;
use caudal_core::plan::Direction;
use caudal_engine::{PreparedContent, TransferFileError};
use std::collections::BTreeMap;
use std::path::Path;

/// Contents made ready to be sent.
#[derive(Debug)]
pub(super) struct PreparedContents<'a> {
    args: &'a FileArgs,
    contents: &'a [FileContent],
    seed: u64,
    /// `true` where each is transferred several times.
    is_repeated: bool,
    ready: BTreeMap<usize, PreparedContent>,
}

impl<'a> PreparedContents<'a> {
    /// These contents, the generated ones by this seed.
    pub(super) const fn new(
        args: &'a FileArgs,
        contents: &'a [FileContent],
        seed: u64,
        is_repeated: bool,
    ) -> Self {
        Self {
            args,
            contents,
            seed,
            is_repeated,
            ready: BTreeMap::new(),
        }
    }

    /// The content at this position, made ready; `None` where the other end sends.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn get(&mut self, at: usize) -> Result<Option<PreparedContent>, TransferFileError> {
        if direction(self.args) == Direction::Down {
            return Ok(None);
        }
        if let Some(ready) = self.ready.get(&at) {
            return Ok(Some(ready.clone()));
        }
        let Some(content) = self.contents.get(at) else {
            return Ok(None);
        };
        let prepared = match content {
            FileContent::Generated(bytes) => {
                let directory = (self.args.source == SourceArg::File).then_some(Path::new("."));
                PreparedContent::generated(*bytes, self.seed, directory)?
            }
            FileContent::Local { path, name, .. } => PreparedContent::file(path, name)?,
            FileContent::StandardInput { name } => PreparedContent::standard_input(name)?,
            FileContent::Remote { .. } => return Ok(None),
        };
        if self.is_repeated {
            self.ready.insert(at, prepared.clone());
        }
        Ok(Some(prepared))
    }
}
