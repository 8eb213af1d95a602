//! Packets of STAMP that a reflector, which is one thread, answers in a second.
//!
//! `cargo bench -p caudal-foreign --bench reflector`. A sender on loopback sends as fast as it can, and reads no replies: the kernel carries
//! each packet on the processor of the one that sends it, so that of the reflector has its replies to carry as well.

use caudal_foreign::stamp::{ReflectorOptions, StampReflectorServer};
use caudal_sys::udp::GsoSender;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(3);

fn main() {
    for (name, length, is_stateless) in [
        ("44 B, stateless", 44, true),
        ("44 B, with state", 44, false),
        ("60 B, with state, zeros as padding", 60, false),
        ("1472 B, with state", 1472, false),
    ] {
        let reflector = StampReflectorServer::start(ReflectorOptions {
            bind: Some([127, 0, 0, 1].into()),
            scope_id: 0,
            device: None,
            port: 0,
            allow: Vec::new(),
            key: None,
            is_stateless,
            answers_short: false,
            per_source: u32::MAX,
        });
        let reflector = match reflector {
            Ok(reflector) => reflector,
            Err(error) => panic!("{error}"),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let sender = {
            let (stop, to) = (Arc::clone(&stop), reflector.local());
            thread::spawn(move || flood(to, length, &stop))
        };
        thread::sleep(Duration::from_millis(300));
        let (before, began) = (reflector.counts(), Instant::now());
        thread::sleep(TIME);
        let (after, took) = (reflector.counts(), began.elapsed());
        stop.store(true, Ordering::Relaxed);
        let answered = (after.answered - before.answered) as f64;
        println!(
            "{name}: {:.0} packets a second",
            answered / took.as_secs_f64()
        );
        let _ = sender.join();
    }
}

/// Sends zeros as fast as the kernel takes them.
fn flood(to: std::net::SocketAddr, length: u16, stop: &AtomicBool) {
    let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else {
        return;
    };
    if socket.connect(to).is_err() {
        return;
    }
    let sender = GsoSender::new(&socket);
    let segments = usize::from(sender.max_segments())
        .min(60_000 / usize::from(length))
        .max(1);
    let payload = vec![0; usize::from(length) * segments];
    while !stop.load(Ordering::Relaxed) {
        let _ = sender.send_segments(&socket, &payload, length);
    }
}
