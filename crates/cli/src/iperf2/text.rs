//! What iperf 2.1 prints, line for line: banners, connections, intervals, sums, reports, and its CSV.

use super::options::Options;
use super::units::{Format, bytes, percent, rate};
use caudal_core::sample::Role;
use caudal_engine::iperf2::{Event, Figures, LegInfo, UdpFigures};
use caudal_sys::clock::LocalTime;
use caudal_wire::iperf2::Way;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

const LINE: &str = "------------------------------------------------------------";

/// Which header stands above the latest lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    None,
    Plain,
    Udp,
    DuplexSum,
    SumOnly,
    TcpWrite,
    TcpRead,
    UdpWrite,
    UdpRead,
}

/// Legs of a group added up.
#[derive(Debug, Clone, Default)]
struct Sum {
    legs: u32,
    figures: Figures,
    senders: u32,
    datagrams: u64,
    received: UdpFigures,
    receivers: u32,
}

impl Sum {
    fn add(&mut self, info: &LegInfo, figures: &Figures) {
        if self.legs == 0 {
            self.figures.start_s = figures.start_s;
        }
        self.legs += 1;
        self.figures.start_s = self.figures.start_s.min(figures.start_s);
        self.figures.end_s = self.figures.end_s.max(figures.end_s);
        self.figures.bytes += figures.bytes;
        self.figures.calls += figures.calls;
        self.figures.errors += figures.errors;
        self.figures.retransmits += figures.retransmits;
        for (all, one) in self.figures.reads.iter_mut().zip(figures.reads) {
            *all += one;
        }
        if let Some(udp) = figures.udp {
            self.receivers += 1;
            self.received.lost += udp.lost;
            self.received.total += udp.total;
            self.received.out_of_order += udp.out_of_order;
        }
        if info.role == Role::Sender {
            self.senders += 1;
            self.datagrams += figures.datagrams;
        }
    }
}

/// Shows events as iperf 2 does.
pub struct Printer {
    options: Options,
    header: Header,
    /// The legs of a group, and the sums under way: by group, then by when the interval ends, in ms.
    intervals: BTreeMap<(u64, u64), Sum>,
    finals: BTreeMap<u64, Sum>,
    expected: BTreeMap<u64, u32>,
    mss: BTreeMap<u32, u32>,
    pid: u32,
    device: fn(SocketAddr) -> Option<String>,
    now: fn() -> u64,
}

impl Printer {
    /// A printer; `device` names the interface of an address, `now` is the wall clock in seconds.
    #[must_use]
    pub fn new(
        options: &Options,
        pid: u32,
        device: fn(SocketAddr) -> Option<String>,
        now: fn() -> u64,
    ) -> Self {
        Self {
            options: options.clone(),
            header: Header::None,
            intervals: BTreeMap::new(),
            finals: BTreeMap::new(),
            expected: BTreeMap::new(),
            mss: BTreeMap::new(),
            pid,
            device,
            now,
        }
    }

    /// Takes the options as they were resolved.
    pub fn set_options(&mut self, options: &Options) {
        self.options = options.clone();
    }

    fn shows(&self, letter: char) -> bool {
        !self.options.exclude.contains(letter)
    }

    fn buffer(&self, out: &mut String, what: &str, granted: u32) {
        let format = match self.options.format {
            fixed @ (Format::Bytes(_) | Format::Bits(_)) => fixed,
            _ => Format::AdaptiveBytes,
        };
        let _ = write!(out, "{what}: {}", bytes(f64::from(granted), format));
        match self.options.window {
            Some(asked) if asked != granted as usize => {
                let _ = writeln!(out, " (WARNING: requested {})", bytes(asked as f64, format));
            }
            Some(_) => out.push('\n'),
            None => out.push_str(" (default)\n"),
        }
    }

    /// The banner of a server.
    pub fn server_banner(&mut self, out: &mut String, udp: bool, port: u16, granted: u32) {
        if self.options.csv || !self.shows('S') {
            return;
        }
        let what = if udp { "UDP" } else { "TCP" };
        let _ = writeln!(out, "{LINE}");
        let _ = write!(out, "Server listening on {what} port {port}");
        if self.options.enhanced {
            let _ = write!(out, " with pid {}", self.pid);
        }
        out.push('\n');
        if let Some(bind) = self.options.bind.filter(|_| self.options.server) {
            if bind.is_multicast() {
                if self.shows('M') {
                    let _ = writeln!(out, "Joining multicast group  {bind}");
                }
            } else {
                let _ = writeln!(out, "Binding to local address {bind}");
            }
        }
        if self.options.single {
            out.push_str("Server set to single client traffic mode (serialize traffic tests)\n");
        }
        if self.options.enhanced {
            let length = self
                .options
                .length
                .unwrap_or(if udp { 1470 } else { 128 << 10 }) as f64;
            let _ = writeln!(
                out,
                "Read buffer size: {} (Dist bin width={})",
                bytes(length, Format::AdaptiveBytes),
                bytes((length / 8.0).floor(), Format::AdaptiveBytes)
            );
        }
        if self.options.print_mss && !udp {
            let _ = writeln!(out, "MSS size {} bytes", self.options.mss.unwrap_or(536));
        }
        self.buffer(
            out,
            if udp {
                "UDP buffer size"
            } else {
                "TCP window size"
            },
            granted,
        );
        let _ = writeln!(out, "{LINE}");
    }

