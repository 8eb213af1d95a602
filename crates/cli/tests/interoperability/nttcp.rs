//! nttcp by transcript, both roles: no program of that name is packaged any more.

use crate::support::port::free_port;
use crate::support::{Ended, Running, SOON, Serve, caudal, run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

trials! {
    a_sender_of_1_47_is_received_and_told_the_row,
    a_receiver_of_1_47_is_sent_to_at_the_port_it_names,
    udp_goes_from_mark_to_mark_and_calls_count_as_in_1_47,
    our_client_asks_in_the_words_of_1_47,
    both_roles_and_both_protocols_agree_with_our_own_server,
    the_program_itself_waits_for_clients_with_i,
    lies_and_silence_cost_the_liar_only,
    our_own_tests_run_with_a_server_of_nttcp,
    what_cannot_be_is_refused_by_name,
    a_verbose_server_is_understood_in_both_directions,
    a_verbose_client_is_told_when_the_server_has_ended,
}

const FORMAT: &str = "%9b%8.2rt%8.2ct%12.4rbr%12.4cbr%8c%10.2rcr%10.1ccr";

fn serve(words: &str) -> (Serve, u16) {
    let server = Serve::start(&format!("--nttcp-port 0 {words}"));
    let line = server.running.line_with("nttcp on port ");
    let rest = line.split("nttcp on port ").nth(1).unwrap();
    let port = rest.split(',').next().unwrap().trim().parse().unwrap();
    (server, port)
}

fn client(port: u16, words: &str) -> Ended {
    let mut command = caudal(["nttcp", "-p", &port.to_string()]);
    command.args(words.split_whitespace());
    run(&mut command, SOON)
}

/// A conversation with a server, as nttcp 1.47 holds it.
struct RawClient {
    control: BufReader<TcpStream>,
}

impl RawClient {
    fn asks(port: u16, line: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        Self {
            control: BufReader::new(stream),
        }
    }

    fn hears(&mut self) -> String {
        let mut line = String::new();
        self.control.read_line(&mut line).unwrap();
        line
    }

    fn data_port(&mut self) -> u16 {
        let line = self.hears();
        line.trim()
            .strip_prefix("dataport: ")
            .unwrap()
            .parse()
            .unwrap()
    }
}

/// The columns of a row in the usual format: what it begins with, bytes and calls.
fn row(line: &str) -> (char, u64, u64) {
    // By their places: a fast machine's rates are wider than their columns, and touch.
    let column = |from: usize, width: usize| -> u64 {
        let text = line
            .get(from..from + width)
            .unwrap_or_else(|| panic!("{line:?}"));
        text.trim().parse().unwrap_or_else(|_| panic!("{line:?}"))
    };
    (line.chars().next().unwrap(), column(1, 9), column(50, 8))
}

fn a_sender_of_1_47_is_received_and_told_the_row() {
    let (server, port) = serve("");
    let mut hand = RawClient::asks(port, &format!("nttcp@-r@-l4096@-n2048@-f@{FORMAT}@-N1\n"));
    let data = hand.data_port();
    assert!(data > 1024);
    let mut stream = TcpStream::connect(("127.0.0.1", data)).unwrap();
    for _ in 0..2048 {
        stream.write_all(&[b'x'; 4096]).unwrap();
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let (mark, bytes, calls) = row(&hand.hears());
    assert_eq!((mark, bytes), ('1', 8_388_608));
    assert!(calls > 2048, "the last read, of nothing, counts: {calls}");
    assert_eq!(hand.hears(), "", "and it closes");
    server.still_serves();
}

fn a_receiver_of_1_47_is_sent_to_at_the_port_it_names() {
    let (server, port) = serve("");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut hand = RawClient::asks(port, &format!("nttcp@-t@-l1000@-n50@-f@{FORMAT}@-N2\n"));
    let named = format!("dataport: {}\n", listener.local_addr().unwrap().port());
    hand.control.get_mut().write_all(named.as_bytes()).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    drop(stream);
    assert_eq!(got.len(), 50_000);
    assert_eq!(row(&hand.hears()), ('2', 50_000, 50));
    server.still_serves();
}

fn udp_goes_from_mark_to_mark_and_calls_count_as_in_1_47() {
    let (server, port) = serve("");
    let mut hand = RawClient::asks(port, &format!("nttcp@-r@-u@-l4096@-n20@-f@{FORMAT}@-N1\n"));
    let data = hand.data_port();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", data)).unwrap();
    socket.send(&[0; 4]).unwrap();
    for nth in 0..20 {
        // One of them is lost.
        if nth != 7 {
            socket.send(&[b'x'; 4096]).unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    }
    socket.send(&[0; 4]).unwrap();
    assert_eq!(
        row(&hand.hears()),
        ('1', 19 * 4096, 20),
        "datagrams and one more"
    );
    // And the other way round: the sender's calls are three more than its datagrams.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let mut hand = RawClient::asks(
        port,
        &format!("nttcp@-t@-u@-l500@-n30@-g200@-f@{FORMAT}@-N1\n"),
    );
    let named = format!("dataport: {}\n", socket.local_addr().unwrap().port());
    hand.control.get_mut().write_all(named.as_bytes()).unwrap();
    let mut sizes = Vec::new();
    loop {
        let size = socket.recv(&mut [0; 2048]).unwrap();
        sizes.push(size);
        if size == 4 && sizes.len() > 1 {
            break;
        }
    }
    assert_eq!(sizes.first(), Some(&4));
    assert_eq!(sizes.iter().filter(|size| **size == 500).count(), 30);
    assert_eq!(row(&hand.hears()), ('1', 15_000, 33));
    server.still_serves();
}

fn our_client_asks_in_the_words_of_1_47() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut control = BufReader::new(stream);
        let mut line = String::new();
        control.read_line(&mut line).unwrap();
        let data = TcpListener::bind("127.0.0.1:0").unwrap();
        let named = format!("dataport: {}\n", data.local_addr().unwrap().port());
        control.get_mut().write_all(named.as_bytes()).unwrap();
        let (mut stream, _) = data.accept().unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        drop(stream);
        // The row of a transcript of 2004.
        let row =
            "1  8388608    0.71    0.04     93.9984   1598.0964    5794   8115.57  137975.4\n";
        control.get_mut().write_all(row.as_bytes()).unwrap();
        (line, got.len())
    });
    let ended = client(port, "-T 127.0.0.1").done();
    let (line, bytes) = server.join().unwrap();
    assert_eq!(line, format!("nttcp@-r@-l4096@-n2048@-f@{FORMAT}@-N1\n"));
    assert_eq!(bytes, 8_388_608);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "     Bytes  Real s   CPU s Real-MBit/s  CPU-MBit/s   Calls  Real-C/s   CPU-C/s"
    );
    assert_eq!(row(lines[1]), ('l', 8_388_608, 2048));
    assert_eq!(row(lines[2]), ('1', 8_388_608, 5794));
}

