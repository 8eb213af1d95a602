//! Suggestions for misspelt names.

/// The candidate nearest to `name` by edit distance, if few enough edits lie between them for a typing error.
///
/// Edits are insertions, deletions and replacements of a letter and transpositions of two adjacent ones (optimal string alignment),
/// ignoring case; at most a third of the name's letters may differ, but at least one.
#[must_use]
pub fn nearest_name<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const MAX_LETTERS: usize = 100;
    let name: String = name.to_lowercase().chars().take(MAX_LETTERS).collect();
    let letters = name.chars().count();
    let max_edits = (letters / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(letters) <= max_edits)
        .map(|candidate| {
            let edits = strsim::osa_distance(&name, &candidate.to_lowercase());
            (edits, candidate)
        })
        .filter(|(edits, _)| *edits <= max_edits)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// The remedy for an unknown name: the nearest candidate, or a list of the candidates.
pub(crate) fn suggestion<'a>(
    name: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> String {
    const MAX_LISTED: usize = 12;
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if let Some(nearest) = nearest_name(name, candidates.iter().copied()) {
        return format!("did you mean {nearest}?");
    }
    match candidates.len() {
        0 => format!("there is no {what} here"),
        count if count <= MAX_LISTED => format!("use one of {}", candidates.join(", ")),
        count => format!(
            "use one of {} and {} more",
            candidates[..MAX_LISTED].join(", "),
            count - MAX_LISTED
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognised_and_another_word_is_not() {
        let names = ["tcp.goodput", "udp_load", "congestion"];
        assert_eq!(nearest_name("tcp.godput", names), Some("tcp.goodput"));
        assert_eq!(nearest_name("UDP-load", names), Some("udp_load"));
        assert_eq!(nearest_name("congestoin", names), Some("congestion"));
        assert_eq!(nearest_name("rtt", names), None);
        assert_eq!(nearest_name("", names), None);
    }
}
