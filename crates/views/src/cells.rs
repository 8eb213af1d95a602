//! Cells of tables in units that their heads name, or with their unit.

use super::text;

/// A time in ms, with as many digits as three or four significant ones need; `–` where there is none.
pub fn ms(us: Option<f64>) -> String {
    let Some(us) = us else {
        return "–".to_owned();
    };
    let ms = us / 1e3;
    match ms.abs() {
        below if below < 0.01 => format!("{ms:.4}"),
        below if below < 1.0 => format!("{ms:.3}"),
        below if below < 10.0 => format!("{ms:.2}"),
        below if below < 1000.0 => format!("{ms:.1}"),
        _ => format!("{ms:.0}"),
    }
}

/// A rate; `–` where there is none.
pub fn rate(bps: Option<f64>) -> String {
    bps.map_or_else(|| "–".to_owned(), text::bits)
}

/// A fraction in percent; `–` where there is none.
pub fn share(fraction: Option<f64>) -> String {
    let Some(fraction) = fraction else {
        return "–".to_owned();
    };
    match fraction {
        0.0 => "0 %".to_owned(),
        below if below < 0.01 => format!("{:.2} %", below * 100.0),
        _ => format!("{:.1} %", fraction * 100.0),
    }
}

/// A confidence in percent, without zeros behind its last digit.
pub fn level(confidence: f64) -> String {
    let text = format!("{:.4}", confidence * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_they_need() {
        let shown = [3.2, 73.4, 999.0, 41_234.0, 123_456.0, 2_345_678.0].map(|us| ms(Some(us)));
        assert_eq!(shown, ["0.0032", "0.073", "0.999", "41.2", "123.5", "2346"]);
        assert_eq!(
            [share(Some(0.0)), share(Some(0.0012)), share(None)],
            ["0 %", "0.12 %", "–"]
        );
    }
}