    fn client_banner(&mut self, out: &mut String, to: &ClientBanner<'_>) {
        if self.options.csv || !self.shows('S') {
            return;
        }
        let what = if to.udp { "UDP" } else { "TCP" };
        let host = if self.options.hide {
            "(**hidden**)"
        } else {
            to.host
        };
        let _ = writeln!(out, "{LINE}");
        let _ = write!(out, "Client connecting to {host}, {what} port {}", to.port);
        let enhanced = self.options.enhanced && self.options.host.is_some();
        if enhanced {
            let _ = write!(
                out,
                " with pid {} ({} flows)",
                self.pid,
                self.options.parallel.unwrap_or(1)
            );
        }
        out.push('\n');
        if self.options.connect_only {
            let _ = writeln!(out, "TCP three-way-handshake (3WHS) only\n{LINE}");
            return;
        }
        if let Some(bind) = self.options.bind.filter(|_| enhanced) {
            let _ = writeln!(out, "Binding to local address {bind}");
        }
        if enhanced && !to.udp {
            let _ = writeln!(out, "Write buffer size: {} Byte", to.length);
        }
        if enhanced {
            let nagle = if self.options.no_delay {
                " and nodelay (Nagle off)"
            } else {
                " (Nagle on)"
            };
            let _ = writeln!(
                out,
                "TOS set to {:#x}{nagle}",
                self.options.tos.unwrap_or(0)
            );
        }
        if to.udp {
            // The gap the rate asks for; without a rate there is none.
            let gap = if to.rate == 0 {
                0.0
            } else {
                to.length as f64 * 8e6 / to.rate as f64
            };
            let _ = writeln!(
                out,
                "Sending {} byte datagrams, IPG target: {gap:.2} us (kalman adjust)",
                to.length
            );
        } else {
            if let Some(congestion) = &self.options.congestion {
                let _ = writeln!(out, "TCP congestion control set to {congestion}");
            }
            if let Some(mss) = self.options.mss {
                let _ = writeln!(out, "MSS req size {mss} bytes (per TCP_MAXSEG)");
            }
        }
        self.buffer(
            out,
            if to.udp {
                "UDP buffer size"
            } else {
                "TCP window size"
            },
            to.buffer,
        );
        let _ = writeln!(out, "{LINE}");
    }

    fn address(&self, address: SocketAddr) -> String {
        if self.options.hide {
            let text = address.ip().to_string();
            let last = text.rsplit(['.', ':']).next().unwrap_or("");
            return format!("*.*.*.{last}");
        }
        address.ip().to_string()
    }

    fn stamp(&self) -> Option<LocalTime> {
        LocalTime::at((self.now)(), self.options.utc)
    }

