//! The slope of primed probes over links that serialise.

use super::settings::Primers;

/// The slope of the delay of a probe sent right behind `primers`, over links of these serialisation times (ns per byte), between
/// two probe sizes (bytes); ns per byte.
///
/// Every packet leaves a link its serialisation time after it has arrived and the packet before has left. So the links before the
/// narrow one drop out, and where a link follows one of the same rate, the two count once.
pub(super) fn primed_slope(links: &[f64], primers: Primers, (small, large): (f64, f64)) -> f64 {
    let delay = |probe: f64| {
        let primers = (0..primers.packets.min(16)).map(|_| f64::from(primers.bytes));
        let sizes: Vec<f64> = primers.chain([probe]).collect();
        let mut arrivals = vec![0.0_f64; sizes.len()];
        for ns_per_byte in links {
            let mut free = 0.0_f64;
            for (arrival, size) in arrivals.iter_mut().zip(&sizes) {
                free = free.max(*arrival) + size * ns_per_byte;
                *arrival = free;
            }
        }
        arrivals.last().copied().unwrap_or(0.0)
    };
    (delay(large) - delay(small)) / (large - small)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIMERS: Primers = Primers {
        packets: 2,
        bytes: 1538,
    };

    #[test]
    fn links_before_the_narrow_one_drop_out_and_later_ones_add_up() {
        let slope = primed_slope(&[80.0, 800.0, 160.0], PRIMERS, (600.0, 1538.0));
        assert!((slope - 960.0).abs() < 1e-9, "{slope}");
    }

    #[test]
    fn two_links_of_one_rate_count_once() {
        let slope = primed_slope(&[80.0, 80.0], PRIMERS, (600.0, 1538.0));
        assert!((slope - 80.0).abs() < 1e-9, "{slope}");
    }
}
