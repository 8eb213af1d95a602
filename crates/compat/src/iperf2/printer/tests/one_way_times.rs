//! The one-way times of bursts and of datagrams, and their histograms.

use super::{at_server, ended, opened, opened_udp, printer, sampled, server};
use caudal_core::event::{Event, View};
use caudal_core::sample::{Counters, ReceiverCounters, Role};
use caudal_core::transit::TransitTimes;
use caudal_foreign::iperf2::{HistogramCounts, Iperf2Session};

/// The session of a client that measures trip times.
fn session() -> Iperf2Session {
    Iperf2Session {
        trip_times: true,
        ..server()
    }
}

/// A histogram with these counts, by the numbers of their bins from 1.
fn histogram(counts: &[(usize, u64)], above: u64) -> HistogramCounts {
    let mut bins = vec![0; 200];
    for (bin, count) in counts {
        bins[bin - 1] = *count;
    }
    HistogramCounts {
        bins,
        below: 0,
        above,
    }
}

fn bursts() -> Counters {
    Counters::Receiver(ReceiverCounters {
        bytes: 1_310_800,
        calls: 12,
        read_sizes: Some([2, 0, 0, 0, 0, 0, 0, 10]),
        transit: Some(TransitTimes {
            count: 10,
            mean_s: 0.002_930,
            min_s: 0.000_178,
            max_s: 0.010_731,
            m2: 0.004_464_f64.powi(2) * 9.0,
            ..TransitTimes::default()
        }),
        ..ReceiverCounters::default()
    })
}

#[test]
fn bursts_of_a_client_that_measures_trip_times_have_the_columns_of_2_1_8() {
    let mut printer = printer("-s -x CS");
    printer
        .session(&session())
        .event(&Event::Opened(at_server(&opened(Role::Receiver, 1))));
    printer
        .session(&session())
        .event(&ended(0, 500_000_000, bursts()));
    assert_eq!(
        printer.take_text(),
        "\
[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads=Dist
[  1] 0.0000-0.5000 sec  1.25 MBytes  21.0 Mbits/sec  2.930/0.178/10.731/4.464 ms (10/131080) 7.50 KByte 895  12=2:0:0:0:0:0:0:10
"
    );
}

#[test]
fn a_histogram_follows_each_line_of_its_flow() {
    let mut printer = printer("-s -u --histograms=100u,200 -i 0.5 -x CS");
    let datagrams = |datagrams| {
        Counters::Receiver(ReceiverCounters {
            bytes: datagrams * 1470,
            datagrams,
            ..ReceiverCounters::default()
        })
    };
    let connection = at_server(&opened_udp(Role::Receiver, 1));
    printer
        .session(&session())
        .event(&Event::Opened(connection));
    printer.set_histogram(Some(histogram(&[(1, 45), (2, 1)], 0)));
    printer
        .session(&session())
        .event(&sampled(0, 1, datagrams(46)));
    printer.set_histogram(Some(histogram(&[(1, 64), (2, 1)], 0)));
    printer
        .session(&session())
        .event(&ended(0, 706_800_000, datagrams(65)));
    let text = printer.take_text();
    let histograms: Vec<&str> = text.lines().filter(|line| line.contains("PDF")).collect();
    assert_eq!(
        histograms,
        [
            "[  1] 0.0000-0.5000 sec T8-PDF: bin(w=100us):cnt(46)=1:45,2:1 (5.00/95.00/99.7%=1/1/2,Outliers=0,obl/obu=0/0)",
            "[  1] 0.5000-0.7068 sec T8-PDF: bin(w=100us):cnt(19)=1:19 (5.00/95.00/99.7%=1/1/1,Outliers=0,obl/obu=0/0)",
            "[  1] 0.0000-0.7068 sec T8(f)-PDF: bin(w=100us):cnt(65)=1:64,2:1 (5.00/95.00/99.7%=1/1/2,Outliers=0,obl/obu=0/0)",
        ]
    );
}

#[test]
fn percentiles_count_what_lies_outside_and_outliers_lie_beyond_three_fences() {
    let lines = |histogram| {
        let mut printer = printer("-s --histograms=1m,200,10,90 -x CS");
        let connection = at_server(&opened(Role::Receiver, 1));
        printer
            .session(&session())
            .event(&Event::Opened(connection));
        printer.set_histogram(Some(histogram));
        printer
            .session(&session())
            .event(&ended(0, 500_000_000, bursts()));
        printer
            .take_text()
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        lines(histogram(&[(2, 6), (3, 1), (78, 1), (95, 1), (108, 1)], 0)),
        "[  1] 0.0000-0.5000 sec F8(f)-PDF: bin(w=1ms):cnt(10)=2:6,3:1,78:1,95:1,108:1 (10.00/90.00/99.7%=2/108/108,Outliers=0,obl/obu=0/0)"
    );
    assert_eq!(
        lines(histogram(&[(5, 50), (6, 45), (100, 5)], 1)),
        "[  1] 0.0000-0.5000 sec F8(f)-PDF: bin(w=1ms):cnt(101)=5:50,6:45,100:5 (10.00/90.00/99.7%=5/6/200,Outliers=5,obl/obu=0/1)"
    );
    let early = HistogramCounts {
        below: 50,
        ..histogram(&[(1, 50)], 0)
    };
    assert_eq!(
        lines(early),
        "[  1] 0.0000-0.5000 sec F8(f)-PDF: bin(w=1ms):cnt(100)=1:50 (10.00/90.00/99.7%=0/1/1,Outliers=0,obl/obu=50/0)"
    );
    assert_eq!(
        lines(histogram(&[], 0)),
        "[  1] 0.0000-0.5000 sec F8(f)-PDF: bin(w=1ms):cnt(0) (10.00/90.00/99.7%=0/0/0,Outliers=0,obl/obu=0/0)"
    );
}