    fn connected(&mut self, out: &mut String, info: &LegInfo) {
        if let Some(opened) = info.opened {
            self.mss.insert(info.number, opened.mss);
        }
        let legs = match info.way {
            Way::FullDuplex => 2,
            // The server's own connection back belongs to the sum.
            Way::Dual if self.options.server => 2,
            _ => 1,
        };
        let expected = self.expected.entry(info.group).or_insert(0);
        *expected = (*expected).max(info.members * legs);
        if self.options.csv || !self.shows('C') || self.options.sum_only {
            return;
        }
        let star = if info.back { '*' } else { ' ' };
        let id = if info.number < 10 {
            format!("[ {star}{}]", info.number)
        } else {
            format!("[{star}{}]", info.number)
        };
        let device = if self.options.enhanced {
            (self.device)(info.local).map_or_else(String::new, |name| format!("%{name}"))
        } else {
            String::new()
        };
        let _ = write!(
            out,
            "{id} local {}{device} port {} connected with {} port {}",
            self.address(info.local),
            info.local.port(),
            self.address(info.peer),
            info.peer.port()
        );
        match info.way {
            Way::Reverse => out.push_str(" (reverse)"),
            Way::FullDuplex => out.push_str(" (full-duplex)"),
            _ => {}
        }
        if info.trip_times {
            out.push_str(" (trip-times)");
        }
        // A client in reverse leaves the end to the server, without saying so.
        if info.no_udp_fin && !(self.options.host.is_some() && info.way == Way::Reverse) {
            out.push_str(" (no-udp-fin)");
        }
        let sock = if self.options.enhanced {
            format!(" (sock={})", info.socket)
        } else {
            String::new()
        };
        out.push_str(&sock);
        if let (true, Some(version)) = (self.options.enhanced, &info.version) {
            let _ = write!(out, " (peer {version})");
        }
        if info.tos != 0 {
            let _ = write!(out, " (tos rx={:#x})", info.tos);
        }
        // What a client's own listener takes in shows nothing more.
        let back_to_client =
            self.options.host.is_some() && info.number > self.options.parallel.unwrap_or(1);
        if let (Some(opened), false) = (info.opened, back_to_client) {
            let _ = write!(
                out,
                " (icwnd/mss/irtt={}/{}/{})",
                opened.cwnd_bytes / 1024,
                opened.mss,
                opened.rtt_us
            );
        }
        let timed = self.options.enhanced || self.options.connect_only;
        if let (true, Some(connecting)) = (timed, info.connecting) {
            let _ = write!(out, " (ct={:.2} ms)", connecting.as_secs_f64() * 1e3);
        }
        if timed
            && !(self.options.server && info.way == Way::Reverse)
            && let Some(at) = self.stamp()
        {
            let _ = write!(
                out,
                " on {:04}-{:02}-{:02} {:02}:{:02}:{:02} ({})",
                at.year, at.month, at.day, at.hour, at.minute, at.second, at.zone
            );
        }
        out.push('\n');
        self.header = Header::None;
    }

    fn head(&mut self, out: &mut String, header: Header) {
        if self.header == header {
            return;
        }
        self.header = header;
        out.push_str(match header {
            Header::None => return,
            Header::Plain => "[ ID] Interval       Transfer     Bandwidth\n",
            Header::Udp => {
                "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n"
            }
            Header::DuplexSum => "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS\n",
            Header::SumOnly => "[SUM-cnt] Interval       Transfer     Bandwidth\n",
            Header::TcpWrite => {
                "[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr\n"
            }
            Header::TcpRead => "[ ID] Interval            Transfer    Bandwidth       Reads=Dist\n",
            Header::UdpWrite => "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS\n",
            Header::UdpRead => {
                "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr\n"
            }
        });
    }

    fn span(&self, id: &str, figures: &Figures) -> String {
        format!(
            "{id} {:.4}-{:.4} sec  {}s  {}s/sec",
            figures.start_s,
            figures.end_s,
            bytes(figures.bytes as f64, self.options.format),
            rate(figures.bps(), self.options.format)
        )
    }

    fn id(info: &LegInfo) -> String {
        let star = if info.back { "*" } else { "" };
        format!("[{:>3}]", format!("{star}{}", info.number))
    }

    fn line(&mut self, out: &mut String, info: &LegInfo, figures: &Figures) {
        let span = self.span(&Self::id(info), figures);
        // One-way times are shown where there are any: a server tells them, or does not.
        let enhanced = match figures.udp {
            Some(udp) if self.options.host.is_some() && !info.back => udp.latency.count > 0,
            _ => self.options.enhanced,
        };
        let took = (figures.end_s - figures.start_s).max(1e-9);
        match (info.udp, info.role, figures.udp) {
            (true, Role::Receiver, Some(udp)) if enhanced => {
                self.head(out, Header::UdpRead);
                let _ = writeln!(out, "{span}  {}", self.udp_read(figures, &udp, took));
            }
            (true, Role::Receiver, Some(udp)) => {
                self.head(out, Header::Udp);
                let _ = writeln!(out, "{span}  {}", udp_columns(&udp));
            }
            (true, ..) if enhanced => {
                self.head(out, Header::UdpWrite);
                let _ = writeln!(
                    out,
                    "{span}  {}/{} {:8.0} pps",
                    figures.datagrams,
                    figures.errors,
                    figures.datagrams as f64 / took
                );
            }
            (false, Role::Sender, _) if enhanced => {
                self.head(out, Header::TcpWrite);
                let (cwnd, rtt, var) = figures.tcp.map_or((0, 0, 0), |tcp| {
                    (tcp.cwnd_bytes / 1024, tcp.rtt_us, tcp.rttvar_us)
                });
                let _ = writeln!(
                    out,
                    "{span}  {}/{} {:10} {cwnd:8}K/{rtt}({var}) us  {}",
                    figures.calls,
                    figures.errors,
                    figures.retransmits,
                    power(figures.bps() / 8.0, f64::from(rtt) / 1e6)
                );
            }
            (false, Role::Receiver, _) if enhanced => {
                self.head(out, Header::TcpRead);
                let _ = writeln!(
                    out,
                    "{span}  {}={}",
                    figures.reads.iter().sum::<u64>(),
                    distribution(figures)
                );
            }
            _ => {
                self.head(out, Header::Plain);
                let _ = writeln!(out, "{span}");
            }
        }
    }

