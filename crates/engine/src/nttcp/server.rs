//! The far side: does what a line asks, within limits, and answers with its row of figures.

use super::transfer::{Bounds, prepare_tcp, receive_tcp, receive_udp, send_tcp, send_udp};
use super::{Event, Tell};
use crate::error::RunError;
use crate::guests::{Guest, Guests};
use crate::socket::{self, Origin, UDP_BUFFER, plain};
use crate::stop::{Stop, reap, see_out};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::{buffers, udp as datagrams};
use caudal_wire::nttcp::{LONGEST_LINE, Request, Row, data_port, read_data_port};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a client may take to ask.
const INTRODUCTION: Duration = Duration::from_secs(10);
/// How long the data connection may take to come, as in the original.
pub(super) const DATA: Duration = Duration::from_secs(80);
/// The highest data port that is tried.
const LAST_PORT: u16 = 20_000;
/// Connections that have not said what they want, at most.
const MOST_UNDECIDED: usize = 256;
const STACK: usize = 256 << 10;
/// How long the sessions of a server that is stopped are waited for.
const SEEING_OUT: Duration = Duration::from_secs(3);

/// How a server is to behave.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The address to listen on; `None` for all.
    pub bind: Option<IpAddr>,
    /// The control port; 0 lets the kernel choose.
    pub port: u16,
    /// The most one test may send, bit/s.
    pub max_rate: Option<u64>,
    /// The longest one test may take.
    pub max_time: Option<Duration>,
    /// How long a client may do nothing.
    pub idle: Duration,
}

struct House {
    options: ServerOptions,
    port: u16,
    guests: Guests,
    tell: Tell,
    stop: Stop,
    /// Connections that have not said yet what they want.
    undecided: AtomicUsize,
}

impl House {
    fn tell(&self, peer: SocketAddr, words: String, refused: bool, moved: Option<(u64, u64)>) {
        (self.tell)(Event {
            peer: Some(peer),
            words,
            refused,
            moved,
        });
    }
}

/// A running server; stopped when dropped.
pub struct Server {
    house: Arc<House>,
    desk: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the port cannot be had, or a thread cannot be started.
    pub fn start(options: ServerOptions, guests: Guests, tell: Tell) -> Result<Self, RunError> {
        let place = format!("listening on TCP port {}", options.port);
        let (listener, local) = match options.bind {
            Some(address) => listen(address, options.port),
            None => listen(Ipv6Addr::UNSPECIFIED.into(), options.port).or_else(|cause| match cause
                .raw_os_error()
            {
                Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => {
                    listen(Ipv4Addr::UNSPECIFIED.into(), options.port)
                }
                _ => Err(cause),
            }),
        }
        .map_err(|cause| RunError::local(place, cause))?;
        let stop = Stop::new().map_err(|cause| RunError::local("opening a pipe", cause))?;
        let house = Arc::new(House {
            options,
            port: local.port(),
            guests,
            tell,
            stop,
            undecided: AtomicUsize::new(0),
        });
        let inside = Arc::clone(&house);
        let desk = thread::Builder::new()
            .name("nttcp".to_owned())
            .spawn(move || receive(&inside, &listener))
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        Ok(Self {
            house,
            desk: Some(desk),
        })
    }

