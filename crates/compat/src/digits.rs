//! Numbers as both programs named iperf show them: few digits, in columns that do not move.

/// Three digits in four columns, before a unit: `9.99 KByte`, `99.9 KByte`, ` 999 KByte`.
#[must_use]
pub fn three(number: f64, unit: &str) -> String {
    if number < 9.995 {
        format!("{number:4.2} {unit}")
    } else if number < 99.95 {
        format!("{number:4.1} {unit}")
    } else {
        format!("{number:4.0} {unit}")
    }
}

/// `number` divided by `step` until it is less than `step`, at max_power `max_power` times, and the number of divisions.
#[must_use]
pub fn scaled(number: f64, step: f64, max_power: usize) -> (f64, usize) {
    let (mut number, mut power) = (number, 0);
    while number >= step && power < max_power {
        number /= step;
        power += 1;
    }
    (number, power)
}

/// A number with at max_power `decimals` decimals, without trailing zeros.
#[must_use]
pub fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_four_columns() {
        let shown = [0.0, 9.994, 9.995, 99.94, 99.95, 1023.0].map(|number| three(number, "B"));
        assert_eq!(
            shown,
            ["0.00 B", "9.99 B", "10.0 B", "99.9 B", " 100 B", "1023 B"]
        );
        assert_eq!(scaled(1500.0, 1000.0, 4), (1.5, 1));
        assert_eq!(scaled(1e18, 1000.0, 4), (1e6, 4));
        assert_eq!([trimmed(2.50, 2), trimmed(100.0, 0)], ["2.5", "100"]);
    }
}
