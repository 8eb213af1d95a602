//! Rates, queues and token buckets, exact to the frame.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use caudal_core::marks::Ecn;
use caudal_core::units::{BitRate, ByteCount};
use caudal_link::balancer::{Balancer, BranchSelection};
use caudal_link::bucket::TokenBucket;
use caudal_link::codel::Codel;
use caudal_link::counters::DropReason;
use caudal_link::delay::Delay;
use caudal_link::dual_queue::DualQueue;
use caudal_link::frame::Frame;
use caudal_link::pipeline::Pipeline;
use caudal_link::policer::Policer;
use caudal_link::probability::Probability;
use caudal_link::queue::{Queue, QueueDiscipline};
use caudal_link::random::Rng;
use caudal_link::rate::RateTrace;
use caudal_link::red::{Red, RedParameters};
use caudal_link::serialiser::Serialiser;
use caudal_link::shaper::Shaper;
use caudal_link::stage::{Setting, Stage, TimedFrame};
use caudal_link::time::SimTime;
use caudal_topology::{Measure, QueueLimit};

const END: SimTime = SimTime::MAX;

fn megabits(rate: u64) -> BitRate {
    BitRate::from_bps(rate * 1_000_000)
}

fn line(rate: BitRate, queue: Queue) -> Serialiser {
    Serialiser::new(RateTrace::constant(rate).unwrap(), queue)
}

/// A full UDP datagram of 1472 bytes over IPv4.
fn full_frame(id: u64) -> Frame {
    Frame::with_length(id, 1518)
}

#[test]
fn two_udp_flows_of_8_into_10_megabits_lose_what_does_not_fit() {
    let mut line = line(
        megabits(10),
        Queue::drop_tail(QueueLimit::Bytes(ByteCount::new(100_000))),
    );
    let mut out = Vec::new();
    let gap_ns = 1472 * 8 * 1000 / 8;
    let frames = 20_000;
    for id in 0..frames {
        for flow in 0..2 {
            let at = SimTime::from_ns(id * gap_ns + flow * gap_ns / 3);
            line.offer(at, full_frame(id).with_flow(flow), &mut out);
        }
    }
    let loss = 1.0 - out.len() as f64 / (2 * frames) as f64;
    // 1 - 9.571 / 16
    assert!((loss - 0.4018).abs() < 0.0002, "{loss}");
    let counters = line.counters();
    assert_eq!(
        counters.dropped.by(DropReason::QueueFull),
        counters.dropped.total()
    );
}

#[test]
fn frames_leave_at_their_last_bit_and_a_gap_apart() {
    let mut line = line(megabits(10), Queue::drop_tail(QueueLimit::None));
    let mut out = Vec::new();
    for (id, at) in [(0, 0), (1, 0), (2, 5_000_000)] {
        line.offer(SimTime::from_ns(at), full_frame(id), &mut out);
    }
    line.advance(END, &mut out);
    let at: Vec<u64> = out.iter().map(|delivery| delivery.at.as_ns()).collect();
    assert_eq!(
        at,
        [1_220_800, 1_230_400 + 1_220_800, 5_000_000 + 1_220_800]
    );
}

#[test]
fn a_million_frames_end_where_exact_arithmetic_ends() {
    for bps in [7_000_000, 999_999_937, 3_333_333_333] {
        let mut line = line(BitRate::from_bps(bps), Queue::drop_tail(QueueLimit::None));
        let mut out = Vec::new();
        let frames = 1_000_000_u64;
        for id in 0..frames {
            line.offer(SimTime::START, full_frame(id), &mut out);
        }
        line.advance(END, &mut out);
        let bits = u128::from(frames) * 1538 * 8 - 96;
        let last = (bits * 1_000_000_000).div_ceil(u128::from(bps));
        assert_eq!(u128::from(out.last().unwrap().at.as_ns()), last);
    }
}

#[test]
fn results_do_not_depend_on_how_often_time_advances() {
    let run = |step: u64| {
        let mut pipeline = Pipeline::new()
            .then(line(megabits(3), Queue::drop_tail(QueueLimit::Frames(5))))
            .then(Delay::new(Duration::from_micros(1234)));
        let mut out = Vec::new();
        for id in 0..200_u64 {
            let at: u64 = id * 3_333_333;
            if step > 0 {
                for time in (at.saturating_sub(3_333_333)..at).step_by(step as usize) {
                    pipeline.advance(SimTime::from_ns(time), &mut out);
                }
            }
            pipeline.offer(SimTime::from_ns(at), full_frame(id), &mut out);
        }
        pipeline.advance(END, &mut out);
        out
    };
    assert_eq!(run(0), run(1_001));
    assert_eq!(run(0), run(999_999));
}