    fn udp_read(&self, figures: &Figures, udp: &UdpFigures, took: f64) -> String {
        let latency = udp.latency;
        let received = udp
            .total
            .saturating_sub(u64::try_from(udp.lost).unwrap_or(0));
        format!(
            "{} {:.3}/{:.3}/{:.3}/{:.3} ms {:.0} pps {received}/0(0) pkts {}",
            udp_columns(udp),
            latency.mean_s * 1e3,
            latency.min_s * 1e3,
            latency.max_s * 1e3,
            latency.deviation_s() * 1e3,
            received as f64 / took,
            power(figures.bytes as f64 / took, latency.mean_s)
        )
    }

    fn out_of_order(out: &mut String, id: &str, figures: &Figures, count: u64) {
        if count > 0 {
            let _ = writeln!(
                out,
                "{id} {:.4}-{:.4} sec  {count} datagrams received out-of-order",
                figures.start_s, figures.end_s
            );
        }
    }

    fn sum_line(&mut self, out: &mut String, sum: &Sum, is_final: bool) {
        let id = if self.options.sum_only {
            self.head(out, Header::SumOnly);
            format!("[SUM-{}]", sum.legs)
        } else {
            "[SUM]".to_owned()
        };
        let span = self.span(&id, &sum.figures);
        let took = (sum.figures.end_s - sum.figures.start_s).max(1e-9);
        let udp = sum.receivers > 0;
        if udp && sum.senders > 0 {
            self.head(out, Header::DuplexSum);
            let moved = sum.datagrams + sum.received.total - sum.received.lost.max(0) as u64;
            let _ = writeln!(out, "{span} {moved:<7} {:.0} pps", moved as f64 / took);
        } else if udp {
            if !self.options.sum_only && is_final {
                self.header = Header::None;
                self.head(out, Header::Plain);
            }
            let lost = sum.received.lost;
            let part = 100.0 * lost as f64 / (sum.received.total.max(1)) as f64;
            let _ = writeln!(
                out,
                "{span}   {lost}/{} ({}%)",
                sum.received.total,
                percent(part)
            );
            Self::out_of_order(out, "[SUM]", &sum.figures, sum.received.out_of_order);
        } else if self.options.enhanced && sum.datagrams > 0 {
            let _ = writeln!(
                out,
                "{span}  {}/{} {:8.0} pps",
                sum.datagrams,
                sum.figures.errors,
                sum.datagrams as f64 / took
            );
        } else if self.options.enhanced && sum.senders > 0 {
            let _ = writeln!(
                out,
                "{span}  {}/{}{:10}",
                sum.figures.calls, sum.figures.errors, sum.figures.retransmits
            );
        } else if self.options.enhanced {
            let reads: u64 = sum.figures.reads.iter().sum();
            let _ = writeln!(out, "{span}  {reads}={}", distribution(&sum.figures));
        } else {
            let _ = writeln!(out, "{span}");
        }
        if is_final && sum.datagrams > 0 && self.options.host.is_some() {
            let all = sum.datagrams + if udp { sum.received.total } else { 0 };
            let _ = writeln!(out, "[SUM-{}] Sent {all} datagrams", sum.legs);
        }
    }

    fn csv(&self, out: &mut String, info: &LegInfo, figures: &Figures, is_sum: bool) {
        let at = self.stamp().map_or_else(String::new, |at| {
            format!(
                "{:04}{:02}{:02}{:02}{:02}{:02}",
                at.year, at.month, at.day, at.hour, at.minute, at.second
            )
        });
        // From whom, to whom.
        let (from, to) = match info.role {
            Role::Sender => (info.local, info.peer),
            Role::Receiver => (info.peer, info.local),
        };
        let id = if is_sum {
            "-1".to_owned()
        } else {
            info.number.to_string()
        };
        let (from_port, to_port) = match is_sum {
            // A sum is over several ports; the server's is the one they share.
            true if self.options.server => (0, to.port()),
            true => (0, to.port()),
            false => (from.port(), to.port()),
        };
        let _ = write!(
            out,
            "{at},{},{from_port},{},{to_port},{id},{:.1}-{:.1},{},{:.0}",
            self.address(from),
            self.address(to),
            figures.start_s,
            figures.end_s,
            figures.bytes,
            figures.bps().floor()
        );
        if info.udp {
            let udp = figures.udp.unwrap_or(UdpFigures {
                total: figures.datagrams,
                ..UdpFigures::default()
            });
            let part = 100.0 * udp.lost as f64 / udp.total.max(1) as f64;
            let _ = write!(
                out,
                ",{:.3},{},{},{part:.3},{}",
                udp.jitter_ms, udp.lost, udp.total, udp.out_of_order
            );
        }
        out.push('\n');
    }