fn both_roles_and_both_protocols_agree_with_our_own_server() {
    let (server, port) = serve("");
    for (words, bytes) in [
        ("127.0.0.1", 8_388_608),
        ("-r -l1000 -n100 127.0.0.1", 100_000),
        ("-x123457 127.0.0.1 -w64", 123_457),
        ("-u -l1000 -n100 -g100 127.0.0.1", 100_000),
        ("-r -u -l1000 -n100 -g100 127.0.0.1", 100_000),
    ] {
        let ended = client(port, words).done();
        let rows: Vec<(char, u64, u64)> = ended.stdout.lines().map(row).collect();
        assert_eq!(rows.len(), 2, "{words}: {ended:#?}");
        assert_eq!((rows[0].0, rows[1].0), ('l', '1'), "{words}");
        assert_eq!(
            (rows[0].1, rows[1].1),
            (bytes, bytes),
            "{words}: {ended:#?}"
        );
    }
    let ended = client(port, "-f %l|%n|%9b 127.0.0.1 -f %b,%c").done();
    assert_eq!(ended.stdout.lines().next(), Some("l4096|2048|  8388608"));
    assert!(
        ended
            .stdout
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("18388608,"),
        "{ended:#?}"
    );
    server.still_serves();
}

fn the_program_itself_waits_for_clients_with_i() {
    let port = free_port();
    let server = Running::start(&mut caudal(["nttcp", "-i", "-v", "-p", &port.to_string()]));
    server.line_with("waiting on port");
    let ended = client(port, "-n10 127.0.0.1").done();
    assert_eq!(ended.stdout.lines().count(), 2, "{ended:#?}");
    server.signal("INT");
    assert_eq!(server.wait(SOON).code, Some(0));
}

