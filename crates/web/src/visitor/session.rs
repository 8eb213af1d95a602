//! A test with the page, from its dialogue to its result.

use super::dialogue::Dialogue;
use super::message::ToPage;
use super::phase::{PhasePlan, PhaseRecord, VisitorPhaseRunner};
use super::prober::PingProber;
use super::registry::VisitorRegistry;
use super::report::{LAST_PONG_NS, MeasuredPhase, VisitorMeasurements, result_message};
use crate::http::{RequestHead, UpgradeRequest, WebFlow};
use crate::options::WebOptions;
use crate::websocket::accept_upgrade;
use caudal_core::event::{Agreement, CutShort, EndedTest, Event};
use caudal_core::plan::PhaseLoad;
use caudal_core::run::{Run, RunHeader, RunResult};
use caudal_core::units::ByteCount;
use caudal_engine::server::{SessionEventKind, SharedPortClient};
use caudal_engine::{ClientRefusal, StartedRun, this_tool};
use caudal_flow::{SessionLimits, random_bytes};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::net::TcpStream;
use std::time::Duration;

/// The part of a phase with load that does not count: a quarter.
const RAMP_PART: u32 = 4;

/// The loads of a test by direction, each of which has limits of its own: download, upload, and both at once.
const DIRECTED_LOADS: u64 = 4;

/// What a test with the page needs of its server.
pub(crate) struct VisitorTest<'a> {
    /// The client.
    pub(crate) client: &'a SharedPortClient<'a>,
    /// The treatment of browsers.
    pub(crate) options: &'a WebOptions,
    /// The running tests.
    pub(crate) registry: &'a VisitorRegistry,
    /// The payload that its source may still carry, bytes.
    pub(crate) max_bytes: u64,
}

/// Serves a page that opened the dialogue of a test; returns the payload that it carried.
pub(crate) fn serve(
    test: &VisitorTest<'_>,
    head: &RequestHead,
    upgrade: &UpgradeRequest,
    stream: TcpStream,
) -> u64 {
    let client = test.client;
    if accept_upgrade(&stream, upgrade, None).is_err() {
        return 0;
    }
    let dialogue = match Dialogue::begin(stream) {
        Ok(dialogue) => dialogue,
        Err(cause) => {
            client.send_refused(ClientRefusal::host(cause));
            return 0;
        }
    };
    let tool = head.user_agent.clone().unwrap_or("a browser".to_owned());
    client.send_event(SessionEventKind::Connected { tool: tool.into() });
    client.slot().test_begins();
    let carried = match random_bytes::<16>() {
        Ok(secret) => test.run(head, &dialogue, hex::encode(secret)),
        Err(_) => 0,
    };
    drop(dialogue);
    client.send_event(SessionEventKind::Left);
    carried
}

