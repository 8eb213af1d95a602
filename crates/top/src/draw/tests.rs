//! Screens of several sizes, compared with those in `tests/screens`; `CAUDAL_WRITE_SCREENS=1` writes them anew.

use super::{Theme, draw_server, draw_test, draw_text, make_plain};
use crate::model::{Model, ServerModel, ShownSession};
use crate::state::{Key, ViewState};
use caudal_core::event::Event;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use std::path::Path;

const PLAIN: Theme = Theme {
    has_color: false,
    is_unicode: false,
};
const FULL: Theme = Theme {
    has_color: true,
    is_unicode: true,
};

/// The screen of so many columns and rows that `draw` fills.
fn screen((columns, rows): (u16, u16), draw: impl Fn(&mut Buffer, Rect), theme: Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal
        .draw(|frame| {
            let area = frame.area();
            draw(frame.buffer_mut(), area);
            make_plain(frame.buffer_mut(), theme);
        })
        .unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    let row = |cells: &[ratatui::buffer::Cell]| {
        let text: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned() + "\n"
    };
    rows.map(row).collect()
}

/// Compares a screen with the one of this name.
fn holds(name: &str, buffer: &Buffer) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/screens/{name}.txt"));
    let shown = text(buffer);
    if std::env::var_os("CAUDAL_WRITE_SCREENS").is_some() {
        std::fs::write(&path, &shown).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(shown == expected, "{name}\n{shown}");
}

fn event(value: serde_json::Value) -> Event {
    serde_json::from_value(value).unwrap()
}

/// A test of TCP in both directions that has come to its sixth second.
fn tcp_test() -> Model {
    let mut model = Model::new("TCP with 192.0.2.1:5201, both directions, 1 flow for 10 s");
    model.is_live = true;
    model.event(&event(serde_json::json!({
        "event": "agreed", "changed": [],
        "plan": {"kind": "tcp", "peer": "192.0.2.1:5201", "transport": "tcp", "directions": "both", "parallel": 1,
                 "end": {"time_ns": 10_000_000_000_u64}, "interval_ns": 1_000_000_000, "omit": "nothing",
                 "rate": "max", "length": 131_072, "window": null, "mss": null, "congestion": null,
                 "no_delay": false, "dscp": null, "mptcp": false, "discard": false, "zero_copy": false,
                 "verify": false, "same_machine": false},
    })));
    for second in 0..6_u32 {
        let flow = |id: u32, direction: &str, bps: f64, rtt_us: u32, again: u64| {
            serde_json::json!({
                "id": id, "direction": direction, "start_s": second, "end_s": second + 1,
                "bytes": (bps / 8.0) as u64, "goodput_bps": bps,
                "tcp": {"rtt_us": rtt_us, "cwnd_bytes": 120_000 + 1000 * second, "retransmitted_bytes": again,
                        "busy_us": 1_000_000, "receiver_window_limited_us": 0, "send_buffer_limited_us": 0},
            })
        };
        let again = if second == 2 { 60_000 } else { 0 };
        model.event(&event(serde_json::json!({
            "event": "interval", "repeat": 1,
            "flows": [
                flow(0, "up", 40e6 + 1e6 * f64::from(second), 21_000 + 900 * second, again),
                flow(1, "down", 9e6, 30_000, 0),
            ],
        })));
    }
    model
}

fn drawn(size: (u16, u16), model: &Model, state: &ViewState, theme: Theme) -> Buffer {
    screen(
        size,
        |buffer, area| draw_test(buffer, area, model, state),
        theme,
    )
}

#[test]
fn a_test_is_shown_on_screens_of_any_size() {
    let (model, state) = (tcp_test(), ViewState::default());
    for size in [(50, 12), (60, 12), (80, 24), (100, 30), (120, 40)] {
        let name = format!("tcp-{}x{}", size.0, size.1);
        holds(&name, &drawn(size, &model, &state, FULL));
    }
}

#[test]
fn a_terminal_of_ascii_without_colours_shows_the_same() {
    let buffer = drawn((80, 24), &tcp_test(), &ViewState::default(), PLAIN);
    assert!(text(&buffer).is_ascii());
    let has_color =
        |cell: &ratatui::buffer::Cell| cell.fg != Color::Reset || cell.bg != Color::Reset;
    assert!(!buffer.content.iter().any(has_color));
    // Bold and reversed text stay: they are no colours.
    let has = |modifier| {
        buffer
            .content
            .iter()
            .any(|cell| cell.modifier.contains(modifier))
    };
    assert!(has(Modifier::BOLD) && has(Modifier::REVERSED));
    holds("tcp-80x24-ascii", &buffer);
}

#[test]
fn directions_are_told_apart_by_colour_and_by_name() {
    let buffer = drawn((120, 40), &tcp_test(), &ViewState::default(), FULL);
    for color in [Color::Blue, Color::Green, Color::Cyan, Color::Red] {
        assert!(
            buffer.content.iter().any(|cell| cell.fg == color),
            "{color}"
        );
    }
    let shown = text(&buffer);
    for name in ["download", "upload", "round-trip time", "retransmitted"] {
        assert!(shown.lines().any(|line| line.trim() == name), "{name}");
    }
}