    fn moved(&mut self, out: &mut String, info: &Arc<LegInfo>, figures: &Figures, is_final: bool) {
        let expected = self.expected.get(&info.group).copied().unwrap_or(1);
        let sum = if is_final {
            self.finals.entry(info.group).or_default()
        } else {
            let end = (figures.end_s * 1000.0).round() as u64;
            self.intervals.entry((info.group, end)).or_default()
        };
        sum.add(info, figures);
        let whole = sum.legs >= expected && expected > 1;
        let sum = whole.then(|| sum.clone());
        if sum.is_some() || expected == 1 {
            let end = (figures.end_s * 1000.0).round() as u64;
            if is_final {
                self.finals.remove(&info.group);
                self.expected.remove(&info.group);
                self.intervals.retain(|(group, _), _| *group != info.group);
            } else {
                self.intervals.remove(&(info.group, end));
            }
        }
        if !self.shows('D') {
            return;
        }
        if self.options.csv {
            if !self.options.sum_only {
                self.csv(out, info, figures, false);
            }
            if let Some(sum) = sum {
                let mut all = sum.figures;
                all.udp = (sum.receivers > 0).then_some(sum.received);
                all.datagrams = sum.datagrams;
                self.csv(out, info, &all, true);
            }
            return;
        }
        if !self.options.sum_only {
            self.line(out, info, figures);
            if let Some(udp) = figures.udp.filter(|_| is_final) {
                Self::out_of_order(out, &Self::id(info), figures, udp.out_of_order);
            }
            if is_final && info.udp && info.role == Role::Sender {
                let _ = writeln!(
                    out,
                    "[{:>3}] Sent {} datagrams",
                    info.number, figures.datagrams
                );
            }
            if is_final
                && self.options.print_mss
                && !info.udp
                && !info.back
                && let Some(mss) = self.mss.remove(&info.number)
            {
                let (mtu, kind) = mtu_of(mss);
                let _ = writeln!(
                    out,
                    "[{:>3}] MSS size {mss} bytes (MTU {mtu} bytes, {kind})",
                    info.number
                );
            }
        }
        if let Some(sum) = sum {
            self.sum_line(out, &sum, is_final);
        }
    }

    /// Shows one event; what it concerns is appended to `out`.
    pub fn take(&mut self, out: &mut String, event: &Event) {
        match event {
            Event::Listening { udp, port, buffer } => self.server_banner(out, *udp, *port, *buffer),
            Event::Ready { buffer } => {
                let host = self.options.host.clone().unwrap_or_default();
                let length =
                    self.options
                        .length
                        .unwrap_or(if self.options.udp { 1470 } else { 128 << 10 });
                self.client_banner(
                    out,
                    &ClientBanner {
                        host: &host,
                        port: self.options.port,
                        udp: self.options.udp,
                        length,
                        rate: self.options.rate.unwrap_or(0),
                        buffer: *buffer,
                    },
                );
            }
            Event::ConnectingBack {
                peer,
                udp,
                length,
                rate,
                buffer,
            } => {
                let host = peer.ip().to_string();
                self.client_banner(
                    out,
                    &ClientBanner {
                        host: &host,
                        port: peer.port(),
                        udp: *udp,
                        length: *length as usize,
                        rate: *rate,
                        buffer: *buffer,
                    },
                );
            }
            Event::Connected(info) => self.connected(out, info),
            Event::Interval(info, figures) => self.moved(out, info, figures, false),
            Event::Ended(info, figures) => self.moved(out, info, figures, true),
            Event::Reported(info, figures) => {
                if !self.shows('V') || self.options.sum_only {
                    return;
                }
                let info = Arc::new(LegInfo {
                    role: Role::Receiver,
                    local: info.peer,
                    peer: info.local,
                    ..LegInfo::clone(info)
                });
                if self.options.csv {
                    self.csv(out, &info, figures, false);
                    return;
                }
                let _ = writeln!(out, "[{:>3}] Server Report:", info.number);
                if !self.options.enhanced {
                    self.header = Header::None;
                }
                self.line(out, &info, figures);
                if let Some(udp) = figures.udp {
                    Self::out_of_order(out, &Self::id(&info), figures, udp.out_of_order);
                }
            }
            Event::Unreported(info, tries) => {
                let _ = writeln!(
                    out,
                    "[{:>3}] WARNING: did not receive ack of last datagram after {tries} tries.",
                    info.number
                );
            }
            Event::Trouble { .. } => {}
        }
    }
}

struct ClientBanner<'a> {
    host: &'a str,
    port: u16,
    udp: bool,
    length: usize,
    rate: u64,
    buffer: u32,
}