    /// The control port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.house.port
    }

    /// Ends running tests, and waits for them for a moment.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.house.stop.ask();
        if let Some(desk) = self.desk.take() {
            let _ = desk.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn listen(address: IpAddr, port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let local = SocketAddr::new(address, port);
    let socket = Socket::new(
        Domain::for_address(local),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(local))?;
    socket.listen(128)?;
    let listener: TcpListener = socket.into();
    let local = listener.local_addr()?;
    Ok((listener, local))
}

fn receive(house: &Arc<House>, listener: &TcpListener) {
    let _ = listener.set_nonblocking(true);
    let mut sessions: Vec<JoinHandle<()>> = Vec::new();
    while !house.stop.is_asked() {
        let wait = Some(Duration::from_millis(500));
        if poll_readable(&[listener.as_fd(), house.stop.fd()], wait).is_err() {
            caudal_sys::clock::sleep_until(monotonic_ns() + 10_000_000);
        }
        while let Ok((stream, peer)) = listener.accept() {
            let peer = plain(peer);
            if let Err(why) = house.guests.may_enter(peer.ip()) {
                house.tell(peer, why, true, None);
                continue;
            }
            // Whoever has not said what it wants has no place yet, and cannot keep others out of one.
            if house.undecided.load(Ordering::Relaxed) >= MOST_UNDECIDED {
                house.tell(peer, "too many say nothing".to_owned(), true, None);
                continue;
            }
            house.undecided.fetch_add(1, Ordering::Relaxed);
            let inside = Arc::clone(house);
            let session = thread::Builder::new()
                .name("nttcp client".to_owned())
                .stack_size(STACK)
                .spawn(move || serve(&inside, stream, peer));
            match session {
                Ok(session) => sessions.push(session),
                Err(cause) => {
                    house.undecided.fetch_sub(1, Ordering::Relaxed);
                    house.tell(peer, format!("no thread for it: {cause}"), true, None);
                }
            }
        }
        reap(&mut sessions);
    }
    see_out(sessions, SEEING_OUT);
}

fn serve(house: &House, mut control: TcpStream, peer: SocketAddr) {
    let _ = control.set_nonblocking(false);
    let _ = control.set_nodelay(true);
    let asked = read_line(&control, INTRODUCTION, house.stop.fd());
    house.undecided.fetch_sub(1, Ordering::Relaxed);
    let admitted: Result<(Option<String>, Option<Guest>), String> = match asked {
        Ok(None) => return,
        Ok(line) => house
            .guests
            .admit(peer.ip())
            .map(|guest| (line, Some(guest))),
        Err(why) => Err(why),
    };
    let outcome = match &admitted {
        Ok((None, _)) => return,
        Ok((Some(line), _guest)) => Request::decode(line)
            .map_err(|error| error.to_string())
            .and_then(|request| {
                if request.listen || request.version || request.help {
                    return Err("it asks for what is not done over a connection".to_owned());
                }
                do_as_asked(house, &control, peer, &request).map(|row| (request, row))
            }),
        Err(why) => Err(why.clone()),
    };
    match outcome {
        Ok((request, row)) => {
            let mark = char::from_digit(u32::from(request.number.unwrap_or(1)), 10).unwrap_or('1');
            let line = row.show(mark, &request.format) + "\n";
            let _ = control.write_all(line.as_bytes());
            let moved = if request.transmit {
                (0, row.bytes)
            } else {
                (row.bytes, 0)
            };
            let way = if request.transmit { "sent" } else { "received" };
            let over = if request.udp { "UDP" } else { "TCP" };
            house.tell(
                peer,
                format!("{over} {way} {} bytes in {:.2} s", row.bytes, row.real_s),
                false,
                Some(moved),
            );
        }
        Err(why) => {
            let _ = control.write_all(format!("nttcp-1: {why}\n").as_bytes());
            house.tell(peer, why, true, None);
        }
    }
    let _ = control.shutdown(std::net::Shutdown::Write);
    let _ = control.set_read_timeout(Some(Duration::from_millis(200)));
    let _ = control.read(&mut [0; 256]);
}

/// Reads one line; nothing when the connection ended without a word.
pub(super) fn read_line(
    control: &TcpStream,
    patience: Duration,
    stop: BorrowedFd<'_>,
) -> Result<Option<String>, String> {
    let until = monotonic_ns() + patience.as_nanos() as u64;
    let mut line = Vec::new();
    let mut control = control;
    loop {
        let left = Duration::from_nanos(until.saturating_sub(monotonic_ns()));
        let ready = poll_readable(&[control.as_fd(), stop], Some(left))
            .map_err(|cause| cause.to_string())?;
        if ready.get(1).copied().unwrap_or(false) {
            return Err("stopped".to_owned());
        }
        if !ready.contains(&true) {
            return Err(format!("no line came within {} s", patience.as_secs()));
        }
        // One at a time: what follows the line is not ours to take.
        let mut byte = [0];
        match control.read(&mut byte) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => return Err("the connection ended in the middle of a line".to_owned()),
            Ok(_) if byte[0] == b'\n' => {
                return String::from_utf8(line)
                    .map(Some)
                    .map_err(|_| "the line is no text".to_owned());
            }
            Ok(_) if line.len() >= LONGEST_LINE => {
                return Err("the line is longer than 1023 bytes".to_owned());
            }
            Ok(_) => line.push(byte[0]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) if line.is_empty() && cause.kind() == io::ErrorKind::ConnectionReset => {
                return Ok(None);
            }
            Err(cause) => return Err(cause.to_string()),
        }
    }
}

