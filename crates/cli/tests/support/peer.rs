//! A peer that speaks the protocol by hand: as far as it likes, and then anything.

use caudal_wire::frame::{self, Decoder};
use caudal_wire::preamble::{ANSWER_BYTES, PREAMBLE_BYTES, PreambleAnswer, Purpose};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// One end of a control connection, moved by hand.
pub struct RawClient {
    pub stream: TcpStream,
    decoder: Decoder,
}

impl RawClient {
    pub fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(super::SOON)).unwrap();
        Self {
            stream,
            decoder: Decoder::default(),
        }
    }

    /// Connects as a client that has said hello and was welcomed.
    pub fn welcomed(port: u16) -> Self {
        Self::welcomed_from("127.0.0.1", port)
    }

    /// The same from a loopback address.
    pub fn welcomed_from(source: &str, port: u16) -> Self {
        let mut hand = Self::greeted_over(connect_from(source, port));
        hand.say(&json!({"type": "hello", "host": {"tool": "by hand"}}));
        assert_eq!(hand.hear_other_than_alive()["type"], "welcome");
        hand
    }

    /// Connects as a client whose preamble was answered.
    pub fn greeted(port: u16) -> Self {
        Self::greeted_over(TcpStream::connect(("127.0.0.1", port)).unwrap())
    }

    fn greeted_over(mut stream: TcpStream) -> Self {
        stream.write_all(&Purpose::Control.encode()).unwrap();
        let mut hand = Self::over(stream);
        let mut answer = [0; ANSWER_BYTES];
        hand.stream.read_exact(&mut answer).unwrap();
        assert_eq!(PreambleAnswer::decode(&answer), Ok(PreambleAnswer::Welcome));
        hand
    }

    pub fn say(&mut self, message: &Value) {
        // A peer that has hung up is one of the things under test.
        let _ = self.stream.write_all(&frame::encode(message).unwrap());
    }

    /// The next message; `None` when the other end has gone, or said nothing for a long time.
    pub fn hear(&mut self) -> Option<Value> {
        let mut chunk = [0; 4096];
        loop {
            if let Some(message) = self.decoder.next_message().unwrap() {
                return Some(message);
            }
            match self.stream.read(&mut chunk) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.decoder.feed(&chunk[..count]),
            }
        }
    }

    pub fn hear_other_than_alive(&mut self) -> Value {
        loop {
            match self.hear() {
                Some(message) if message["type"] == "alive" => {}
                Some(message) => return message,
                None => return Value::Null,
            }
        }
    }

    /// Reads and forgets until the other end has gone; how long that took.
    pub fn until_gone(&mut self) -> Duration {
        let began = Instant::now();
        let mut chunk = [0; 4096];
        while self.stream.read(&mut chunk).is_ok_and(|count| count > 0) {}
        began.elapsed()
    }
}

/// A plan as a client offers it: one TCP flow upward for 2 s.
pub fn plan() -> Value {
    json!({
        "kind": "traffic", "transport": "tcp", "directions": "up", "parallel": 1,
        "end": {"time_ns": 2_000_000_000_u64}, "interval_ns": 1_000_000_000_u64, "omit": "nothing",
        "rate": "max", "length": 1000, "window": null, "mss": null, "congestion": null,
        "no_delay": false, "dscp": null, "mptcp": false, "discard": false, "zero_copy": false,
        "verify": false, "same_machine": false
    })
}

/// A connection from a loopback address to a server on 127.0.0.1.
pub fn connect_from(source: &str, port: u16) -> TcpStream {
    use socket2::{Domain, Socket, Type};
    let address = |text: String| text.parse::<std::net::SocketAddr>().unwrap().into();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&address(format!("{source}:0"))).unwrap();
    socket
        .connect(&address(format!("127.0.0.1:{port}")))
        .unwrap();
    socket.into()
}

/// Something that listens and treats every connection in one way; gone when dropped.
pub struct Fake {
    pub port: u16,
    over: Arc<AtomicBool>,
}

impl Fake {
    /// Hands every connection to `treat`, in a thread of its own.
    pub fn start(treat: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let over = Arc::new(AtomicBool::new(false));
        let (stop, treat) = (Arc::clone(&over), Arc::new(treat));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let treat = Arc::clone(&treat);
                thread::spawn(move || treat(stream.unwrap()));
            }
        });
        Self { port, over }
    }

    /// A server by hand that goes along up to a step of the dialogue, and there does `instead`.
    pub fn server(step: Step, instead: Instead) -> Self {
        Self::start(move |stream| serve(stream, step, instead))
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// The steps of a server's side of the dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Preamble,
    Welcome,
    Pong,
    Accept,
    Attach,
    Ready,
    Started,
    Finish,
}

pub const STEPS: [Step; 8] = [
    Step::Preamble,
    Step::Welcome,
    Step::Pong,
    Step::Accept,
    Step::Attach,
    Step::Ready,
    Step::Started,
    Step::Finish,
];

/// What is done instead of the step that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    Nothing,
    Close,
    Garbage,
    TwoGigabytes,
    AnotherMessage,
    /// Signs of life, for ever, and nothing else.
    Chatter,
    /// Numbers at the ends of their ranges in messages of the right form.
    Extremes,
    /// What is due, but long after what follows it.
    Late,
}

