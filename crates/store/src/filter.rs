//! The filter of a list.

/// The filter of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this kind: that of a run, or `study`.
    pub kind: Option<String>,
    /// The trials of the study with this id, prefix of an id, or name.
    pub study: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// With this in the peer's address.
    pub peer: Option<String>,
    /// Started at this time or later, ns since 1970.
    pub since_ns: Option<i64>,
    /// With all of these words somewhere in id, kind, tool, peer, title, command or tags, ignoring
    /// case.
    pub words: Vec<String>,
    /// At most this number, the newest.
    pub limit: Option<usize>,
    /// Trials of studies too; otherwise they are listed only when their kind or study is requested.
    pub trials: bool,
    /// Parts of other runs too: each of several transfers, or of several tests of one host.
    pub parts: bool,
}