impl VisitorTest<'_> {
    /// Carries out a test: the payload.
    fn run(&self, head: &RequestHead, dialogue: &Dialogue, secret: String) -> u64 {
        let started = StartedRun::now(this_tool(None), String::new());
        let limits = self.limits();
        let plans = plans(self.options, &limits);
        let visitor = self.registry.open(secret.clone());
        let mut measured = VisitorMeasurements {
            phases: Vec::new(),
            test_ns: monotonic_ns(),
            peer: self.client.peer().to_string(),
            is_proxied: head.is_proxied,
            was_hidden: false,
            cut_short: None,
        };
        let total: Duration = plans.iter().map(|plan| plan.time).sum();
        dialogue.tell(&ToPage::Hello {
            session: secret,
            total_ms: total.as_millis() as u64,
        });
        let runner = VisitorPhaseRunner {
            client: self.client,
            options: self.options,
            visitor: &visitor,
            dialogue,
            limits,
            test_ns: measured.test_ns,
        };
        self.send(Event::Agreed(Agreement {
            repeat: None,
            plan: planned(&plans, &measured),
            changed: Vec::new(),
        }));
        measured.cut_short = carry_out(&runner, &plans, &mut measured.phases).err();
        measured.was_hidden = dialogue.state().was_hidden;
        let (received_bytes, sent_bytes) = measured
            .phases
            .iter()
            .map(|phase| phase.record.carried())
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        self.send(Event::Ended(EndedTest {
            received_bytes,
            sent_bytes,
            elapsed_s: (monotonic_ns() - measured.test_ns) as f64 / 1e9,
            cut_short: measured
                .cut_short
                .clone()
                .map(|why| CutShort::ByServer(why.into())),
            ..EndedTest::default()
        }));
        dialogue.tell(&self.result(&measured, started));
        received_bytes + sent_bytes
    }

    /// The limits of the server, with what its source may still carry.
    fn limits(&self) -> SessionLimits {
        let limits = self.client.limits().of_client(self.client.peer().ip());
        let share = self.max_bytes / DIRECTED_LOADS;
        let most = limits.max_bytes.map_or(share, |max| max.get().min(share));
        SessionLimits {
            max_bytes: Some(ByteCount::new(most)),
            ..limits
        }
    }

    /// The result, recorded where tests are.
    fn result(&self, measured: &VisitorMeasurements, started: StartedRun) -> ToPage {
        let has_load = |phase: &MeasuredPhase| phase.record.plan.load != PhaseLoad::Idle;
        if !measured.phases.iter().any(has_load) {
            let why = measured.cut_short.clone();
            return ToPage::Failed {
                why: why.unwrap_or_else(|| "nothing was measured".to_owned()),
            };
        }
        let report = measured.report();
        let warnings = measured.warnings(&report);
        let mut message = result_message(&report, &warnings);
        let run = Run {
            result: Some(RunResult::Quality(Box::new(report))),
            began_s: Some(started.started_ns as f64 / 1e9),
            warnings,
            ..Run::new(
                RunHeader {
                    command: None,
                    ..started.header
                },
                measured.plan(),
            )
        };
        if let Some(archive) = &self.options.archive
            && archive.record(&run, started.started_ns)
        {
            message.link = Some(format!("/r/{}", run.header.id));
        }
        ToPage::Result(Box::new(message))
    }

    fn send(&self, event: Event) {
        self.client
            .send_event(SessionEventKind::Event(Box::new(event)));
    }
}

/// The phases of a test within the limits of the server.
fn plans(options: &WebOptions, limits: &SessionLimits) -> Vec<PhasePlan> {
    let within = |time: Duration| limits.max_time.map_or(time, |max| time.min(max));
    let phases = (0..).zip(PhaseLoad::ALL);
    phases
        .map(|(number, load)| match load {
            PhaseLoad::Idle => PhasePlan {
                number,
                load,
                time: within(options.idle),
                ramp: Duration::ZERO,
                streams: 0,
            },
            _ => PhasePlan {
                number,
                load,
                time: within(options.time),
                ramp: within(options.time) / RAMP_PART,
                streams: options.streams,
            },
        })
        .collect()
}

/// The plan of a test before it is carried out.
fn planned(plans: &[PhasePlan], measured: &VisitorMeasurements) -> caudal_core::plan::PlanRecord {
    let phases = plans.iter().map(|plan| MeasuredPhase {
        record: PhaseRecord {
            plan: *plan,
            start_ns: 0,
            end_ns: 0,
            samples: Vec::new(),
            ends: Vec::new(),
            cut_short: None,
        },
        page: super::page_counts::PagePhase {
            load: plan.load,
            counts: super::page_counts::PageCounts::default(),
            starved: 0.0,
        },
        trips: Vec::new(),
    });
    VisitorMeasurements {
        phases: phases.collect(),
        ..measured.clone()
    }
    .plan()
}

/// Carries out the phases one after another.
///
/// # Errors
/// Why the test ended early; what was measured until then is in `measured`.
fn carry_out(
    runner: &VisitorPhaseRunner<'_>,
    plans: &[PhasePlan],
    measured: &mut Vec<MeasuredPhase>,
) -> Result<(), String> {
    let probe = runner.connections(&[WebFlow::Probe])?;
    let Some((_, stream)) = probe.into_iter().next() else {
        return Err("the page made no connection for its round trips".to_owned());
    };
    let prober = PingProber::begin(stream).map_err(|cause| cause.to_string())?;
    for plan in plans {
        let record = runner.run(*plan, &prober)?;
        if plan.load == PhaseLoad::Idle {
            sleep_until(monotonic_ns() + LAST_PONG_NS);
        }
        let trips = prober.between(record.start_ns, record.end_ns);
        let page = runner
            .dialogue
            .state()
            .phases
            .get(plan.number as usize)
            .cloned();
        let why = record.cut_short.clone();
        if let Some(page) = page {
            measured.push(MeasuredPhase {
                record,
                page,
                trips,
            });
        }
        if let Some(why) = why {
            return Err(why);
        }
    }
    Ok(())
}