fn lies_and_silence_cost_the_liar_only() {
    let (server, port) = serve("--idle-timeout 2s");
    for (line, word) in [
        ("nttcp@-r@-l4294967295@-n2\n", "4294967295"),
        ("nttcp@-r@-n-1\n", "-1"),
        ("nttcp@-i\n", "not done over a connection"),
        ("nttcp@-m@-u\n", "-m of nttcp is not here"),
        ("nttcp@-f@%s%s%n\n", "%s%s%n"),
        ("GET / HTTP/1.0\n", "words of nttcp"),
        ("nttcp@\u{0}\n", "no option"),
    ] {
        let mut hand = RawClient::asks(port, line);
        let said = hand.hears();
        assert!(
            said.starts_with("nttcp-1: ") && said.contains(word),
            "{line:?}: {said:?}"
        );
        assert_eq!(hand.hears(), "");
    }
    // A line without an end, longer than any.
    let mut hand = RawClient::asks(port, &"nttcp@-u".repeat(400));
    assert!(hand.hears().contains("longer than 1023"));
    // A port of somebody's service, or none at all.
    for (named, word) in [
        ("dataport: 22\n", "belongs to a service"),
        ("dataport: -1\n", "no port"),
        ("hello\n", "was expected"),
    ] {
        let mut hand = RawClient::asks(port, "nttcp@-t@-N1\n");
        hand.control.get_mut().write_all(named.as_bytes()).unwrap();
        let said = hand.hears();
        assert!(said.contains(word), "{named:?}: {said:?}");
    }
    // A data connection that never comes, one that comes and says nothing, and one that says nothing at all.
    let mut never = RawClient::asks(port, "nttcp@-r@-N1\n");
    let _ = never.data_port();
    let mut silent = RawClient::asks(port, "nttcp@-r@-N1\n");
    let held = TcpStream::connect(("127.0.0.1", silent.data_port())).unwrap();
    let silent_clients = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let ended = client(port, "-n10 127.0.0.1").done();
    assert_eq!(ended.stdout.lines().count(), 2, "{ended:#?}");
    assert!(never.hears().contains("no data connection was made"));
    assert!(silent.hears().starts_with("nttcp-1: "));
    drop((held, silent_clients));
    server.still_serves();
}

fn our_own_tests_run_with_a_server_of_nttcp() {
    let (_server, port) = serve("");
    let says = |words: &str| {
        let words = format!("{words} 127.0.0.1 --as nttcp --no-store -p {port}");
        run(&mut caudal(words.split_whitespace()), SOON)
    };
    let up = says("tcp -n 1M --json").done().json();
    assert_eq!(up["flows"][0]["receiver"]["bytes"], 1_000_000, "{up}");
    assert_eq!(up["environment"]["server"]["tool"], "nttcp");
    let timed = says("tcp -t 0.4 --json").done().json();
    assert!(
        timed["summary"]["goodput_bps"]["mean"].as_f64() > Some(1e6),
        "{timed}"
    );
    let down = says("tcp -n 1M -R --json").done().json();
    assert_eq!(down["flows"][0]["receiver"]["bytes"], 1_000_000, "{down}");
    let datagrams = says("udp -t 0.4 -b 5M --json").done().json();
    assert_eq!(datagrams["flows"][0]["receiver"]["lost"], 0, "{datagrams}");
    for (words, named) in [("-P 2", "--parallel"), ("--mptcp", "--mptcp")] {
        says(&format!("tcp {words}")).failed(4, &["nttcp does not support", named]);
    }
}

