//! What two captures of one flow show together.

use super::clock::{Delay, TimeSpan, lower_slope};
use super::matching::{Coverage, Crossing, Matches, Passage, match_packets};
use super::recorder::{DirectionMarks, EndsRecorder, Followed};
use crate::model::{
    ClockBetweenEnds, EndsComparison, EndsDirection, MiddleChange, MiddleChangeKind,
};
use crate::sketch::TimeSketch;
use caudal_core::units::ByteCount;

/// Why two captures cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndsError {
    /// The filter takes no flow of TCP or UDP of one of them.
    #[error("the {0} capture has no flow of TCP or UDP that the filter takes")]
    NoFlow(&'static str),
    /// They have no packet in common.
    #[error("the captures have no packet in common: they hold different flows, or different times")]
    NothingInCommon,
}

/// Compares the captures of one flow at two points; the first is the one that packets of the client are expected to pass first, and
/// where that is not so, the results say which way is `there`: from the first point to the second.
///
/// # Errors
/// When there is no flow, or nothing in common.
pub fn compare_ends(
    first: &EndsRecorder,
    second: &EndsRecorder,
) -> Result<EndsComparison, EndsError> {
    let (first, second) = (first.followed(), second.followed());
    let tuple = first.tuple.ok_or(EndsError::NoFlow("first"))?;
    second.tuple.ok_or(EndsError::NoFlow("second"))?;
    let client = match_packets(&first.client, &second.client);
    let server = match_packets(&first.server, &second.server);
    if client.both + server.both == 0 {
        return Err(EndsError::NothingInCommon);
    }
    let client_first = is_client_first(&client, &server);
    let (there, back) = if client_first {
        (&client, &server)
    } else {
        (&server, &client)
    };
    let (clock, line) = clocks(there, back);
    let points = [first.captured, second.captured];
    // A direction of which nothing arrived: the other one tells how the clocks differ, wrong by at most a round trip.
    let passages = [
        there.passage().or_else(|| back.passage()),
        back.passage().or_else(|| there.passage()),
    ];
    let left_out =
        |of: fn(&Followed) -> &DirectionMarks| of(first).left_out.max(of(second).left_out);
    let (client_beyond, server_beyond) = (left_out(|end| &end.client), left_out(|end| &end.server));
    let beyond = if client_first {
        [client_beyond, server_beyond]
    } else {
        [server_beyond, client_beyond]
    };
    let ways = [(there, Way::There), (back, Way::Back)];
    let [there, back] = [0, 1].map(|index| {
        let (matches, way) = ways[index];
        let counts = UnmatchedCounts::of(matches, way, points, passages[index]);
        EndsDirection {
            not_compared: beyond[index],
            ..direction(matches, way, line, counts)
        }
    });
    Ok(EndsComparison {
        client: tuple.end(first.client_is_low),
        server: tuple.end(!first.client_is_low),
        there,
        back,
        clock,
        changes: changes(first, second, client_first),
    })
}

/// `true` when packets of the client pass the first point first.
fn is_client_first(client: &Matches, server: &Matches) -> bool {
    // Seen from the end that a packet comes from, both ways together take time: the other way round it would be less than none.
    match (client.passage(), server.passage().map(Passage::reversed)) {
        (Some(there), Some(back)) => there.min_ns + back.min_ns >= 0,
        _ => true,
    }
}

/// How far the second clock is ahead at a time of the first.
#[derive(Debug, Clone, Copy)]
struct ClockLine {
    start_ns: i64,
    offset_ns: f64,
    slope: f64,
}

impl ClockLine {
    fn at(&self, first_ns: i64) -> f64 {
        self.offset_ns + self.slope * (first_ns - self.start_ns) as f64
    }
}

fn clocks(there: &Matches, back: &Matches) -> (ClockBetweenEnds, Option<ClockLine>) {
    let delays = |matches: &Matches, sign: i64| -> Vec<Delay> {
        let delay = |crossing: &Crossing| {
            (
                crossing.first_ns,
                sign * (crossing.second_ns - crossing.first_ns),
            )
        };
        matches.crossings.iter().map(delay).collect()
    };
    let (out, home) = (delays(there, 1), delays(back, -1));
    let (Some(one), Some(two)) = (out.first(), home.first()) else {
        let clock = ClockBetweenEnds {
            offset_us: None,
            skew_ppm: None,
            min_rtt_us: None,
            cannot_tell: Some("one direction has no packet in both captures: delay and offset are the same to the other".into()),
        };
        return (clock, None);
    };
    let start_ns = one.0.min(two.0);
    let skew = lower_slope(&out)
        .zip(lower_slope(&home))
        .map(|(out, home)| (out - home) / 2.0);
    let slope = skew.unwrap_or(0.0);
    let lowest = |delays: &[Delay], sign: f64| {
        let straight = |delay: &Delay| delay.1 as f64 - sign * slope * (delay.0 - start_ns) as f64;
        delays.iter().map(straight).fold(f64::INFINITY, f64::min)
    };
    let (out, home) = (lowest(&out, 1.0), lowest(&home, -1.0));
    let offset_ns = (out - home) / 2.0;
    let clock = ClockBetweenEnds {
        offset_us: Some(offset_ns / 1e3),
        skew_ppm: skew.map(|skew| skew * 1e6),
        min_rtt_us: Some((out + home) / 1e3),
        cannot_tell: None,
    };
    let line = ClockLine {
        start_ns,
        offset_ns,
        slope,
    };
    (clock, Some(line))
}

