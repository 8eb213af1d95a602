//! Every protocol carries contents, in both directions.

use crate::support::{generated, plan as tcp_plan, server, tcp, transfer};
use caudal_core::plan::{
    ArqMode, Direction, Rate, RbtTransfer, SendTier, TransferPlan, TransferSink, TransferVia,
};
use caudal_core::units::BitRate;
use caudal_engine::{Server, TransferLocalOptions, TransferOutcome};

const SIZES: [u64; 4] = [0, 1, 1 << 20, 3_000_017];

fn plan(via: TransferVia, direction: Direction, bytes: u64) -> TransferPlan {
    TransferPlan {
        via,
        ..tcp_plan(direction, generated(bytes), TransferSink::Discard)
    }
}

fn carry(server: &Server, plan: TransferPlan) -> TransferOutcome {
    transfer(server, plan, TransferLocalOptions::default()).unwrap()
}

fn rbt(packet_bytes: u32) -> RbtTransfer {
    RbtTransfer {
        packet_bytes,
        arq: ArqMode::Sack,
        tier: SendTier::Auto,
        granularity_us: 1000,
    }
}

#[test]
fn every_protocol_carries_any_size_in_both_directions() {
    let server = server(TransferLocalOptions::default());
    let vias = [
        TransferVia::Tcp(tcp()),
        TransferVia::Tls(tcp()),
        TransferVia::Rbt(rbt(100)),
        TransferVia::Rbt(rbt(1400)),
        TransferVia::Quic,
    ];
    for via in vias {
        for direction in Direction::BOTH {
            for bytes in SIZES {
                let case = format!("{via:?} {direction:?} {bytes}");
                let outcome = carry(&server, plan(via.clone(), direction, bytes));
                assert_eq!(outcome.failure, None, "{case}");
                assert!(outcome.is_verified(), "{case}");
                let (sender, receiver) = (outcome.sender().unwrap(), outcome.receiver().unwrap());
                assert_eq!(sender.bytes, bytes, "{case}");
                assert_eq!(receiver.bytes, bytes, "{case}");
                assert!(sender.acknowledged_ns.is_some(), "{case}");
                assert!(receiver.verified_ns >= receiver.written_ns, "{case}");
                assert_eq!(receiver.socket_drops.unwrap_or(0), 0, "{case}");
                assert_eq!(sender.digest, receiver.digest, "{case}");
                assert!(sender.digest.is_some(), "{case}");
            }
        }
    }
}

#[test]
fn every_arq_mode_and_congestion_control_carries_a_file() {
    let server = server(TransferLocalOptions::default());
    for arq in [
        ArqMode::Sack,
        ArqMode::NakBitmap,
        ArqMode::GoBackN,
        ArqMode::StopAndWait,
    ] {
        let via = TransferVia::Rbt(RbtTransfer { arq, ..rbt(1400) });
        let outcome = carry(&server, plan(via, Direction::Up, 200_000));
        assert_eq!(outcome.failure, None, "{arq:?}");
        assert!(outcome.is_verified(), "{arq:?}");
    }
    for congestion in ["cubic", "newreno", "bbr", "fixed"] {
        let plan = TransferPlan {
            congestion: Some(congestion.to_owned()),
            rate: Rate::Limit(BitRate::from_bps(500_000_000)),
            ..plan(TransferVia::Rbt(rbt(1000)), Direction::Down, 2_000_000)
        };
        let outcome = carry(&server, plan);
        assert_eq!(outcome.failure, None, "{congestion}");
        let sender = outcome.sender().unwrap();
        let used = sender.congestion.as_ref().unwrap().to_string();
        assert_eq!(used, congestion);
        let took_ns = sender.last_byte_ns - sender.first_byte_ns;
        assert!(took_ns > 25_000_000, "{congestion} {took_ns}");
    }
}

#[test]
fn a_packet_that_no_path_carries_and_an_unknown_congestion_control_fail_in_one_line() {
    let server = server(TransferLocalOptions::default());
    let too_large = carry(
        &server,
        plan(TransferVia::Rbt(rbt(65_487)), Direction::Up, 200_000),
    );
    // Loopback carries 65 536 bytes, headers included.
    let failure = too_large.failure.map(|failure| failure.to_string());
    assert!(
        failure.is_none_or(|failure| failure.contains("does not fit the path")),
        "the MTU of loopback may be smaller"
    );
    let unknown = TransferPlan {
        congestion: Some("vegas".to_owned()),
        ..plan(TransferVia::Rbt(rbt(1000)), Direction::Up, 1000)
    };
    let failure = carry(&server, unknown).failure.unwrap().to_string();
    assert!(failure.contains("vegas"), "{failure}");
}