fn udp_columns(udp: &UdpFigures) -> String {
    let part = 100.0 * udp.lost as f64 / udp.total.max(1) as f64;
    format!(
        "{:6.3} ms {}/{} ({}%)",
        udp.jitter_ms,
        udp.lost,
        udp.total,
        percent(part)
    )
}

fn distribution(figures: &Figures) -> String {
    let reads: Vec<String> = figures.reads.iter().map(ToString::to_string).collect();
    reads.join(":")
}

/// Throughput over delay, in iperf 2's "network power": bytes a second over seconds, by a million.
fn power(bytes_per_s: f64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return "NAN".to_owned();
    }
    let power = bytes_per_s / seconds / 1e6;
    if power < 10.0 {
        format!("{power:.2}")
    } else {
        format!("{power:.0}")
    }
}

/// The MTU behind a segment size, and what has such an MTU.
fn mtu_of(mss: u32) -> (u32, &'static str) {
    // Headers of IP and TCP; timestamps take 12 bytes more of every segment, and MTUs of links are known.
    let mtu = match mss {
        1448 | 4300 | 9128 => mss + 52,
        _ => mss + 40,
    };
    let kind = match mtu {
        576 => "minimum",
        1500 => "ethernet",
        4352 => "FDDI",
        9180 => "ATM",
        65_535 => "loopback",
        _ => "unknown interface",
    };
    (mtu, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::sample::TcpSnapshot;
    use caudal_engine::iperf2::{Latency, Opened};

    fn options(line: &str) -> Options {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words).unwrap()
    }

    fn printer(line: &str) -> Printer {
        // 2026-11-22 00:15:13 UTC.
        Printer::new(
            &options(line),
            19_380,
            |_| Some("lo".to_owned()),
            || 1_795_306_513,
        )
    }

    fn info(role: Role, number: u32) -> LegInfo {
        LegInfo {
            number,
            role,
            back: false,
            udp: false,
            local: "127.0.0.1:37176".parse().unwrap(),
            peer: "127.0.0.1:5001".parse().unwrap(),
            way: Way::Up,
            group: 0,
            members: 1,
            socket: 3,
            version: None,
            connecting: Some(std::time::Duration::from_micros(80)),
            opened: Some(Opened {
                cwnd_bytes: 327_410,
                mss: 32_741,
                rtt_us: 39,
            }),
            no_udp_fin: false,
            trip_times: false,
            tos: 0,
        }
    }

    fn span(start_s: f64, end_s: f64, bytes: u64) -> Figures {
        Figures {
            start_s,
            end_s,
            bytes,
            ..Figures::default()
        }
    }

    fn show(printer: &mut Printer, events: &[Event]) -> String {
        let mut out = String::new();
        for event in events {
            printer.take(&mut out, event);
        }
        out
    }

    /// Every text below is what iperf 2.1.8 printed for the same figures.
    #[test]
    fn a_client_over_tcp_looks_like_2_1_8() {
        let info = Arc::new(info(Role::Sender, 1));
        let out = show(
            &mut printer("-c 127.0.0.1 -t 1 -i 0.5"),
            &[
                Event::Ready { buffer: 16_384 },
                Event::Connected(Arc::clone(&info)),
                Event::Interval(Arc::clone(&info), span(0.0, 0.5, 3_145_728)),
                Event::Interval(Arc::clone(&info), span(0.5, 1.0, 3_145_728)),
                Event::Ended(info, span(0.0, 1.0107, 6_422_588)),
            ],
        );
        assert_eq!(
            out,
            "\
------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 5001
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 37176 connected with 127.0.0.1 port 5001 (icwnd/mss/irtt=319/32741/39)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.5000 sec  3.00 MBytes  50.3 Mbits/sec
[  1] 0.5000-1.0000 sec  3.00 MBytes  50.3 Mbits/sec
[  1] 0.0000-1.0107 sec  6.13 MBytes  50.8 Mbits/sec
"
        );
    }

    #[test]
    fn parallel_connections_are_added_up() {
        let mut events = Vec::new();
        let infos: Vec<Arc<LegInfo>> = (1..=3)
            .map(|number| {
                Arc::new(LegInfo {
                    members: 3,
                    ..info(Role::Sender, number)
                })
            })
            .collect();
        events.extend(infos.iter().map(|info| Event::Connected(Arc::clone(info))));
        events.extend(
            infos
                .iter()
                .map(|info| Event::Ended(Arc::clone(info), span(0.0, 1.0494, 2_752_572))),
        );
        let out = show(&mut printer("-c 127.0.0.1 -P 3 -x C"), &events);
        assert_eq!(
            out,
            "\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0494 sec  2.63 MBytes  21.0 Mbits/sec
[  2] 0.0000-1.0494 sec  2.63 MBytes  21.0 Mbits/sec
[  3] 0.0000-1.0494 sec  2.63 MBytes  21.0 Mbits/sec
[SUM] 0.0000-1.0494 sec  7.88 MBytes  63.0 Mbits/sec
"
        );
    }

    fn udp(lost: i64, total: u64, jitter_ms: f64) -> Option<UdpFigures> {
        Some(UdpFigures {
            jitter_ms,
            lost,
            total,
            out_of_order: 0,
            latency: Latency::default(),
        })
    }

    #[test]
    fn a_client_over_udp_shows_the_servers_report() {
        let info = Arc::new(LegInfo {
            udp: true,
            opened: None,
            ..info(Role::Sender, 1)
        });
        let sent = Figures {
            datagrams: 93,
            ..span(0.0, 1.0095, 135_240)
        };
        let report = Figures {
            udp: udp(1, 93, 0.005),
            ..span(0.0, 1.0131, 135_240)
        };
        let reordered = Figures {
            udp: Some(UdpFigures {
                out_of_order: 2,
                ..report.udp.unwrap()
            }),
            ..report
        };
        let mut printer = printer("-c 127.0.0.1 -u -b 1048576 -l 1470");
        let out = show(
            &mut printer,
            &[
                Event::Ready { buffer: 212_992 },
                Event::Connected(Arc::clone(&info)),
                Event::Ended(Arc::clone(&info), sent),
                Event::Reported(info, reordered),
            ],
        );
        assert_eq!(
            out,
            "\
------------------------------------------------------------
Client connecting to 127.0.0.1, UDP port 5001
Sending 1470 byte datagrams, IPG target: 11215.21 us (kalman adjust)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 37176 connected with 127.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0095 sec   132 KBytes  1.07 Mbits/sec
[  1] Sent 93 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-1.0131 sec   132 KBytes  1.07 Mbits/sec   0.005 ms 1/93 (1.1%)
[  1] 0.0000-1.0131 sec  2 datagrams received out-of-order
"
        );
    }

    #[test]
    fn a_server_looks_like_2_1_8_over_both() {
        let mut tcp = printer("-s");
        let mut out = String::new();
        tcp.server_banner(&mut out, false, 5001, 131_072);
        let receiver = Arc::new(LegInfo {
            local: "127.0.0.1:5001".parse().unwrap(),
            peer: "127.0.0.1:37176".parse().unwrap(),
            way: Way::Reverse,
            connecting: None,
            ..info(Role::Sender, 1)
        });
        tcp.take(&mut out, &Event::Connected(receiver));
        assert_eq!(
            out,
            "\
------------------------------------------------------------
Server listening on TCP port 5001
TCP window size:  128 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 5001 connected with 127.0.0.1 port 37176 (reverse) (icwnd/mss/irtt=319/32741/39)
"
        );
        let mut udp_server = printer("-s -u -w 100K");
        let mut out = String::new();
        udp_server.server_banner(&mut out, true, 5001, 204_800);
        assert!(
            out.contains("UDP buffer size:  200 KByte (WARNING: requested  100 KByte)\n"),
            "{out}"
        );
    }

    #[test]
    fn both_directions_on_one_connection_have_a_star_and_a_sum() {
        let up = Arc::new(LegInfo {
            way: Way::FullDuplex,
            ..info(Role::Sender, 1)
        });
        let down = Arc::new(LegInfo {
            role: Role::Receiver,
            back: true,
            ..LegInfo::clone(&up)
        });
        let out = show(
            &mut printer("-c 127.0.0.1 --full-duplex"),
            &[
                Event::Connected(Arc::clone(&up)),
                Event::Ended(up, span(0.0, 1.0488, 2_752_572)),
                Event::Ended(down, span(0.0, 1.1005, 2_752_512)),
            ],
        );
        assert_eq!(
            out,
            "\
[  1] local 127.0.0.1 port 37176 connected with 127.0.0.1 port 5001 (full-duplex) (icwnd/mss/irtt=319/32741/39)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0488 sec  2.63 MBytes  21.0 Mbits/sec
[ *1] 0.0000-1.1005 sec  2.62 MBytes  20.0 Mbits/sec
[SUM] 0.0000-1.1005 sec  5.25 MBytes  40.0 Mbits/sec
"
        );
    }

    #[test]
    fn enhanced_lines_have_the_columns_of_2_1_8() {
        let sender = Arc::new(info(Role::Sender, 1));
        let figures = Figures {
            calls: 10,
            tcp: Some(TcpSnapshot {
                cwnd_bytes: 1151 << 10,
                rtt_us: 1361,
                rttvar_us: 2543,
                ..TcpSnapshot::default()
            }),
            ..span(0.0, 0.5, 1_310_720)
        };
        let out = show(
            &mut printer("-c 127.0.0.1 -e --utc"),
            &[
                Event::Connected(Arc::clone(&sender)),
                Event::Interval(sender, figures),
            ],
        );
        assert_eq!(
            out,
            "\
[  1] local 127.0.0.1%lo port 37176 connected with 127.0.0.1 port 5001 (sock=3) (icwnd/mss/irtt=319/32741/39) (ct=0.08 ms) on 2026-11-22 00:15:13 (UTC)
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  1] 0.0000-0.5000 sec  1.25 MBytes  21.0 Mbits/sec  10/0          0     1151K/1361(2543) us  1926
"
        );
        let receiver = Arc::new(info(Role::Receiver, 1));
        let figures = Figures {
            calls: 12,
            reads: [2, 0, 0, 0, 0, 0, 0, 10],
            ..span(0.0, 0.5, 1_310_720)
        };
        let out = show(&mut printer("-s -e"), &[Event::Interval(receiver, figures)]);
        assert!(
            out.ends_with("21.0 Mbits/sec  12=2:0:0:0:0:0:0:10\n"),
            "{out}"
        );
        let datagrams = Arc::new(LegInfo {
            udp: true,
            ..info(Role::Sender, 1)
        });
        let figures = Figures {
            datagrams: 45,
            ..span(0.0, 0.5, 67_620)
        };
        let out = show(
            &mut printer("-c h -u -e"),
            &[Event::Interval(datagrams, figures)],
        );
        assert!(
            out.ends_with("66.0 KBytes  1.08 Mbits/sec  45/0       90 pps\n"),
            "{out}"
        );
    }

    #[test]
    fn values_separated_by_commas_have_nine_columns_or_fourteen() {
        let tcp = Arc::new(LegInfo {
            number: 2,
            ..info(Role::Sender, 2)
        });
        let out = show(
            &mut printer("-c 127.0.0.1 -y C --utc"),
            &[
                Event::Ready { buffer: 16_384 },
                Event::Connected(Arc::clone(&tcp)),
                Event::Interval(tcp, span(0.0, 0.5, 1_310_780)),
            ],
        );
        assert_eq!(
            out,
            "20261122001513,127.0.0.1,37176,127.0.0.1,5001,2,0.0-0.5,1310780,20972480\n"
        );
        let udp_leg = Arc::new(LegInfo {
            udp: true,
            local: "127.0.0.1:5001".parse().unwrap(),
            peer: "127.0.0.1:46488".parse().unwrap(),
            ..info(Role::Receiver, 1)
        });
        let figures = Figures {
            udp: udp(1, 93, 0.004),
            ..span(0.0, 1.0119, 135_240)
        };
        let out = show(
            &mut printer("-s -u -y C --utc"),
            &[Event::Ended(udp_leg, figures)],
        );
        assert_eq!(
            out,
            "20261122001513,127.0.0.1,46488,127.0.0.1,5001,1,0.0-1.0,135240,1069196,0.004,1,93,1.075,0\n"
        );
    }

    #[test]
    fn units_and_what_is_left_out_follow_the_options() {
        let leg = Arc::new(info(Role::Sender, 1));
        let ended = Event::Ended(Arc::clone(&leg), span(0.0, 1.0128, 2_509_908));
        let line = |words: &str| {
            let out = show(&mut printer(words), std::slice::from_ref(&ended));
            out.lines().last().unwrap_or("").to_owned()
        };
        assert_eq!(
            line("-c h -f k"),
            "[  1] 0.0000-1.0128 sec  2451 KBytes  19825 Kbits/sec"
        );
        assert_eq!(
            line("-c h -f M"),
            "[  1] 0.0000-1.0128 sec  2.39 MBytes  2.36 MBytes/sec"
        );
        assert_eq!(line("-c h -x D"), "");
        let out = show(
            &mut printer("-c 192.0.2.7 --hide-ips"),
            &[Event::Ready { buffer: 16_384 }, Event::Connected(leg)],
        );
        assert!(
            out.contains("Client connecting to (**hidden**), TCP port 5001\n"),
            "{out}"
        );
        assert!(
            out.contains("local *.*.*.1 port 37176 connected with *.*.*.1 port 5001"),
            "{out}"
        );
    }

    #[test]
    fn the_segment_size_of_2_0_5_stands_at_the_end() {
        let leg = Arc::new(LegInfo {
            opened: Some(Opened {
                cwnd_bytes: 14_480,
                mss: 1448,
                rtt_us: 100,
            }),
            ..info(Role::Sender, 3)
        });
        let out = show(
            &mut printer("-c h -m"),
            &[
                Event::Connected(Arc::clone(&leg)),
                Event::Ended(leg, span(0.0, 10.0, 1000)),
            ],
        );
        assert!(
            out.ends_with("[  3] MSS size 1448 bytes (MTU 1500 bytes, ethernet)\n"),
            "{out}"
        );
    }
}
