//! Thousands of random sessions: each completes or ends cleanly, in bounded time and memory, and nothing but the content comes out.

use crate::session::{SessionEnd, SimulatedSession};
use crate::terms::{Incident, SessionTerms};
use caudal_rbt::{ReceiverStatus, SenderStatus};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Sessions without an environment that says otherwise.
const RUNS: u64 = 20_000;
/// What the runs share: two threads, as the tests of a workspace run side by side.
const THREADS: u64 = 2;
/// What an end holds in memory at most besides the window of the receiver.
const MAX_STATE_BYTES: usize = 12 << 20;
/// The offsets that a session resumes at are multiples of this here.
const RESUME_BYTES: u64 = 1024;

/// What became of a session.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    complete: u64,
    ended: u64,
    resumed: u64,
    /// Sessions that ended for nothing but loss.
    lossy: u64,
}

fn variable(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

#[test]
fn random_sessions_complete_or_end_cleanly() {
    let runs = variable("CAUDAL_RBT_RUNS", RUNS);
    let first = variable("CAUDAL_RBT_SEED", 1);
    println!("CAUDAL_RBT_SEED={first} CAUDAL_RBT_RUNS={runs}");
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let seeds = (first..first + runs)
                        .skip(thread as usize)
                        .step_by(THREADS as usize);
                    seeds.map(checked).collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for result in results {
        match result {
            Ok(one) => {
                tally.complete += one.complete;
                tally.ended += one.ended;
                tally.resumed += one.resumed;
                tally.lossy += one.lossy;
            }
            Err(failure) => failures.push(failure),
        }
    }
    println!("{tally:?}");
    for failure in failures.iter().take(20) {
        println!("{failure}\n");
    }
    assert!(
        failures.is_empty(),
        "{} of {runs} sessions failed",
        failures.len()
    );
    assert!(tally.complete >= runs / 2, "{tally:?}");
    assert!(tally.lossy <= runs / 20 + 1, "{tally:?}");
}

/// Runs the session of a seed: what became of it, or what was wrong, with how to repeat it.
fn checked(seed: u64) -> Result<Tally, String> {
    catch_unwind(AssertUnwindSafe(|| run(seed)))
        .unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().cloned();
            Err(message.unwrap_or_else(|| "a panic".to_owned()))
        })
        .map_err(|failure| {
            format!(
                "CAUDAL_RBT_SEED={seed} CAUDAL_RBT_RUNS=1: {failure}\n{:?}",
                SessionTerms::random(seed)
            )
        })
}

fn run(seed: u64) -> Result<Tally, String> {
    let terms = SessionTerms::random(seed);
    let end = SimulatedSession::new(&terms, terms.config.start_bytes, terms.incident).run()?;
    check_memory(&terms, &end)?;
    check_clean_end(&end)?;
    let mut tally = Tally::default();
    let dies = matches!(
        terms.incident,
        Some((_, Incident::SenderDies | Incident::ReceiverDies))
    );
    if dies && !end.is_complete() {
        let start = end.start.max(end.taken / RESUME_BYTES * RESUME_BYTES);
        let again = SimulatedSession::new(&terms, start, None).run()?;
        tally.resumed += 1;
        tally.complete += u64::from(again.is_complete());
        return Ok(tally);
    }
    if end.is_complete() {
        tally.complete += 1;
        return Ok(tally);
    }
    tally.ended += 1;
    tally.lossy += u64::from(!terms.is_obstructed());
    if !terms.is_hopeless() {
        return Err(format!("nothing stood in the way: {end:?}"));
    }
    Ok(tally)
}

fn check_memory(terms: &SessionTerms, end: &SessionEnd) -> Result<(), String> {
    let window = terms
        .config
        .window_bytes
        .max(u64::from(terms.config.packet_bytes)) as usize;
    if end.max_memory > window + MAX_STATE_BYTES {
        return Err(format!(
            "{} bytes of memory for a window of {window}",
            end.max_memory
        ));
    }
    let window_blocks = terms.config.window_blocks() * terms.config.block_bytes();
    if end.max_kept > window_blocks {
        return Err(format!(
            "the source has to keep {} bytes for a window of {window_blocks}",
            end.max_kept
        ));
    }
    Ok(())
}

/// Both ends know that it ended, and say why.
fn check_clean_end(end: &SessionEnd) -> Result<(), String> {
    let is_sender_open = matches!(
        end.sender,
        Some(SenderStatus::Sending | SenderStatus::AwaitingFinAck)
    );
    let is_receiver_open = matches!(
        end.receiver,
        Some(
            ReceiverStatus::Receiving
                | ReceiverStatus::Verifying
                | ReceiverStatus::Lingering { .. }
        )
    );
    if !is_sender_open && !is_receiver_open {
        Ok(())
    } else {
        Err(format!("an end does not know that it ended: {end:?}"))
    }
}
