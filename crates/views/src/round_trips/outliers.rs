//! Round trips far beyond the others as text.

use crate::text::time_us;
use caudal_core::echo::{RoundTripOutlier, RoundTripOutliers, WaitPlace};

/// Maximum number of outliers that the closing block shows one by one.
const MAX_SHOWN: usize = 3;

/// The lines on the round trips beyond ten times the 99th percentile: their number, then the longest.
pub(super) fn outlier_lines(outliers: &RoundTripOutliers) -> Vec<String> {
    let mut lines = vec![format!(
        "  outliers: {} beyond 10 × p99, {}",
        match outliers.n {
            1 => "1 round trip".to_owned(),
            several => format!("{several} round trips"),
        },
        time_us(outliers.limit_us)
    )];
    let shown = outliers.longest.iter().take(MAX_SHOWN);
    lines.extend(shown.map(|one| {
        format!(
            "    {} (message {} of client {}): {}",
            time_us(one.rtt_us),
            one.message,
            one.client,
            explanation(one)
        )
    }));
    lines
}

/// The longest round trip whose wait the kernel's times place; `None` where they place none.
pub(super) fn slowest_line(outliers: &RoundTripOutliers) -> Option<String> {
    let mut longest = outliers.longest.iter();
    let placed = longest.find(|one| one.waited_at != WaitPlace::Unknown)?;
    Some(format!(
        "slowest: {}: {}",
        time_us(placed.rtt_us),
        explanation(placed)
    ))
}

/// Where the time of an outlier was spent, with the kernel's times that show it.
fn explanation(one: &RoundTripOutlier) -> String {
    let within = |us: Option<f64>| {
        let us = time_us(us.unwrap_or_default());
        match one.error_us {
            0.0 => us,
            error => format!("{us} ± {}", time_us(error)),
        }
    };
    let arrival = one.unread_us.map(|unread| {
        format!(
            "its reply arrived after {} and waited {} at this host's socket{}",
            time_us(one.rtt_us - unread),
            time_us(unread),
            match one.error_us {
                0.0 => String::new(),
                error => format!(" (± {})", time_us(error)),
            }
        )
    });
    let arrival = arrival.unwrap_or_default();
    match one.waited_at {
        WaitPlace::Schedule => format!(
            "the message left {} after it was due: this host was late",
            time_us(one.late_us.unwrap_or_default())
        ),
        WaitPlace::OwnSocket => format!("{arrival}: this host was late"),
        WaitPlace::Retransmission => format!(
            "{}, this host last sent of the message after {}",
            match one.retransmits {
                Some(1) | None => "a segment was retransmitted".to_owned(),
                Some(several) => format!("{several} segments were retransmitted"),
            },
            within(one.last_sent_us)
        ),
        WaitPlace::OwnSendQueue => format!(
            "this host last sent of the message after {}, without a retransmission: it waited in the program or the send queue",
            within(one.last_sent_us)
        ),
        WaitPlace::BeforeArrival if one.last_sent_us.is_some() => {
            format!("{arrival}: the network or the server was late")
        }
        WaitPlace::BeforeArrival => format!(
            "{arrival}: the network or the server was late, or this host before the message left"
        ),
        WaitPlace::Unknown if one.error_us > 0.0 => format!(
            "the kernel's times, to within {}, do not tell where it waited",
            time_us(one.error_us)
        ),
        WaitPlace::Unknown => "the kernel did not tell when its reply arrived".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_is_explained_by_what_the_kernel_knows() {
        let one = RoundTripOutlier {
            client: 0,
            message: 412,
            rtt_us: 643_000.0,
            waited_at: WaitPlace::BeforeArrival,
            unread_us: Some(100.0),
            last_sent_us: None,
            retransmits: None,
            late_us: None,
            error_us: 0.0,
        };
        let lines = outlier_lines(&RoundTripOutliers {
            limit_us: 5_000.0,
            n: 1,
            longest: vec![one],
        });
        assert_eq!(
            lines,
            [
                "  outliers: 1 round trip beyond 10 × p99, 5 ms",
                "    643 ms (message 412 of client 0): its reply arrived after 642.9 ms and waited 100 µs at this \
                 host's socket: the network or the server was late, or this host before the message left",
            ]
        );
        let retransmitted = explanation(&RoundTripOutlier {
            waited_at: WaitPlace::Retransmission,
            retransmits: Some(2),
            last_sent_us: Some(204_000.0),
            error_us: 5_000.0,
            ..one
        });
        let own = explanation(&RoundTripOutlier {
            waited_at: WaitPlace::OwnSocket,
            unread_us: Some(640_000.0),
            error_us: 5_000.0,
            ..one
        });
        assert_eq!(
            own,
            "its reply arrived after 3 ms and waited 640 ms at this host's socket (± 5 ms): this host was late"
        );
        assert_eq!(
            retransmitted,
            "2 segments were retransmitted, this host last sent of the message after 204 ms ± 5 ms"
        );
    }
}
