//! Rates, sizes, times and fractions as people write them.
#![no_main]

use caudal_core::units::{BitRate, ByteCount, format_duration, parse_duration, parse_fraction};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // What is printed is rounded, and beyond the largest number there is nothing to round to.
    if let Some(rate) = text
        .parse::<BitRate>()
        .ok()
        .filter(|rate| rate.as_f64() < 1e19)
    {
        // What is printed is read again, within the digits that are printed.
        let again: BitRate = rate.to_string().parse().expect("a printed rate reads");
        assert!(
            (again.as_f64() - rate.as_f64()).abs() <= rate.as_f64() * 0.005 + 1.0,
            "{rate} {again}"
        );
    }
    if let Some(size) = text
        .parse::<ByteCount>()
        .ok()
        .filter(|size| size.as_f64() < 1e19)
    {
        let again: ByteCount = size.to_string().parse().expect("a printed size reads");
        assert!(
            (again.as_f64() - size.as_f64()).abs() <= size.as_f64() * 0.005 + 1.0,
            "{size} {again}"
        );
    }
    if let Ok(time) = parse_duration(text) {
        let _ = parse_duration(&format_duration(time));
    }
    if let Ok(part) = parse_fraction(text) {
        assert!(part.is_finite());
    }
});
