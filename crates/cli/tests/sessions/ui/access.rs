//! Attacks on a web server that any page and any user of the machine can reach.

use crate::support::served_ui::ServedUi;
use crate::support::{SOON, caudal, run};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

trials! {
    a_name_that_is_not_the_servers_is_not_answered,
    a_page_of_another_origin_is_not_answered,
    the_api_takes_its_token_in_a_header_alone,
    pages_may_load_nothing_from_elsewhere,
    a_form_starts_tests_and_nothing_else,
    ids_are_no_paths,
    bodies_are_bounded_and_json,
    connections_that_ask_nothing_give_way,
    an_interrupt_ends_what_runs,
    the_address_is_for_this_user_alone,
    a_port_that_is_taken_is_said_so,
    nothing_beyond_loopback_is_served_without_a_password_and_tls,
}

fn a_name_that_is_not_the_servers_is_not_answered() {
    let ui = ServedUi::start();
    let bearer = format!("Authorization: Bearer {}\r\n", ui.token);
    // A name of somebody else that resolves to 127.0.0.1: DNS rebinding.
    for host in [
        "evil.example",
        "evil.example:80",
        &format!("evil.example:{}", ui.port),
    ] {
        let fields = format!("Host: {host}\r\n{bearer}");
        for path in ["/", "/api/jobs"] {
            let (status, _) = ui.send(&format!("GET {path}"), &fields, b"");
            assert_eq!(status, 421, "{host} {path}");
        }
    }
    let (status, _) = ui.send("GET /", "", b"");
    assert!(status == 400 || status == 421, "{status}");
    let fields = format!("Host: localhost:{}\r\n{bearer}", ui.port);
    assert_eq!(ui.send("GET /api/jobs", &fields, b"").0, 200);
}

fn a_page_of_another_origin_is_not_answered() {
    let ui = ServedUi::start();
    let host = format!("Host: 127.0.0.1:{}\r\n", ui.port);
    for foreign in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: http://localhost:1\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        let fields = format!("{host}Authorization: Bearer {}\r\n{foreign}", ui.token);
        for line in ["GET /", "GET /api/jobs", "POST /api/tests"] {
            let (status, head) = ui.send(line, &fields, b"{}");
            assert_eq!(status, 403, "{foreign}{line}");
            assert!(!head.to_lowercase().contains("access-control"), "{head}");
        }
    }
    let preflight =
        format!("{host}Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n");
    assert_eq!(ui.send("OPTIONS /api/tests", &preflight, b"").0, 403);
}

fn the_api_takes_its_token_in_a_header_alone() {
    let ui = ServedUi::start();
    let host = format!("Host: 127.0.0.1:{}\r\n", ui.port);
    let token = &ui.token;
    for (line, fields) in [
        ("GET /api/jobs".to_owned(), String::new()),
        (format!("GET /api/jobs?t={token}"), String::new()),
        ("GET /api/jobs".to_owned(), format!("Cookie: t={token}\r\n")),
        (
            "GET /api/jobs".to_owned(),
            "Authorization: Bearer 0\r\n".to_owned(),
        ),
        (
            "GET /api/jobs".to_owned(),
            format!("Authorization: Bearer {token}0\r\n"),
        ),
    ] {
        assert_eq!(
            ui.send(&line, &format!("{host}{fields}"), b"").0,
            401,
            "{line} {fields}"
        );
    }
    assert_eq!(ui.send("GET /api/jobs", &ui.own(), b"").0, 200);
    // The page itself has no secret.
    let (status, page) = ui.send("GET /", &host, b"");
    assert!(status == 200 && !page.contains(token.as_str()));
}

fn pages_may_load_nothing_from_elsewhere() {
    let ui = ServedUi::start();
    for path in ["/", "/app.js", "/api/jobs", "/missing"] {
        let (_, head) = ui.send(&format!("GET {path}"), &ui.own(), b"");
        let head = head.to_lowercase();
        for field in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(field), "{path}: {field}: {head}");
        }
    }
}

fn a_form_starts_tests_and_nothing_else() {
    let ui = ServedUi::start();
    let starts = |body: Value| ui.asks("POST /api/tests", &body);
    for wrong in [
        json!({"command": "serve", "values": {}}),
        json!({"command": "iperf3", "values": {}}),
        json!({"command": "tcp", "values": {"output": "/tmp/x"}}),
        json!({"command": "tcp", "values": {"host": "--output=/tmp/x"}}),
        json!({"command": "tcp", "values": {"time": "nonsense"}}),
        json!({"command": "tcp", "values": {"store": "/tmp/x"}}),
        json!({"command": "tcp", "values": {}, "lab": {"name": "--x", "host": "h1"}}),
        json!({"command": "tcp", "values": {}, "lab": {"name": "x", "host": "$(id)"}}),
    ] {
        let (status, answer) = starts(wrong.clone());
        assert!((400..500).contains(&status), "{wrong}: {status} {answer}");
        assert!(
            answer["why"].as_str().is_some_and(|why| !why.is_empty()),
            "{wrong}: {answer}"
        );
    }
    assert_eq!(ui.asks("GET /api/jobs", &Value::Null).1, json!([]));
    // What a shell would take apart is one word here.
    let (_, line) = ui.asks(
        "POST /api/line",
        &json!({"command": "tcp", "values": {"host": "a b; id", "reverse": true}}),
    );
    assert_eq!(line["line"], "caudal tcp 'a b; id' --reverse");
}