/// The way of the packets that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    There,
    Back,
}

/// What one point has and the other lacks, of the packets of one way.
#[derive(Debug, Clone, Copy)]
struct UnmatchedCounts {
    lost: u64,
    lost_bytes: u64,
    unsent: u64,
    duplicated: u64,
}

impl UnmatchedCounts {
    /// `points` are the times of both captures, `passage` that from the first point to the second.
    fn of(
        matches: &Matches,
        way: Way,
        points: [Option<TimeSpan>; 2],
        passage: Option<Passage>,
    ) -> Self {
        let [first, second] = matches.spans();
        let at_first = Coverage {
            between: first,
            other: points[1],
            passage,
        };
        let at_second = Coverage {
            between: second,
            other: points[0],
            passage: passage.map(Passage::reversed),
        };
        let (left, left_covered, arrived, arrived_covered) = match way {
            Way::There => (
                &matches.only_first,
                at_first,
                &matches.only_second,
                at_second,
            ),
            Way::Back => (
                &matches.only_second,
                at_second,
                &matches.only_first,
                at_first,
            ),
        };
        let (lost, lost_bytes) = left.lost(&left_covered);
        Self {
            lost,
            lost_bytes,
            unsent: arrived.unsent(&arrived_covered),
            duplicated: arrived.duplicated(left),
        }
    }
}

fn direction(
    matches: &Matches,
    way: Way,
    line: Option<ClockLine>,
    counts: UnmatchedCounts,
) -> EndsDirection {
    let mut delays = TimeSketch::default();
    if let Some(line) = line {
        for crossing in &matches.crossings {
            let ahead =
                (crossing.second_ns - crossing.first_ns) as f64 - line.at(crossing.first_ns);
            let delay = if way == Way::There { ahead } else { -ahead };
            delays.push(delay.max(0.0).round() as u64);
        }
    }
    EndsDirection {
        sent: matches.both + counts.lost,
        arrived: matches.both,
        lost_bytes: ByteCount::new(counts.lost_bytes),
        lost: counts.lost,
        duplicated: counts.duplicated,
        unsent: counts.unsent,
        not_compared: 0,
        delay: delays.document(),
    }
}

/// What the way between changed, of both ends' packets.
fn changes(first: &Followed, second: &Followed, client_first: bool) -> Vec<MiddleChange> {
    let mut found = Vec::new();
    if first.tuple != second.tuple {
        let text = |of: &Followed| {
            let end = |low| {
                of.tuple
                    .map_or_else(String::new, |tuple| tuple.end(low).to_string())
            };
            format!("{} to {}", end(of.client_is_low), end(!of.client_is_low))
        };
        let (sent, arrived) = if client_first {
            (first, second)
        } else {
            (second, first)
        };
        push(
            &mut found,
            MiddleChangeKind::Addresses,
            true,
            text(sent),
            text(arrived),
        );
    }
    for (of_client, one, two) in [
        (true, &first.client, &second.client),
        (false, &first.server, &second.server),
    ] {
        let (sent, arrived) = if of_client == client_first {
            (one, two)
        } else {
            (two, one)
        };
        of_direction(&mut found, of_client, sent, arrived);
    }
    found
}

fn push(
    found: &mut Vec<MiddleChange>,
    kind: MiddleChangeKind,
    of_client: bool,
    sent: String,
    arrived: String,
) {
    if sent != arrived && !sent.is_empty() && !arrived.is_empty() {
        found.push(MiddleChange {
            kind,
            of_client,
            sent: sent.into(),
            arrived: arrived.into(),
        });
    }
}

fn of_direction(
    found: &mut Vec<MiddleChange>,
    of_client: bool,
    sent: &DirectionMarks,
    arrived: &DirectionMarks,
) {
    let mut add = |kind, of: &dyn Fn(&DirectionMarks) -> String| {
        push(found, kind, of_client, of(sent), of(arrived));
    };
    let or_empty = |text: Option<String>| text.unwrap_or_default();
    add(MiddleChangeKind::Mss, &|marks| {
        or_empty(marks.mss.map(|mss| format!("{mss} B")))
    });
    add(MiddleChangeKind::Options, &|marks| {
        let yes = |set: bool| if set { "yes" } else { "no" };
        or_empty(marks.options.map(|(scale, sack, stamps)| {
            let scale = scale.map_or_else(|| "none".to_owned(), |scale| scale.to_string());
            format!(
                "window scale {scale}, SACK {}, timestamps {}",
                yes(sack),
                yes(stamps)
            )
        }))
    });
    add(MiddleChangeKind::SequenceNumbers, &|marks| {
        or_empty(marks.isn.map(|isn| isn.to_string()))
    });
    add(MiddleChangeKind::Ttl, &|marks| {
        or_empty(marks.ttl.map(|(min, max)| {
            if min == max {
                min.to_string()
            } else {
                format!("{min} to {max}")
            }
        }))
    });
    add(MiddleChangeKind::Dscp, &|marks| values(marks.dscp));
    add(MiddleChangeKind::Ecn, &|marks| values(marks.ecn));
    let larger = |marks: &DirectionMarks| marks.max_frame > 1_600;
    if larger(sent) != larger(arrived) {
        add(MiddleChangeKind::Segmentation, &|marks| {
            format!("frames up to {} B", marks.max_frame)
        });
    }
}

/// The values that packets have.
fn values(seen: u64) -> String {
    let used = (0..64).filter(|bit| seen >> bit & 1 == 1);
    used.map(|value| value.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}