#[test]
fn a_policer_passes_exactly_its_rate_and_its_burst() {
    // A byte a microsecond and a burst of 10 000.
    let bucket = TokenBucket::new(megabits(8), ByteCount::new(10_000), Measure::Frame).unwrap();
    let mut policer = Policer::new(bucket);
    let mut out = Vec::new();
    for step in 0..=100_000_u64 {
        let at = SimTime::from_ns(step * 100_000);
        policer.offer(at, Frame::with_length(step, 1000), &mut out);
    }
    // Ten seconds: 10 000 000 bytes and the burst.
    assert_eq!(out.len(), 10_000 + 10);
    let policed = policer.counters().dropped.by(DropReason::Policed).frames;
    assert_eq!(policed, 100_001 - 10_010);
}

#[test]
fn a_policer_of_15_megabits_passes_15_of_94() {
    let bucket = TokenBucket::new(megabits(15), ByteCount::new(15_000), Measure::Wire).unwrap();
    let mut link = Pipeline::new()
        .then(line(
            megabits(100),
            Queue::drop_tail(QueueLimit::Frames(100)),
        ))
        .then(Policer::new(bucket));
    let mut out = Vec::new();
    let gap_ns = 1472 * 8 * 1000 / 94;
    for id in 0..40_000 {
        link.offer(SimTime::from_ns(id * gap_ns), full_frame(id), &mut out);
    }
    link.advance(END, &mut out);
    let loss = 1.0 - out.len() as f64 / 40_000.0;
    // 15 · 1472 / 1538 of 94.
    assert!(
        (loss - (1.0 - 15.0 * 1472.0 / 1538.0 / 94.0)).abs() < 0.001,
        "{loss}"
    );
}