fn what_cannot_be_is_refused_by_name() {
    for (words, said) in [
        ("-c host", "nttcp: option -c of nttcp is not here"),
        ("", "nttcp: a host is needed, or -i to wait for clients"),
        (
            "-l0 host",
            "nttcp: option -l: \"0\" is not a number of bytes below 10^9",
        ),
    ] {
        let ended = run(caudal(["nttcp"]).args(words.split_whitespace()), SOON);
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert_eq!(ended.stderr.lines().next(), Some(said), "{ended:#?}");
    }
}

/// What a verbose nttcp 1.47 tells on its control connection before the transfer.
const NOTES: &str = "nttcp-1: nttcp, version 1.47\nnttcp-1: Pid=7, InetPeer= 127.0.0.1\nnttcp-1: Optionline=\"nttcp@-r@-v\"\n";

fn a_verbose_server_is_understood_in_both_directions() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        // It receives.
        let (stream, _) = listener.accept().unwrap();
        let mut control = BufReader::new(stream);
        control.read_line(&mut String::new()).unwrap();
        let data = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = data.local_addr().unwrap().port();
        let named = format!("{NOTES}dataport: {port}\n");
        control.get_mut().write_all(named.as_bytes()).unwrap();
        let (mut stream, _) = data.accept().unwrap();
        let bytes = stream.read_to_end(&mut Vec::new()).unwrap();
        let row = format!(
            "1{bytes:9}    0.71    0.04     93.9984   1598.0964    5794   8115.57  137975.4\n"
        );
        let end = format!("{row}nttcp-1: exiting\n\n");
        control.get_mut().write_all(end.as_bytes()).unwrap();
        drop(control);
        // It sends.
        let (stream, _) = listener.accept().unwrap();
        let mut control = BufReader::new(stream);
        control.read_line(&mut String::new()).unwrap();
        control.get_mut().write_all(NOTES.as_bytes()).unwrap();
        let mut line = String::new();
        control.read_line(&mut line).unwrap();
        let port: u16 = line
            .trim()
            .strip_prefix("dataport: ")
            .unwrap()
            .parse()
            .unwrap();
        // Its words arrive before its connection.
        thread::sleep(Duration::from_millis(50));
        let mut data = TcpStream::connect(("127.0.0.1", port)).unwrap();
        data.write_all(&[0; 4096]).unwrap();
        drop(data);
        control.get_mut().write_all(end.as_bytes()).unwrap();
    });
    for words in ["-v -n1 127.0.0.1", "-v -r -n1 127.0.0.1"] {
        let ended = client(port, words).done();
        assert!(
            ended.stdout.contains("nttcp-1: Pid=7"),
            "{words}: {ended:#?}"
        );
        assert!(
            ended.stdout.contains("nttcp-1: exiting"),
            "{words}: {ended:#?}"
        );
    }
    server.join().unwrap();
}

fn a_verbose_client_is_told_when_the_server_has_ended() {
    let (server, port) = serve("");
    let mut hand = RawClient::asks(port, "nttcp@-r@-l4096@-n1@-v@-N1\n");
    let mut data = TcpStream::connect(("127.0.0.1", hand.data_port())).unwrap();
    data.write_all(&[0; 4096]).unwrap();
    drop(data);
    assert_eq!(row(&hand.hears()).1, 4096);
    assert_eq!(
        (hand.hears().as_str(), hand.hears().as_str()),
        ("nttcp-1: exiting\n", "\n")
    );
    server.still_serves();
}
