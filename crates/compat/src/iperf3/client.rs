//! `caudal iperf3 -c`: a test with a server of iperf3.

use super::about::{SHOWN_VERSION, rfc1123};
use super::client_view::ClientView;
use super::error::error_text;
use super::json::TestHeading;
use super::login;
use super::options::{Iperf3Settings, TestSettings};
use super::printer::Iperf3Printer;
use crate::program::fail;
use crate::recording::{ClientEnd, ClientRecording};
use caudal_core::event::View;
use caudal_engine::{LocalBinding, LocalOptions, Target, TcpLocalOptions};
use caudal_foreign::iperf3::{Iperf3Client, Iperf3Request, Iperf3Session};
use caudal_sys::affinity;
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf3::{Iperf3ErrorCode, TransportProtocol};
use std::process::ExitCode;

/// Runs a client; `command` is the command line that repeats the test.
pub(super) fn run(
    settings: &Iperf3Settings,
    test: &TestSettings,
    command: String,
    interrupt: &'static Interrupt,
) -> ExitCode {
    let recording = ClientRecording::start("iperf3", command);
    let printer = match Iperf3Printer::open(&settings.output) {
        Ok(printer) => printer,
        Err(error) => return fail("iperf3", format!("error - {error}")),
    };
    let heading = TestHeading::new(Some((test.host.clone(), settings.port)));
    let mut client = TestClient {
        settings,
        test,
        view: ClientView::new(settings, heading, printer),
        recording,
    };
    let error = client.carry_out(interrupt).err();
    client.view.close(error.as_deref());
    // A test that the user ended early has not failed.
    let end = match &error {
        _ if interrupt.count() > 0 => ClientEnd::Interrupted,
        Some(error) => ClientEnd::Failed(error),
        None => ClientEnd::Complete,
    };
    let report = client.view.report();
    let peer = report.session.as_ref().map(|session| session.peer.ip());
    let mut recording = client.recording;
    recording.set_title(report.parameters.title.clone());
    recording.finish(peer, end);
    // As iperf3 does since 3.19.
    let is_interrupted = interrupt.count() > 0;
    if error.is_some() && !is_interrupted {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// A client and its test.
struct TestClient<'a> {
    settings: &'a Iperf3Settings,
    test: &'a TestSettings,
    view: ClientView,
    recording: ClientRecording,
}

impl TestClient<'_> {
    /// Carries out the test.
    ///
    /// # Errors
    /// The text of the error that ended it.
    fn carry_out(&mut self, interrupt: &'static Interrupt) -> Result<(), String> {
        if let Some(cpu) = self.settings.affinity
            && !affinity::available_cpus().contains(&cpu)
        {
            return Err(format!(
                "error - {}: processor {cpu} is not here",
                Iperf3ErrorCode::AFFINITY
            ));
        }
        let request = self.request()?;
        self.view.verbose_line(SHOWN_VERSION);
        self.view.verbose_line(&self.view.heading.system.clone());
        let client =
            Iperf3Client::connect(request, Some(interrupt)).map_err(|error| error_text(&error))?;
        self.view.heading.began_ns = realtime_ns();
        self.show_connected(&client);
        self.view.expect(Iperf3Session {
            peer: client.peer(),
            cookie: client.cookie(),
            parameters: client.parameters().clone(),
            mss: client.mss(),
        });
        let (view, recording) = (&mut self.view, &mut self.recording);
        let outcome = client.run(&mut |event| {
            recording.event(&event);
            view.event(&event);
        });
        outcome.map_err(|error| error_text(&error))?;
        self.view.show_server_output();
        self.view.line("");
        self.view.line("iperf Done.");
        Ok(())
    }

    /// The test to ask the server for.
    fn request(&self) -> Result<Iperf3Request, String> {
        let (settings, test) = (self.settings, self.test);
        let mut parameters = test.parameters.clone();
        if let (Some(user), Some(key)) = (&test.user_name, &test.public_key) {
            parameters.auth_token = Some(
                login::token(user, key, test.padding)
                    .map_err(|error| format!("error - {error}"))?
                    .into(),
            );
        }
        let target = Target {
            host: test.host.clone(),
            port: settings.port,
            family: settings.family,
            binding: LocalBinding {
                address: settings.bind,
                scope_id: 0,
                device: settings.device.clone(),
                port: None,
            },
            token: None,
        };
        Ok(Iperf3Request {
            parameters,
            length: test.length,
            client_port: test.client_port,
            interval: settings.interval,
            connect_timeout: test.connect_timeout,
            receive_timeout: settings.receive_timeout,
            send_timeout: test.send_timeout,
            options: LocalOptions {
                affinity: settings.affinity.map(|cpu| vec![cpu]).unwrap_or_default(),
                tcp: TcpLocalOptions {
                    file: settings.file.clone(),
                },
                ..LocalOptions::default()
            },
            ..Iperf3Request::new(target)
        })
    }

    /// Shows the lines between connecting and the first stream.
    fn show_connected(&mut self, client: &Iperf3Client) {
        let parameters = client.parameters();
        let view = &mut self.view;
        if let Some(mss) = client.mss() {
            view.verbose_line(&format!("Control connection MSS {mss}"));
        }
        if parameters.protocol == TransportProtocol::Udp && self.test.length.is_none() {
            view.verbose_line(&format!("Setting UDP block size to {}", parameters.length));
        }
        view.verbose_line(&format!("Time: {}", rfc1123(view.heading.began_ns)));
        let host = &self.test.host;
        view.line(&format!(
            "Connecting to host {host}, port {}",
            self.settings.port
        ));
        if parameters.reverse {
            view.line(&format!("Reverse mode, remote host {host} is sending"));
        }
    }
}