#[test]
fn a_shaper_spaces_what_exceeds_the_burst() {
    let bucket = TokenBucket::new(megabits(8), ByteCount::new(3000), Measure::Frame).unwrap();
    let mut shaper = Shaper::new(bucket, Queue::drop_tail(QueueLimit::Frames(4)));
    let mut out = Vec::new();
    for id in 0..10 {
        shaper.offer(SimTime::START, Frame::with_length(id, 1000), &mut out);
    }
    shaper.offer(SimTime::START, Frame::with_length(10, 3001), &mut out);
    shaper.advance(END, &mut out);
    let at: Vec<u64> = out.iter().map(|d| d.at.as_ns() / 1_000_000).collect();
    assert_eq!(at, [0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(
        shaper.counters().dropped.by(DropReason::QueueFull).frames,
        3
    );
    assert_eq!(shaper.counters().dropped.by(DropReason::Policed).frames, 1);
}

#[test]
fn the_rate_and_the_delay_can_be_changed_while_frames_flow() {
    let mut pipeline = Pipeline::new()
        .then(line(megabits(10), Queue::drop_tail(QueueLimit::None)))
        .then(Delay::new(Duration::ZERO));
    let mut out = Vec::new();
    pipeline.offer(SimTime::START, full_frame(0), &mut out);
    pipeline.offer(SimTime::START, full_frame(1), &mut out);
    assert!(
        pipeline
            .set(SimTime::START, Setting::Rate(megabits(100)))
            .unwrap()
    );
    assert!(
        pipeline
            .set(SimTime::START, Setting::Delay(Duration::from_millis(1)))
            .unwrap()
    );
    assert!(
        !pipeline
            .set(SimTime::START, Setting::Loss(Probability::ALWAYS))
            .unwrap()
    );
    assert!(
        pipeline
            .set(SimTime::START, Setting::Rate(BitRate::ZERO))
            .is_err()
    );
    pipeline.advance(END, &mut out);
    let at: Vec<u64> = out.iter().map(|delivery| delivery.at.as_ns()).collect();
    assert_eq!(at, [2_220_800, 1_230_400 + 122_080 + 1_000_000]);
}

/// The mean queueing delay in milliseconds and the fraction dropped for `reason`, with 12 Mbit/s offered to 10 for 20 s.
fn overloaded(discipline: QueueDiscipline, reason: DropReason) -> (f64, f64) {
    let mut line = line(
        megabits(10),
        Queue::new(QueueLimit::Bytes(ByteCount::new(1_000_000)), discipline),
    );
    let mut out = Vec::new();
    let frames = 20_000;
    for id in 0..frames {
        line.offer(SimTime::from_ns(id * 1_025_333), full_frame(id), &mut out);
    }
    line.advance(END, &mut out);
    let report = line.report(out.last().unwrap().at).queue.unwrap();
    let dropped = line.counters().dropped.by(reason).frames as f64 / frames as f64;
    (report.waiting.mean_ns.unwrap() as f64 / 1e6, dropped)
}

#[test]
fn red_and_codel_keep_the_queue_shorter_than_drop_tail() {
    let (tail, _) = overloaded(QueueDiscipline::DropTail, DropReason::QueueFull);
    let parameters = RedParameters {
        min_threshold: 15_000,
        max_threshold: 150_000,
        max_probability: Probability::new(0.5).unwrap(),
        weight: 9,
        frame_time: Duration::from_micros(1230),
    };
    let red = Red::new(parameters, Rng::new(1, 0)).unwrap();
    let (red, early) = overloaded(QueueDiscipline::Red(red), DropReason::Red);
    let (codel, head) = overloaded(QueueDiscipline::Codel(Codel::default()), DropReason::Codel);
    // Any discipline has to drop a sixth of the frames.
    assert!(tail > 500.0, "{tail} ms");
    assert!(
        red < 150.0 && (early - 1.0 / 6.0).abs() < 0.01,
        "{red} ms, {early}"
    );
    assert!(codel < 250.0 && head > 0.1, "{codel} ms, {head}");
}

/// What became of packets with an ECN field: those that arrived, those marked CE of them, and the longest queueing delay, ms.
#[derive(Debug, Default, Clone, Copy)]
struct Arrived {
    offered: u64,
    frames: u64,
    marked: u64,
    wait_max_ms: f64,
}

/// 20 s of offered frames over 10 Mbit/s: each second frame of a pair that `share` of 20 gives to `scalable` has ECT(1), the others `classic`.
fn marked(queue: Queue, classic: Ecn, scalable_of_20: u64, gap_ns: u64) -> [Arrived; 2] {
    let mut line = line(megabits(10), queue);
    let mut out = Vec::new();
    let frames = 20_000_000_000 / gap_ns;
    let is_scalable = |id: u64| id % 20 < scalable_of_20;
    let mut arrived = [Arrived::default(); 2];
    for id in 0..frames {
        let ecn = if is_scalable(id) { Ecn::Ect1 } else { classic };
        arrived[usize::from(is_scalable(id))].offered += 1;
        line.offer(
            SimTime::from_ns(id * gap_ns),
            full_frame(id).with_ecn(ecn),
            &mut out,
        );
    }
    line.advance(END, &mut out);
    assert!(line.counters().is_balanced(line.held()));
    let marks = out.iter().filter(|one| one.frame.ecn == Ecn::Ce).count() as u64;
    assert_eq!(
        line.counters().marked.frames,
        marks,
        "each mark is counted once"
    );
    for one in &out {
        let of = &mut arrived[usize::from(is_scalable(one.frame.id))];
        of.frames += 1;
        of.marked += u64::from(one.frame.ecn == Ecn::Ce);
        let wait_ns = one.at.as_ns() - one.frame.id * gap_ns;
        of.wait_max_ms = of.wait_max_ms.max(wait_ns as f64 / 1e6);
    }
    arrived
}

#[test]
fn packets_of_capable_transports_are_marked_and_not_dropped_early() {
    let codel = || QueueDiscipline::Codel(Codel::default());
    let limit = QueueLimit::None;
    // A tenth more than the line carries, for which CoDel drops, or marks what it would drop.
    let queue = Queue::new(limit, codel()).with_marks(true);
    let [capable, _] = marked(queue, Ecn::Ect0, 0, 1_109_000);
    assert_eq!(capable.frames, capable.offered);
    assert!(capable.marked > 100, "{capable:?}");
    let queue = Queue::new(limit, codel()).with_marks(true);
    let [other, _] = marked(queue, Ecn::NotEct, 0, 1_109_000);
    assert!(
        other.marked == 0 && other.frames < other.offered,
        "{other:?}"
    );
    // Without the setting all are dropped.
    let [capable, _] = marked(Queue::new(limit, codel()), Ecn::Ect0, 0, 1_109_000);
    assert!(
        capable.marked == 0 && capable.frames < capable.offered,
        "{capable:?}"
    );
}

#[test]
fn a_dual_queue_couples_marks_to_drops_and_keeps_scalable_packets_fast() {
    let dual = || {
        let dual = DualQueue::new(Duration::from_millis(15), Rng::new(7, 0));
        Queue::new(QueueLimit::None, QueueDiscipline::Dual(dual))
    };
    // 10.6 Mbit/s offered to 10, a twentieth of it scalable.
    let [classic, scalable] = marked(dual(), Ecn::NotEct, 1, 1_160_000);
    assert_eq!(
        scalable.frames, scalable.offered,
        "marks alone hold it back"
    );
    assert!(scalable.wait_max_ms < 10.0, "{scalable:?}");
    let dropped = 1.0 - classic.frames as f64 / classic.offered as f64;
    let marks = scalable.marked as f64 / scalable.frames as f64;
    assert!((0.03..0.2).contains(&dropped), "{classic:?}");
    // RFC 9332: p_CL = 2 p', p_C = p'^2, as means over a controller that moves.
    let coupled = 2.0 * dropped.sqrt();
    assert!(
        (marks / coupled - 1.0).abs() < 0.2,
        "{marks} marked, {coupled} coupled"
    );
    // Below the rate of the line nothing is marked or dropped.
    let [classic, scalable] = marked(dual(), Ecn::NotEct, 1, 1_300_000);
    assert_eq!((classic.frames, scalable.marked), (classic.offered, 0));
    // Packets with ECT(0) wait with the others and are marked where those are dropped, until marks alone do not hold the load back.
    let [capable, _] = marked(dual(), Ecn::Ect0, 0, 1_160_000);
    let dropped = capable.offered - capable.frames;
    assert!(capable.marked > 2 * dropped && dropped > 0, "{capable:?}");
}

#[test]
fn flow_hashing_keeps_a_flow_on_one_branch_and_round_robin_alternates() {
    let branch = |ms| -> Box<dyn Stage> { Box::new(Delay::new(Duration::from_millis(ms))) };
    let run = |selection| {
        let branches = vec![branch(1), branch(2)];
        let mut balancer = Balancer::new(selection, branches).unwrap();
        let mut out: Vec<TimedFrame> = Vec::new();
        for id in 0..1000 {
            let frame = full_frame(id).with_flow(id % 100);
            balancer.offer(SimTime::from_ns(id * 10_000_000), frame, &mut out);
        }
        balancer.advance(END, &mut out);
        assert!(balancer.counters().is_balanced(balancer.held()));
        let slow = |delivery: &&TimedFrame| delivery.at.as_ns() % 10_000_000 == 2_000_000;
        let mut flows = vec![[0; 2]; 100];
        for delivery in &out {
            flows[delivery.frame.flow as usize][usize::from(slow(&delivery))] += 1;
        }
        (flows, out.iter().filter(slow).count())
    };
    let (flows, slow) = run(BranchSelection::FlowHash { salt: 3 });
    assert!(flows.iter().all(|[fast, slow]| fast * slow == 0));
    assert!((350..650).contains(&slow), "{slow}");
    assert_eq!(run(BranchSelection::RoundRobin).1, 500);
}

#[test]
fn queue_length_and_queueing_delay_satisfy_littles_law() {
    let mut line = line(megabits(10), Queue::drop_tail(QueueLimit::Frames(10)));
    let mut out = Vec::new();
    for id in 0..1000 {
        line.offer(SimTime::from_ns(id * 1_000_000), full_frame(id), &mut out);
    }
    line.advance(END, &mut out);
    let end = out.last().unwrap().at;
    let queue = line.report(end).queue.unwrap();
    // Little's law: mean length × time = mean wait × frames.
    let area = queue.frames.mean.unwrap() * end.as_ns() as f64;
    let waits = queue.waiting.mean_ns.unwrap() as f64 * queue.waiting.count as f64;
    assert!((area / waits - 1.0).abs() < 1e-5, "{area} {waits}");
    assert_eq!(queue.frames.max, 10);
}
