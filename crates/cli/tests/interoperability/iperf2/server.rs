//! A server's options, and clients of it that fail.

use super::real_programs::{figures, program};
use super::{serve, still_serves, udp_to, words};
use crate::support::network::{Network, inside, missing};
use crate::support::port::free_port;
use crate::support::{Running, SOON, Serve, caudal, run};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

pub(crate) fn no_connect_back() {
    let (server, port) = serve("--no-connect-back");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let back = u32::from(listener.local_addr().unwrap().port());
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(&words(&[0x8000_0001, 1, back, 0, 0, 1000]))
        .unwrap();
    server.running.line_with("which this server does not do");
    drop(stream);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
    still_serves(&server, port);
    // Nor does any server connect to the ports of services.
    let (server, port) = serve("");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(&words(&[0x8000_0001, 1, 22, 0, 0, 1000]))
        .unwrap();
    server.running.line_with("to be connected to at port 22");
}

pub(crate) fn multicast_missing() -> Option<String> {
    missing(&[])
}

pub(crate) fn multicast() {
    let network = Network::build();
    for space in [&network.client, &network.server] {
        let _ = inside(space, "ip")
            .args(["route", "add", "224.0.0.0/4", "dev", "v0"])
            .output();
    }
    let mut server = inside(&network.server, env!("CARGO_BIN_EXE_caudal"));
    server.args(["iperf", "-s", "-u", "-B", "224.0.55.77", "-f", "B"]);
    let server = Running::start(&mut server);
    server.line_with("Joining multicast group  224.0.55.77");
    server.line_with("buffer size");
    let mut client = inside(&network.client, env!("CARGO_BIN_EXE_caudal"));
    client.args([
        "iperf",
        "-c",
        "224.0.55.77",
        "-u",
        "-t",
        "0.5",
        "-T",
        "2",
        "-f",
        "B",
    ]);
    let client = run(&mut client, SOON).done();
    let sent = figures(&client.stdout);
    let received = figures(&server.line_with(" ms "));
    assert_eq!(sent[0].bytes, received[0].bytes, "{client:#?} {received:?}");
    assert_eq!(received[0].lost, 0);
}

pub(crate) fn allow_list() {
    let (server, port) = serve("--allow 192.0.2.0/24");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    assert!(matches!(stream.read(&mut [0; 10]), Ok(0) | Err(_)));
    server
        .running
        .line_with("is not among the networks this server answers");
    udp_to(port).send(&[0; 1470]).unwrap();
    server
        .running
        .line_with("is not among the networks this server answers");
}

pub(crate) fn taken_port() {
    let held = TcpListener::bind("[::]:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let server = Serve::start(&format!("--iperf2-port {port} --nttcp-port {port}"));
    for name in ["without iperf 2: ", "without nttcp: "] {
        let line = server.running.line_with(name);
        assert!(
            line.contains(&port.to_string()) && line.contains("choose another port"),
            "{line}"
        );
    }
    server.still_serves();
}

pub(crate) fn as_iperf2() {
    let port = free_port().to_string();
    let tcp = Running::start(program(false).args(["-s", "-p", &port]));
    tcp.line_with("listening");
    let udp = Running::start(program(false).args(["-s", "-u", "-p", &port]));
    udp.line_with("listening");
    thread::sleep(Duration::from_millis(200));
    let says = |words: &str| {
        let mut words = words.split_whitespace();
        let mut command = caudal(words.next());
        command
            .args(["127.0.0.1", "--as", "iperf2", "-p", &port, "--json"])
            .args(words);
        run(&mut command, SOON).done().json()
    };
    let up = says("tcp -n 1M -P 2");
    for flow in up["flows"].as_array().unwrap() {
        assert_eq!(flow["sender"]["bytes"], 500_000, "{flow}");
        assert_eq!(
            flow["receiver"]["bytes"], 500_000,
            "what its kernel acknowledged: {flow}"
        );
        assert!(flow["sender"]["tcp"]["rtt_us"].as_u64() > Some(0), "{flow}");
    }
    assert_eq!(up["environment"]["server"]["tool"], "iperf 2");
    for absent in [
        &up["environment"]["server"]["cpus"],
        &up["flows"][0]["receiver"]["cpu_s"],
        &up["summary"]["directions"][0]["receiver_cpu"],
    ] {
        assert!(absent.is_null(), "what nobody tells is not there: {up}");
    }
    let down = says("tcp -n 1M -R");
    assert_eq!(down["flows"][0]["receiver"]["bytes"], 1_000_000, "{down}");
    assert!(down["flows"][0]["sender"].is_null(), "nobody tells: {down}");
    let datagrams = says("udp -t 0.5 -b 5M");
    let flow = &datagrams["flows"][0];
    assert_eq!(
        flow["sender"]["datagrams"], flow["receiver"]["datagrams"],
        "{flow}"
    );
    assert_eq!(flow["receiver"]["lost"], 0, "{flow}");
    let refused = run(
        &mut caudal(["tcp", "127.0.0.1", "--as", "iperf2", "--mptcp", "-p", &port]),
        SOON,
    );
    refused.failed(4, &["--mptcp", "iperf 2"]);
}

pub(crate) fn link() {
    let directory = std::env::temp_dir().join(format!("caudal-link-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for (name, word) in [("iperf", "iperf version 2.1.8"), ("nttcp", "version 1.47")] {
        let link = directory.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_caudal"), &link).unwrap();
        let flag = if name == "iperf" { "-v" } else { "-V" };
        let ended = run(Command::new(&link).arg(flag), SOON).done();
        assert!(ended.stdout.contains(word), "{ended:#?}");
    }
    let _ = std::fs::remove_dir_all(&directory);
}

pub(crate) fn failures() {
    for (words, said) in [
        (
            "-c 127.0.0.1 --isochronous",
            "iperf: option --isochronous of iperf is not here: this end generates no frames of video; it receives those of others as payload",
        ),
        ("-Q", "iperf: invalid option -- Q"),
        ("", "iperf: either -s or -c HOST is needed"),
    ] {
        let ended = run(program(true).args(words.split_whitespace()), SOON);
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert_eq!(ended.stderr.lines().next(), Some(said), "{ended:#?}");
    }
    let port = free_port().to_string();
    let refused = run(program(true).args(["-c", "127.0.0.1", "-p", &port]), SOON);
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(
        refused
            .stderr
            .contains("tcp connect failed: Connection refused"),
        "{refused:#?}"
    );
    let silent = run(
        program(true).args(["-c", "127.0.0.1", "-u", "-t", "0.1", "-p", &port]),
        SOON,
    );
    assert!(
        silent
            .stdout
            .contains("WARNING: did not receive ack of last datagram"),
        "{silent:#?}"
    );
}

pub(crate) fn one_client() {
    let port = free_port().to_string();
    let server = Running::start(program(true).args(["-s", "-P", "1", "-p", &port]));
    server.line_with("listening");
    run(
        program(false).args(["-c", "127.0.0.1", "-n", "64K", "-p", &port]),
        SOON,
    );
    assert_eq!(server.wait(Duration::from_secs(5)).code, Some(0));
}
