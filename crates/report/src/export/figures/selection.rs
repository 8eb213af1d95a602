//! The selection of what is drawn, and its names.

use caudal_experiment::Scalar;
use caudal_experiment::findings::CaseFindings;

/// Maximum number of cases for which one kind of figure over time is drawn.
pub const MAX_PANELS: usize = 6;
/// Maximum number of series in one figure.
pub const MAX_SERIES: usize = 8;

/// A case in as few words as distinguish it from others: its name, or the values of its parameters.
#[must_use]
pub fn label(case: &CaseFindings) -> String {
    if case.alone.is_some() || !case.key.contains('=') {
        return case.key.clone();
    }
    let words = case.key.split(' ');
    let named: Vec<&str> = words.take_while(|word| !word.contains('=')).collect();
    let named = (!named.is_empty()).then(|| named.join(" "));
    let in_key = |(name, _): &&(String, Scalar)| case.key.contains(&format!("{name}="));
    let values = case
        .parameters
        .iter()
        .filter(in_key)
        .map(|(_, value)| value.to_string());
    let words: Vec<String> = named.into_iter().chain(values).collect();
    if words.is_empty() {
        case.key.clone()
    } else {
        words.join(", ")
    }
}

/// At most `most` of them, the first and the last among them, and how many are left out.
pub fn spread<T: Copy>(items: &[T], most: usize) -> (Vec<T>, usize) {
    if items.len() <= most {
        return (items.to_vec(), 0);
    }
    let last = items.len() - 1;
    let picked = (0..most).map(|nth| items[(nth * last + (most - 1) / 2) / (most - 1)]);
    (picked.collect(), items.len() - most)
}

/// The sentence for what is not drawn.
pub fn left_out(drawn: usize, more: usize, what: &str) -> Option<String> {
    (more > 0).then(|| {
        format!(
            "{drawn} of {} {what} are drawn, from the first to the last; the other {more} are in the data.",
            drawn + more
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_first_and_the_last_are_among_those_drawn() {
        let all: Vec<usize> = (0..19).collect();
        let (picked, more) = spread(&all, 6);
        assert_eq!((picked.len(), more), (6, 13));
        assert_eq!((picked[0], picked[5]), (0, 18));
        assert_eq!(spread(&all[..6], 6), ((0..6).collect(), 0));
    }
}