fn misbehave(hand: &mut RawClient, step: Step, instead: Instead) {
    match instead {
        Instead::Nothing | Instead::Late => {}
        Instead::Close => return,
        Instead::Garbage => {
            let _ = hand
                .stream
                .write_all(&[0, 0, 0, 6, b'{', 0xff, 0, b'[', b'}', b'"', 1, 2, 3]);
        }
        Instead::TwoGigabytes => {
            let _ = hand.stream.write_all(&0x8000_0000_u32.to_be_bytes());
        }
        Instead::AnotherMessage => hand.say(&json!({"type": "welcome", "host": {}})),
        Instead::Chatter => {
            let until = Instant::now() + super::SOON;
            while Instant::now() < until {
                if hand
                    .stream
                    .write_all(&frame::encode(&json!({"type": "alive"})).unwrap())
                    .is_err()
                {
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        Instead::Extremes => {
            let huge = u64::MAX;
            let tcp = json!({"rtt_us": u32::MAX, "cwnd_bytes": huge, "retransmits": huge, "bytes_sent": huge,
                             "bytes_acked": 0, "busy_us": huge, "mss": 0});
            match step {
                Step::Pong => {
                    hand.say(
                        &json!({"type": "pong", "t1": i64::MIN, "t2": i64::MAX, "t3": i64::MIN}),
                    );
                    hand.say(
                        &json!({"type": "pong", "t1": i64::MAX, "t2": i64::MIN, "t3": i64::MAX}),
                    );
                    hand.say(&json!({"type": "pong", "t1": 0, "t2": i64::MIN, "t3": i64::MIN}));
                }
                Step::Accept => {
                    let mut plan = plan();
                    plan["parallel"] = json!(u32::MAX);
                    plan["length"] = json!(u32::MAX);
                    hand.say(&json!({"type": "accepted", "plan": plan, "token": "0".repeat(32)}));
                }
                Step::Started | Step::Finish => {
                    hand.say(&json!({"type": "sent", "sent": [[0, huge], [7, huge]]}));
                    for tick in [0, 1, 2, huge] {
                        let receiver = json!({"receiver": {"bytes": huge, "lost": huge, "cpu_ns": huge,
                            "datagrams": huge, "socket_drops": huge, "first_ns": huge, "last_ns": huge}});
                        let sender = json!({"sender": {"bytes": huge, "cpu_ns": huge, "tcp": tcp}});
                        for counters in [receiver, sender] {
                            hand.say(&json!({"type": "samples", "samples": [
                                {"flow": 0, "tick": tick, "at_ns": huge - tick, "counters": counters}]}));
                        }
                    }
                    hand.say(&json!({"type": "finished", "usage": {"cpu_ns": huge, "wall_ns": 0, "steal_ns": huge},
                        "flows": [{"flow": 0, "granted": {"mss": 0}, "failure": "a\nb\u{1b}[2J",
                            "counters": {"receiver": {"bytes": huge, "last_ns": huge, "first_ns": 0}}}]}));
                }
                _ => {}
            }
        }
    }
    hand.until_gone();
}

fn serve(mut stream: TcpStream, step: Step, instead: Instead) {
    stream.set_read_timeout(Some(super::SOON)).unwrap();
    let mut preamble = [0; PREAMBLE_BYTES];
    if stream.read_exact(&mut preamble).is_err() {
        return;
    }
    if let Ok(Purpose::Data { .. }) = Purpose::decode(&preamble) {
        let mut hand = RawClient::over(stream);
        if step == Step::Attach && instead == Instead::Late {
            thread::sleep(Duration::from_millis(400));
        } else if step == Step::Attach {
            return misbehave(&mut hand, step, instead);
        }
        let _ = hand.stream.write_all(&PreambleAnswer::Attached.encode());
        hand.until_gone();
        return;
    }
    let mut hand = RawClient::over(stream);
    if step == Step::Preamble {
        return misbehave(&mut hand, step, instead);
    }
    let _ = hand.stream.write_all(&PreambleAnswer::Welcome.encode());
    while let Some(message) = hand.hear() {
        let now = match message["type"].as_str() {
            Some("hello") => Step::Welcome,
            Some("ping") => Step::Pong,
            Some("offer") => Step::Accept,
            Some("start") => Step::Started,
            Some("stop") => Step::Finish,
            _ => continue,
        };
        if now == step {
            return misbehave(&mut hand, step, instead);
        }
        match now {
            Step::Welcome => hand.say(&json!({"type": "welcome", "host": {"tool": "by hand"}})),
            Step::Pong => {
                let t1 = message["t1"].as_i64().unwrap();
                hand.say(&json!({"type": "pong", "t1": t1, "t2": t1, "t3": t1}));
            }
            Step::Accept => {
                hand.say(
                    &json!({"type": "accepted", "plan": message["plan"], "token": "ab".repeat(16)}),
                );
                if step == Step::Ready {
                    return misbehave(&mut hand, step, instead);
                }
                if step == Step::Attach && instead == Instead::Late {
                    hand.say(&json!({"type": "alive"}));
                } else if step == Step::Attach && message["plan"]["transport"] == "tcp" {
                    // The connection that is treated badly is another one.
                    continue;
                }
                hand.say(&json!({"type": "ready"}));
            }
            Step::Started => hand.say(&json!({"type": "started"})),
            _ => return,
        }
    }
}