fn ids_are_no_paths() {
    let ui = ServedUi::start();
    let unknown = "0".repeat(32);
    for path in [
        "/api/runs/..%2f..%2fetc%2fpasswd".to_owned(),
        "/api/runs/last".to_owned(),
        format!("/api/runs/{unknown}/export/%2e%2e"),
        "/api/runs/--output=x/text".to_owned(),
        "/api/jobs/99".to_owned(),
        "/api/studies/text/..%2fx".to_owned(),
        "/api/studies/text/--help".to_owned(),
        "/api/compare?a=/etc/passwd&b=last".to_owned(),
        "/api/labs/--help".to_owned(),
        "/../../etc/passwd".to_owned(),
    ] {
        let (status, _) = ui.send(&format!("GET {path}"), &ui.own(), b"");
        assert!((400..500).contains(&status), "{path}: {status}");
    }
}

fn bodies_are_bounded_and_json() {
    let ui = ServedUi::start();
    let json = format!("{}Content-Type: application/json\r\n", ui.own());
    let large = format!("{{\"command\":\"{}\"}}", "x".repeat(100_000));
    assert_eq!(ui.send("POST /api/tests", &json, large.as_bytes()).0, 413);
    for nonsense in ["", "{", "[]", "{\"command\":1}", "\u{0}"] {
        let (status, _) = ui.send("POST /api/tests", &json, nonsense.as_bytes());
        assert!((400..500).contains(&status), "{nonsense:?}: {status}");
    }
    // A form that a foreign page could send without asking is none.
    let form = format!("{}Content-Type: text/plain\r\n", ui.own());
    let body = json!({"command": "tcp", "values": {}}).to_string();
    assert_eq!(ui.send("POST /api/tests", &form, body.as_bytes()).0, 415);
    let junk = vec![0xFF; 10_000];
    let (status, answer) = ui.send("POST /api/import", &ui.own(), &junk);
    assert_eq!(status, 422, "{answer}");
}

fn connections_that_ask_nothing_give_way() {
    let ui = ServedUi::start();
    let silent: Vec<TcpStream> = (0..400)
        .filter_map(|nth| {
            let mut stream = TcpStream::connect(("127.0.0.1", ui.port)).ok()?;
            if nth % 2 == 0 {
                stream.write_all(b"GET / HTTP/1.1\r\nX: ").ok()?;
            }
            Some(stream)
        })
        .collect();
    assert!(silent.len() > 200);
    assert_eq!(ui.send("GET /api/jobs", &ui.own(), b"").0, 200);
}

fn an_interrupt_ends_what_runs() {
    let ui = ServedUi::start();
    let (status, job) = ui.asks(
        "POST /api/tests",
        &json!({"command": "tcp", "values": {"time": "60s", "rate": "10M"}}),
    );
    assert_eq!((status, &job["state"]), (201, &json!("running")), "{job}");
    ui.running.signal("INT");
    let until = Instant::now() + SOON;
    let line = "tcp --time=60s --rate=10M --json-stream";
    loop {
        let listed = run(std::process::Command::new("pgrep").args(["-f", line]), SOON);
        let is_over = std::net::TcpStream::connect(("127.0.0.1", ui.port)).is_err();
        if is_over && listed.stdout.is_empty() {
            break;
        }
        assert!(Instant::now() < until, "{listed:?}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

fn the_address_is_for_this_user_alone() {
    let ui = ServedUi::start();
    let directory = std::env::temp_dir();
    let begin = format!("caudal-ui-{}-", ui.port);
    let file = std::fs::read_dir(directory)
        .unwrap()
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_string_lossy().starts_with(&begin))
        .unwrap();
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

fn a_port_that_is_taken_is_said_so() {
    let ui = ServedUi::start();
    let ended = run(&mut caudal(["ui", "-p", &ui.port.to_string()]), SOON);
    assert_eq!(ended.code, Some(4), "{ended:#?}");
    assert!(
        ended.stderr.contains("choose another port with -p"),
        "{ended:#?}"
    );
}

fn nothing_beyond_loopback_is_served_without_a_password_and_tls() {
    for words in [
        "ui -p 0 --listen 0.0.0.0",
        "ui -p 0 --listen :: --password-file x",
        "ui -p 0 --listen 127.0.0.1 --tls-cert x --tls-key y",
        "ui -p 0 --listen 127.0.0.1 --password-file /dev/null --tls-cert /dev/null --tls-key /dev/null",
        "ui -p 0 --password-file x",
    ] {
        let ended = run(&mut caudal(words.split(' ')), SOON);
        assert_eq!(ended.code, Some(2), "{words}: {ended:#?}");
        assert!(ended.stderr.starts_with("caudal: "), "{words}: {ended:#?}");
    }
}
