//! The name somebody may have meant.

/// The candidate that is fewest edits away from `name`, if few enough for a slip of the hand.
///
/// Edits are insertions, deletions and replacements of a letter and swaps of two neighbours (Damerau, 1964), without regard to
/// case; a third of the name's letters may differ, at least one.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 100;
    let letters: Vec<char> = name.to_lowercase().chars().take(LONGEST).collect();
    let most = (letters.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edits(&letters, candidate), candidate))
        .filter(|(edits, _)| *edits <= most)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean NAME?` in words for a remedy, or which names there are.
pub(super) fn suggestion<'a>(
    name: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> String {
    const SHOWN: usize = 12;
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if let Some(near) = nearest(name, candidates.iter().copied()) {
        return format!("did you mean {near}?");
    }
    match candidates.len() {
        0 => format!("there is no {what} here"),
        few if few <= SHOWN => format!("take one of {}", candidates.join(", ")),
        many => format!(
            "take one of {} and {} more",
            candidates[..SHOWN].join(", "),
            many - SHOWN
        ),
    }
}

fn edits(name: &[char], other: &str) -> usize {
    let other: Vec<char> = other.to_lowercase().chars().take(200).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for i in 0..name.len() {
        let mut next = vec![i + 1];
        for j in 0..other.len() {
            let replaced = row[j] + usize::from(name[i] != other[j]);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && name[i] == other[j - 1] && name[i - 1] == other[j] {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_recognised_and_another_word_is_not() {
        let names = ["tcp.goodput", "udp_load", "congestion"];
        assert_eq!(nearest("tcp.godput", names), Some("tcp.goodput"));
        assert_eq!(nearest("UDP-load", names), Some("udp_load"));
        assert_eq!(nearest("congestoin", names), Some("congestion"));
        assert_eq!(nearest("rtt", names), None);
        assert_eq!(nearest("", names), None);
    }
}
