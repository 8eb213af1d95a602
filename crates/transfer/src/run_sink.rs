//! What a receiver hands the content to.

/// What a receiver hands the content to, in order. None of its calls takes long: it computes digests on a thread of its own.
pub trait RunSink {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// Why they cannot be stored, as text for the user.
    fn write(&mut self, run: &[u8]) -> Result<(), String>;

    /// Takes the next bytes with their memory: the memory of earlier ones, where it is not needed any more. A sink that takes long to
    /// store them does so on its own thread.
    ///
    /// # Errors
    /// Why these or earlier ones cannot be stored, as text for the user.
    fn take(&mut self, run: Vec<u8>) -> Result<Option<Vec<u8>>, String> {
        self.write(&run).map(|()| Some(run))
    }

    /// Waits until everything is stored that was handed over by [`Self::write`], where that happens on the sink's own thread.
    ///
    /// # Errors
    /// Why it cannot be stored, as text for the user.
    fn flush(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Everything was written: the digest of it is to be compared with `claimed`.
    fn begin_verification(&mut self, claimed: [u8; 32]);

    /// Whether the digest is equal; `None` while it is being computed.
    ///
    /// # Errors
    /// Why the content cannot be read, or the file not be completed, as text for the user.
    fn verification(&mut self) -> Option<Result<bool, String>>;

    /// The time at which everything was stored, ns of the monotonic clock, where that happens on the sink's own thread and has happened.
    fn written_ns(&self) -> Option<u64> {
        None
    }

    /// The CPU time that storing has taken on the sink's own thread, ns.
    fn store_cpu_ns(&self) -> u64 {
        0
    }

    /// The time at which the content was on the disk, ns of the monotonic clock, where that was asked for and has happened.
    fn synced_ns(&self) -> Option<u64> {
        None
    }
}
