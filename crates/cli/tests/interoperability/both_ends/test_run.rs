//! A case as commands: a server of its own, the client, and what both said.

use super::account::{Account, End};
use super::case::{Case, Command, Tool, Transport};
use super::judgement::judge;
use super::{iperf2_text, iperf3_json, run_document};
use crate::support::port::{Listener, await_listener, free_port};
use crate::support::{Ended, Running, caudal, run};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

/// How long a test of a second or less may take before it counts as one that hangs.
const HANG: Duration = Duration::from_secs(25);
/// How long iperf 2's server may take to print what it has received.
const PRINTING: Duration = Duration::from_secs(5);

/// The times that a case is run: on a busy machine the server of iperf3 ends a test with data unread in its socket, and its client with
/// part of a block. What is wrong with the program is wrong each time.
const TIMES: u32 = 3;

/// Runs a case and judges it.
pub fn check(case: &Case) {
    for _ in 1..TIMES {
        if std::panic::catch_unwind(|| check_once(case)).is_ok() {
            return;
        }
        println!("{} did not hold; once more", case.name());
    }
    check_once(case);
}

fn check_once(case: &Case) {
    let port = free_port();
    let server = serve(case, port);
    let client = run(&mut client_command(case, port), HANG);
    let context = format!("{:?}: {client:#?}", client_command(case, port));
    assert_eq!(client.code, Some(0), "{context}");
    let (told, served) = match case.tool {
        Tool::Iperf3 => {
            let served = server.wait(HANG);
            assert_eq!(served.code, Some(0), "{context} {served:#?}");
            let account = iperf3_json::read(&served.stdout, End::Server, case);
            (client_account(case, &client, port), account)
        }
        Tool::Iperf2 => {
            let told = client_account(case, &client, port);
            (told, printed(&server, case, port, told.flows))
        }
    };
    judge(case, &told, &served, &context);
}

/// Starts the server of a case; it listens.
fn serve(case: &Case, port: u16) -> Running {
    let mut command = own(case.tool, case.server);
    command.args(["-s", "-p", &port.to_string()]);
    match case.tool {
        Tool::Iperf3 => command.args(["-1", "-J"]),
        Tool::Iperf2 => command.args(["-f", "B"]),
    };
    let mut listener = Listener::Tcp;
    if (case.tool, case.transport) == (Tool::Iperf2, Transport::Udp) {
        command.args(["-u", "-l", "1000"]);
        listener = Listener::Udp;
    }
    let server = Running::start(&mut command);
    await_listener(port, listener);
    server
}

/// The program of an end, to be given the tool's own flags.
fn own(tool: Tool, end: Command) -> process::Command {
    match end {
        Command::Real => process::Command::new(tool.program()),
        Command::Compatible | Command::Native => caudal([tool.program()]),
    }
}

fn client_command(case: &Case, port: u16) -> process::Command {
    let port = port.to_string();
    let udp = case.transport == Transport::Udp;
    if case.client == Command::Native {
        let transport = if udp { "udp" } else { "tcp" };
        let protocol = match case.tool {
            Tool::Iperf3 => "iperf3",
            Tool::Iperf2 => "iperf2",
        };
        let mut command = caudal([transport, "127.0.0.1", "-p", &port, "--as", protocol]);
        command.arg("--json").args(case.words());
        return command;
    }
    let mut command = own(case.tool, case.client);
    command.args(["-c", "127.0.0.1", "-p", &port]);
    match case.tool {
        Tool::Iperf3 => command.arg("-J"),
        Tool::Iperf2 => command.args(["-f", "B"]),
    };
    if udp {
        command.arg("-u");
    }
    if case.directions.connects_back() {
        command.args(["-L", &free_port().to_string()]);
    }
    command.args(case.words());
    command
}

fn client_account(case: &Case, client: &Ended, port: u16) -> Account {
    match (case.client, case.tool) {
        (Command::Native, _) => run_document::read(&client.stdout),
        (_, Tool::Iperf3) => iperf3_json::read(&client.stdout, End::Client, case),
        (_, Tool::Iperf2) => iperf2_text::read(&client.stdout, End::Client, case.directions, port),
    }
}

/// What iperf 2's server prints, which it does some time after the client has gone.
fn printed(server: &Running, case: &Case, port: u16, flows: usize) -> Account {
    let until = Instant::now() + PRINTING;
    loop {
        let account = iperf2_text::read(&server.said(), End::Server, case.directions, port);
        if account.flows >= flows || Instant::now() > until {
            return account;
        }
        thread::sleep(Duration::from_millis(20));
    }
}