#[test]
fn keys_change_what_is_shown() {
    let model = tcp_test();
    let shown = |keys: &[Key]| {
        let mut state = ViewState::default();
        for key in keys {
            state.key(*key, &model);
        }
        text(&drawn((100, 30), &model, &state, FULL))
    };
    assert!(shown(&[]).contains("45 Mbit/s"));
    assert!(shown(&[Key::Char('u')]).contains("5.625 MB/s"));
    assert!(shown(&[Key::Char(' ')]).contains("PAUSED  6.0 of 10.0 s"));
    let back = shown(&[Key::Left, Key::Left]);
    assert!(back.contains("PAUSED  4.0 of 10.0 s") && back.contains("upload 43 Mbit/s"));
    let large = shown(&[Key::Char('e'), Key::Char('e')]);
    assert!(large.contains("round-trip time") && !large.contains("limited by  "));
    assert!(!large.lines().any(|line| line.trim() == "upload"));
    assert!(shown(&[Key::Char('?')]).contains("any key closes this"));
    assert!(shown(&[Key::Char('+')]).contains("3.0 s"));
}

#[test]
fn marks_are_lines_through_the_panels() {
    let mut model = tcp_test();
    model.mark(3.5);
    let shown = text(&drawn((100, 30), &model, &ViewState::default(), FULL));
    assert!(shown.contains('┃'));
}

#[test]
fn names_of_peers_reach_the_screen_escaped() {
    let model = Model::new("TCP with \u{1b}[31mevil\u{7}\nnext");
    let shown = text(&drawn((100, 30), &model, &ViewState::default(), FULL));
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'));
    assert!(shown.lines().next().unwrap().contains("evil"));
}

#[test]
fn every_size_can_be_drawn_at_every_state() {
    let model = tcp_test();
    let empty = Model::new("nothing yet");
    for columns in [1, 2, 13, 14, 59, 60, 61, 79, 99, 100, 250] {
        for rows in [1, 2, 11, 12, 13, 23, 24, 60] {
            for keys in [
                vec![],
                vec![Key::Char('e')],
                vec![Key::Char('?')],
                vec![Key::Home],
            ] {
                for model in [&model, &empty] {
                    let mut state = ViewState::default();
                    for key in keys.clone() {
                        state.key(key, model);
                    }
                    drawn((columns, rows), model, &state, FULL);
                }
            }
        }
    }
}

#[test]
fn hops_of_a_path_are_rows() {
    let mut model = Model::new("caudal path far.example");
    let hop = |ttl: u8, address: &str, unanswered: u64| {
        serde_json::json!({
            "ttl": ttl, "answering": "answers", "address": address, "probes": 10, "unanswered": unanswered,
            "rtt_ms": {"n": 10, "min": 1.0, "mean": 2.0, "p50": 2.0, "max": 3.0, "mean_low": 1.5, "mean_high": 2.5,
                       "confidence": 0.95, "method": "batch_means_t", "mean_trusted": true},
        })
    };
    let round = serde_json::json!({
        "event": "path_round",
        "round": {"at_s": 3.0, "phase": "hops", "remaining_s": 12.0, "links": [],
                  "hops": [hop(1, "192.0.2.1", 0), hop(2, "198.51.100.7", 3)]},
    });
    model.event(&event(round));
    let buffer = drawn((100, 24), &model, &ViewState::default(), FULL);
    holds("path-100x24", &buffer);
}

#[test]
fn a_server_shows_its_sessions() {
    let mut server = ServerModel {
        headline: "caudal serve on [::]:5201, up 5 min".to_owned(),
        completed: 12,
        refused: 1,
        ..ServerModel::default()
    };
    for number in 1..4_u32 {
        server.read(ShownSession {
            name: format!("caudal {number}"),
            peer: format!("192.0.2.{number}:40000"),
            test: "tcp download".to_owned(),
            received_bps: [0.0].into(),
            sent_bps: [f64::from(number) * 1e8].into(),
            elapsed_s: 4.0,
            is_over: false,
        });
    }
    server.keep_running(&["caudal 1".to_owned(), "caudal 3".to_owned()]);
    let draw =
        |buffer: &mut Buffer, area| draw_server(buffer, area, &server, &ViewState::default());
    holds("server-110x24", &screen((110, 24), draw, FULL));
}

#[test]
fn a_lab_that_is_larger_than_the_screen_is_scrolled() {
    let lines: Vec<String> = (0..50).map(|number| format!("line {number}")).collect();
    let state = ViewState {
        first_row: 10,
        ..ViewState::default()
    };
    let draw = |buffer: &mut Buffer, area| draw_text(buffer, area, ("lab", &lines), &state);
    let shown = text(&screen((80, 12), draw, FULL));
    assert!(shown.contains("line 10\n") && !shown.contains("line 9\n"));
    assert!(shown.contains("31 more lines below"));
}
