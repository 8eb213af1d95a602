//! The bodies of the fuzz targets on scripts from a seed.

use crate::event_script::{read_datagram, run_events};
use crate::forged::{self, ForgedAck, ForgedHello};
use caudal_stats::random::SplitMix64;

/// Datagrams of every kind, as a fuzzer would be given.
fn examples() -> Vec<Vec<u8>> {
    let ack = ForgedAck {
        largest: 9,
        first_missing: 2,
        credit: 100,
        budget: 1000,
        received: 9,
        ranges: vec![(0, 3), (2, 2)],
        bitmap: vec![5, 1],
        ..ForgedAck::default()
    };
    vec![
        forged::data(7, 0, 0, &[7; 1400]),
        ack.datagram(7),
        forged::fin(7, 5000, [5; 32]),
        forged::control(forged::FIN_ACK, 7, &[1]),
        forged::control(forged::PING, 7, &[]),
        forged::control(forged::ABORT, 7, &[1, 0, 0, 0]),
        forged::control(forged::CLOSE, 7, &[]),
        ForgedHello::default().datagram(),
        forged::control(forged::RETRY, 0, &[0; 24]),
        forged::accept(7, [0, 5000, 0, 1 << 16, 3]),
    ]
}

#[test]
fn random_events_break_nothing() {
    let mut rng = SplitMix64::new(14);
    for _ in 0..3000 {
        let len = rng.below(4000) as usize;
        let script: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
        run_events(&script);
    }
}

#[test]
fn mutated_datagrams_break_nothing() {
    let mut rng = SplitMix64::new(15);
    for example in examples() {
        read_datagram(&example);
        for _ in 0..2000 {
            let mut mutated = example.clone();
            for _ in 0..rng.below(8) + 1 {
                match rng.below(4) {
                    0 => mutated.truncate(rng.below(mutated.len() as u64 + 1) as usize),
                    1 => mutated.push(rng.next_u64() as u8),
                    _ if mutated.is_empty() => {}
                    2 => {
                        let at = rng.below(mutated.len() as u64) as usize;
                        mutated[at] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5) as usize];
                    }
                    _ => {
                        let at = rng.below(mutated.len() as u64) as usize;
                        mutated[at] ^= 1 << rng.below(8);
                    }
                }
            }
            read_datagram(&mutated);
        }
    }
}
