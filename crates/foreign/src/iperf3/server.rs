//! The server of iperf3's clients: one test for each, from its cookie to the close of its control connection.

use super::control::Iperf3Control;
use super::plan::{MAX_DURATION, plan_from_parameters};
use super::registration::RegisteredTest;
use super::reverse_amount::ReverseAmount;
use super::server_state::Iperf3ServerState;
use super::session::ServerSession;
use super::session_error::SessionError;
use super::session_streams::StreamCollector;
use super::streams::{Iperf3Stream, StreamTasks, congestion, data_connections, set_up};
use super::test_session::{ServerTest, TestEnding};
use caudal_core::event::{Agreement, CutShort, EndedTest, Event};
use caudal_core::plan::{Plan, PlanRecord, TestEnd};
use caudal_engine::admission::ClientSlot;
use caudal_engine::server::SharedPortClient;
use caudal_engine::{ClientRefusal, LocalOptions, TcpLocalOptions};
use caudal_flow::role;
use caudal_sys::clock::Rusage;
use caudal_wire::iperf3::{ControlState, Cookie, Parameters};
use std::net::TcpStream;

/// Serves a client whose cookie has been read.
pub(super) fn serve(
    state: &Iperf3ServerState,
    client: &SharedPortClient<'_>,
    stream: TcpStream,
    cookie: Cookie,
) {
    let refused = |refusal| client.send_refused(refusal);
    let control = match Iperf3Control::new(stream, client.peer()) {
        Ok(control) => control,
        Err(cause) => return refused(ClientRefusal::host(cause)),
    };
    let entry = match RegisteredTest::new(&state.tests, cookie) {
        Ok(Some(entry)) => entry,
        Ok(None) => {
            let message = "it repeats the cookie of a running test";
            return refused(ClientRefusal::protocol(message));
        }
        Err(error) => return refused(ClientRefusal::host(error)),
    };
    let mut session = ServerSession::new(state, client, control, entry);
    // A client that has left needs no answer.
    if let Err(error) = carry_out(&mut session, client.slot())
        && let Some((code, refusal)) = error.answer()
    {
        session.control.send_error(code);
        session.send_refused(refusal);
    }
    session.close();
}

/// Carries out the test of a session.
fn carry_out(session: &mut ServerSession<'_>, slot: &ClientSlot) -> Result<(), SessionError> {
    let parameters = session.receive_parameters()?;
    slot.activity().is_active();
    let interval = session.state.options.interval;
    let mut plan = plan_from_parameters(&parameters, interval);
    session.limit(&parameters, &mut plan)?;
    session.connected(&parameters);
    session.send_event(&Event::Agreed(Agreement {
        repeat: None,
        plan: PlanRecord::from(&plan),
        changed: Vec::new(),
    }));
    let streams = StreamCollector::new(session).collect(&parameters, &plan)?;
    for stream in &streams {
        let role = role(stream.flow.direction, false);
        set_up(&stream.socket, &parameters, role)
            .map_err(|error| SessionError::Code(error.code, Some(error.cause.to_string())))?;
    }
    slot.test_begins();
    run(session, &parameters, plan, streams)
}

/// Runs the test whose streams are open.
fn run(
    session: &mut ServerSession<'_>,
    parameters: &Parameters,
    mut plan: Plan,
    streams: Vec<Iperf3Stream>,
) -> Result<(), SessionError> {
    if let Some(bulk) = plan.bulk_mut() {
        // The client ends the test, by its own clock or count.
        bulk.end = TestEnd::Time(MAX_DURATION);
    }
    let options = LocalOptions {
        affinity: parameters
            .server_affinity
            .map(|cpu| vec![cpu as usize])
            .unwrap_or_default(),
        tcp: TcpLocalOptions {
            file: session.state.options.file.clone(),
        },
        ..LocalOptions::default()
    };
    let congestion = congestion(&streams);
    let connections = data_connections(&streams, false);
    let limit = session.test_limit(parameters);
    let tasks = StreamTasks::new(parameters, &plan, false);
    let mut set = tasks.spawn(streams, &options, Some(limit))?;
    for connection in connections {
        session.send_event(&Event::Opened(connection));
    }
    let usage = Rusage::of_process();
    session
        .control
        .send(&[ControlState::TestStart, ControlState::TestRunning])?;
    set.start_senders();
    session.send_event(&Event::Started { repeat: None });
    let flows = plan.flows();
    let amount = ReverseAmount::new(parameters, tasks.budget());
    let mut test = ServerTest::new(
        session,
        parameters,
        flows,
        set,
        congestion.map(Into::into),
        usage,
        amount,
    );
    let ending = test.carry_out();
    let totals = test.finish();
    match ending {
        Ok(TestEnding::Reported | TestEnding::Terminated) => Ok(()),
        Err(error) => {
            // The view shows the error in its own way.
            session.send_to_log(Event::Ended(EndedTest {
                cut_short: Some(CutShort::Lost(error.to_string().into())),
                ..totals
            }));
            Err(error)
        }
    }
}