fn do_as_asked(
    house: &House,
    control: &TcpStream,
    peer: SocketAddr,
    request: &Request,
) -> Result<Row, String> {
    let over = if request.udp { "UDP" } else { "TCP" };
    let way = if request.transmit {
        "download"
    } else {
        "upload"
    };
    house.tell(
        peer,
        format!("{over} {way}, {} bytes", request.bytes()),
        false,
        None,
    );
    let local = plain(control.local_addr().map_err(|cause| cause.to_string())?);
    let now = monotonic_ns();
    let bounds = Bounds {
        idle: house.options.idle,
        until_ns: house
            .options
            .max_time
            .map_or(u64::MAX, |most| now.saturating_add(most.as_nanos() as u64)),
        rate: house.options.max_rate,
        stop: house.stop.fd(),
    };
    if request.transmit {
        let line = read_line(control, DATA.min(house.options.idle), house.stop.fd())?
            .ok_or("it named no port for data")?;
        send(&line, local, peer, request, &bounds)
    } else {
        let first = house.port.saturating_add(1);
        receive_data(
            control,
            local.ip(),
            peer.ip(),
            first,
            request,
            &bounds,
            house.stop.fd(),
        )
    }
}

/// Sends to the port the other side names, at its own address and nowhere else.
pub(super) fn send(
    line: &str,
    local: SocketAddr,
    peer: SocketAddr,
    request: &Request,
    bounds: &Bounds<'_>,
) -> Result<Row, String> {
    let port = match read_data_port(line) {
        Some(0) => return Err("the other side has no port for data".to_owned()),
        Some(port) if port < 1024 => {
            return Err(format!("port {port} for data belongs to a service"));
        }
        Some(port) => port,
        None => return Err(format!("a port for data was due, not {line:?}")),
    };
    let to = SocketAddr::new(peer.ip(), port);
    if request.udp {
        let socket = UdpSocket::bind(SocketAddr::new(local.ip(), 0))
            .and_then(|socket| socket.connect(to).map(|()| socket))
            .map_err(|cause| format!("cannot send to {to}: {cause}"))?;
        return send_udp(&socket, request, bounds).map_err(|cause| cause.to_string());
    }
    let origin = Origin {
        address: Some(local.ip()),
        device: None,
        port: None,
    };
    let stream = socket::connect(to, &origin, None).map_err(|error| error.to_string())?;
    prepare_tcp(&stream, request);
    let row = send_tcp(&stream, request, bounds).map_err(|cause| cause.to_string())?;
    // What is still on the way arrives before the connection goes.
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let _ = (&stream).read(&mut [0; 16]);
    Ok(row)
}

/// Opens a port, names it, and receives what comes there from the other side's address.
pub(super) fn receive_data(
    control: &TcpStream,
    local: IpAddr,
    peer: IpAddr,
    first: u16,
    request: &Request,
    bounds: &Bounds<'_>,
    stop: BorrowedFd<'_>,
) -> Result<Row, String> {
    let mut control = control;
    let mut named = |port: u16| {
        control
            .write_all(data_port(port).as_bytes())
            .map_err(|cause| cause.to_string())
    };
    let ports = (first.max(1024)..LAST_PORT).chain(std::iter::once(0));
    if request.udp {
        let socket = ports
            .map(|port| UdpSocket::bind(SocketAddr::new(local, port)))
            .find_map(Result::ok)
            .ok_or("no port for data is free")?;
        let _ = buffers::set_receive_buffer(&socket, UDP_BUFFER, true);
        datagrams::enable_gro(&socket);
        let _ = datagrams::enable_receive_timestamps(&socket);
        named(
            socket
                .local_addr()
                .map_err(|cause| cause.to_string())?
                .port(),
        )?;
        return receive_udp(&socket, peer, request, bounds).map_err(|cause| cause.to_string());
    }
    let (listener, address) = ports
        .map(|port| listen(local, port))
        .find_map(Result::ok)
        .ok_or("no port for data is free")?;
    if let Some(kilobytes) = request.window_kb {
        let _ = buffers::set_receive_buffer(&listener, kilobytes as usize * 1024, false);
    }
    named(address.port())?;
    let until = monotonic_ns() + DATA.as_nanos() as u64;
    loop {
        let left = Duration::from_nanos(until.saturating_sub(monotonic_ns())).min(bounds.idle);
        let ready = poll_readable(&[listener.as_fd(), stop, control.as_fd()], Some(left))
            .map_err(|cause| cause.to_string())?;
        if ready.first().copied().unwrap_or(false) {
            let (stream, from) = listener.accept().map_err(|cause| cause.to_string())?;
            if plain(from).ip() != peer {
                continue;
            }
            prepare_tcp(&stream, request);
            return receive_tcp(&stream, request, bounds).map_err(|cause| cause.to_string());
        }
        if ready.contains(&true) {
            // The other side has gone, or all is stopped.
            return Err("no data connection came before the end".to_owned());
        }
        return Err(format!(
            "no data connection came within {} s",
            left.as_secs()
        ));
    }
}
