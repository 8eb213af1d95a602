//! What is answered to plain requests.

use super::client::{answer, get};
use crate::support::Serve;
use std::os::unix::fs::PermissionsExt;

trials! {
    the_page_loads_its_own_files_only,
    head_has_no_content,
    what_is_not_there_is_not_found,
    browsers_are_not_answered_unless_asked_for,
    browsers_are_not_answered_where_clients_must_authenticate_themselves,
    one_port_serves_browsers_and_everybody_else,
}

fn the_page_loads_its_own_files_only() {
    let server = Serve::start("--web");
    let (head, body) = get(&server, "/");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for field in [
        "Content-Type: text/html; charset=utf-8",
        "Content-Security-Policy: default-src 'none'; script-src 'self'",
        "frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cross-Origin-Resource-Policy: same-origin",
    ] {
        assert!(head.contains(field), "{field}: {head}");
    }
    assert!(!head.contains("Access-Control-Allow-Origin"), "{head}");
    let files = body.split('"').filter(|text| text.starts_with('/'));
    let files: Vec<&str> = files.collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let (head, body) = get(&server, file);
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\n") && !body.is_empty(),
            "{file}"
        );
    }
}

fn head_has_no_content() {
    let server = Serve::start("--web");
    let (head, body) = answer(&server, b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.1 200 OK") && body.is_empty(),
        "{head}"
    );
}

fn what_is_not_there_is_not_found() {
    let server = Serve::start("--web");
    let unknown = "0".repeat(32);
    for path in [
        "/other".to_owned(),
        "//".to_owned(),
        "/r/../../etc/passwd".to_owned(),
        format!("/r/{unknown}"),
        format!("/s/{unknown}/down"),
    ] {
        let (head, _) = get(&server, &path);
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
    }
    let (head, _) = get(&server, "/test");
    assert!(head.starts_with("HTTP/1.1 426"), "{head}");
}

fn browsers_are_not_answered_unless_asked_for() {
    let server = Serve::start("");
    let (head, body) = get(&server, "/");
    assert_eq!(head + &body, "");
    server.still_serves();
}

fn browsers_are_not_answered_where_clients_must_authenticate_themselves() {
    let tokens = std::env::temp_dir().join(format!("caudal-web-tokens-{}", std::process::id()));
    std::fs::write(&tokens, "0123456789abcdef\n").unwrap();
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&tokens, mode).unwrap();
    let words = format!("--web --token-file {}", tokens.display());
    let server = Serve::start(&words);
    let line = server.running.line_with("without web");
    assert!(line.contains("--allow-unauthenticated web"), "{line}");
    let (head, _) = get(&server, "/");
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    let exempt = Serve::start(&format!("{words} --allow-unauthenticated web"));
    let (head, _) = get(&exempt, "/");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let _ = std::fs::remove_file(tokens);
}

fn one_port_serves_browsers_and_everybody_else() {
    let server = Serve::start("--web");
    assert!(get(&server, "/").0.starts_with("HTTP/1.1 200"));
    server.still_serves();
}
