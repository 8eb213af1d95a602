//! One end of a transfer, from before it begins until it is over.

use super::mover_thread::{MovedContent, MoverThread, MoverWork};
use caudal_transfer::TransferFailure;

/// One end of a transfer, from before it begins until it is over.
pub(super) enum TransferMover {
    /// It has not begun.
    Waiting(Box<MoverWork>),
    /// The content moves, or has moved.
    Moving(MoverThread),
    /// No thread could be started.
    Failed(Box<MovedContent>),
}

impl TransferMover {
    /// The end that will do this work.
    pub(super) fn new(work: MoverWork) -> Self {
        Self::Waiting(Box::new(work))
    }

    /// Begins: this end as it goes on.
    #[must_use]
    pub(super) fn started(self) -> Self {
        let Self::Waiting(work) = self else {
            return self;
        };
        match MoverThread::spawn(*work) {
            Ok(thread) => Self::Moving(thread),
            Err(cause) => {
                let failure = TransferFailure::Kernel {
                    doing: "start a thread",
                    cause,
                };
                Self::Failed(Box::new(MovedContent::failed(failure)))
            }
        }
    }

    /// The thread, where there is one.
    pub(super) const fn thread(&self) -> Option<&MoverThread> {
        match self {
            Self::Moving(thread) => Some(thread),
            Self::Waiting(_) | Self::Failed(_) => None,
        }
    }

    /// `true` when it is over.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Waiting(_) => false,
            Self::Moving(thread) => thread.is_over(),
            Self::Failed(_) => true,
        }
    }

    /// Ends the transfer early.
    pub(super) fn stop(&self) {
        if let Some(thread) = self.thread() {
            thread.stop();
        }
    }

    /// Ends the transfer, unless it is over: what was moved.
    pub(super) fn finish(self) -> MovedContent {
        match self {
            Self::Waiting(_) => MovedContent::failed(TransferFailure::Stopped),
            Self::Moving(thread) => thread.finish(),
            Self::Failed(moved) => *moved,
        }
    }
}
