//! The numbers of the sessions of servers that show their sessions together.

use super::session_groups::SessionGroups;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The numbers of the sessions of servers that show their sessions together, and of the groups these form.
#[derive(Clone, Default)]
pub struct SessionNumbers(Arc<IssuedNumbers>);

#[derive(Default)]
struct IssuedNumbers {
    last: AtomicU32,
    groups: SessionGroups,
}

impl SessionNumbers {
    /// Numbers that begin after this one.
    #[must_use]
    pub fn after(number: u32) -> Self {
        Self(Arc::new(IssuedNumbers {
            last: AtomicU32::new(number),
            groups: SessionGroups::default(),
        }))
    }

    /// The number of the next connection.
    pub(super) fn next(&self) -> u32 {
        self.0.last.fetch_add(1, Relaxed) + 1
    }

    /// The groups whose connections are still arriving.
    pub(super) fn groups(&self) -> &SessionGroups {
        &self.0.groups
    }
}

impl fmt::Debug for SessionNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionNumbers")
            .field(&self.0.last.load(Relaxed))
            .finish()
    }
}
