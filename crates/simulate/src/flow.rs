//! A flow under way: both its ends and what they count.

use caudal_core::framing::Framing;
use caudal_core::units::ByteCount;
use caudal_link::dice::Dice;
use caudal_link::moment::Moment;

use crate::datagrams::{Pieces, Reassembly, Sink, Source};
use crate::echo::Exchanges;
use crate::error::SimulateError;
use crate::outcome::Details;
use crate::packet::{Body, Datagram, End};
use crate::scenario::{EchoOver, Flow, Traffic};
use crate::tcp::Greeting;
use crate::tcp::connection::Connection;
use crate::tcp::segment::Segment;

/// A packet an end sends to the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) toward: End,
    pub(crate) body: Body,
    /// Bytes of the IP packet.
    pub(crate) bytes: u32,
}

/// What carries the flow.
#[derive(Debug)]
enum Carrier {
    Stream {
        ends: Box<[Connection; 2]>,
        bytes: Option<u64>,
        greeting: Greeting,
        /// When the stream began, behind the greeting.
        began: Option<Moment>,
        stopped: bool,
    },
    Datagrams {
        source: Source,
        sink: Box<Sink>,
        pieces: Pieces,
        payload: u32,
    },
    StreamEcho {
        ends: Box<[Connection; 2]>,
        exchanges: Box<Exchanges>,
        message: u64,
        /// What came at either end.
        came: [u64; 2],
    },
    DatagramEcho {
        exchanges: Box<Exchanges>,
        reassembly: Box<[Reassembly; 2]>,
        pieces: Pieces,
        message: u64,
    },
}

/// A flow under way.
#[derive(Debug)]
pub(crate) struct Running {
    carrier: Carrier,
    framing: Framing,
    started: bool,
    segments: Vec<Segment>,
}

const fn index(end: End) -> usize {
    match end {
        End::Near => 0,
        End::Far => 1,
    }
}

impl Running {
    /// Flow `number`, over a way whose largest packet is `mtu`.
    pub(crate) fn new(
        flow: &Flow,
        number: usize,
        mtu: u32,
        seed: u64,
    ) -> Result<Self, SimulateError> {
        let narrow = |framing: Framing| Framing {
            mtu: framing.mtu.min(mtu),
            ..framing
        };
        let no_room = SimulateError::NoRoom { flow: number, mtu };
        let ends = |settings: &crate::tcp::TcpSettings| {
            let mss = narrow(settings.framing).tcp_payload_per_frame();
            let end = || Connection::new(settings, mss);
            (mss > 0).then(|| Box::new([end(), end()]))
        };
        let (carrier, framing) = match &flow.traffic {
            Traffic::Tcp { settings, bytes } => {
                let carrier = Carrier::Stream {
                    ends: ends(settings).ok_or(no_room)?,
                    bytes: bytes.map(ByteCount::get),
                    greeting: settings.greeting,
                    began: None,
                    stopped: false,
                };
                (carrier, narrow(settings.framing))
            }
            Traffic::Udp(source) => {
                let framing = narrow(source.framing);
                let (rate, payload) = (source.pattern.rate(), source.payload);
                if rate.bps() == 0 || payload == 0 {
                    let flow = number;
                    return Err(SimulateError::NoSource {
                        flow,
                        rate,
                        payload,
                    });
                }
                let dice = Dice::new(seed, number as u64);
                let carrier = Carrier::Datagrams {
                    source: Source::new(source.pattern, payload, dice),
                    sink: Box::new(Sink::new()),
                    pieces: Pieces::of(&framing, payload).ok_or(no_room)?,
                    payload,
                };
                (carrier, framing)
            }
            Traffic::Echo(client) => {
                if client.message == 0 {
                    return Err(SimulateError::NoMessage(number));
                }
                let message = u64::from(client.message);
                match &client.over {
                    EchoOver::Tcp(settings) => {
                        let mut ends = ends(settings).ok_or(no_room)?;
                        ends.iter_mut().for_each(Connection::converses);
                        let carrier = Carrier::StreamEcho {
                            ends,
                            exchanges: Box::new(Exchanges::new(client, false)),
                            message,
                            came: [0; 2],
                        };
                        (carrier, narrow(settings.framing))
                    }
                    EchoOver::Udp(framing) => {
                        let framing = narrow(*framing);
                        let carrier = Carrier::DatagramEcho {
                            exchanges: Box::new(Exchanges::new(client, true)),
                            reassembly: Box::default(),
                            pieces: Pieces::of(&framing, client.message).ok_or(no_room)?,
                            message,
                        };
                        (carrier, framing)
                    }
                }
            }
        };
        Ok(Self {
            carrier,
            framing,
            started: false,
            segments: Vec::new(),
        })
    }

    pub(crate) const fn framing(&self) -> &Framing {
        &self.framing
    }

    pub(crate) fn start(&mut self, now: Moment, out: &mut Vec<Leaving>) {
        self.started = true;
        match &mut self.carrier {
            Carrier::Stream { ends, greeting, .. } => {
                ends[0].open(now, &mut self.segments);
                ends[0].write(now, u64::from(greeting.asked), &mut self.segments);
                self.flush(End::Far, out);
                self.go_on(now, out);
            }
            Carrier::StreamEcho {
                ends, exchanges, ..
            } => {
                ends[0].open(now, &mut self.segments);
                exchanges.start(now);
                self.flush(End::Far, out);
                self.wake(now, out);
            }
            Carrier::Datagrams { source, .. } => {
                source.start(now);
                self.wake(now, out);
            }
            Carrier::DatagramEcho { exchanges, .. } => {
                exchanges.start(now);
                self.wake(now, out);
            }
        }
    }

    /// The application sends nothing more.
    pub(crate) fn stop(&mut self) {
        match &mut self.carrier {
            Carrier::Stream { ends, stopped, .. } => {
                ends[0].stop();
                *stopped = true;
            }
            Carrier::Datagrams { source, .. } => source.stop(),
            Carrier::StreamEcho { exchanges, .. } | Carrier::DatagramEcho { exchanges, .. } => {
                exchanges.stop();
            }
        }
    }

    pub(crate) fn deadline(&self) -> Option<Moment> {
        if !self.started {
            return None;
        }
        let first = |ends: &[Connection; 2]| {
            let due = ends.iter().map(Connection::deadline);
            due.flatten().min()
        };
        match &self.carrier {
            Carrier::Stream { ends, .. } => first(ends),
            Carrier::Datagrams { source, .. } => source.deadline(),
            Carrier::StreamEcho {
                ends, exchanges, ..
            } => [first(ends), exchanges.deadline()]
                .into_iter()
                .flatten()
                .min(),
            Carrier::DatagramEcho { exchanges, .. } => exchanges.deadline(),
        }
    }

    /// Does what is due.
    pub(crate) fn wake(&mut self, now: Moment, out: &mut Vec<Leaving>) {
        match &mut self.carrier {
            Carrier::Stream { .. } => self.wake_ends(now, out),
            Carrier::StreamEcho {
                ends,
                exchanges,
                message,
                ..
            } => {
                if exchanges.wake(now).is_some() {
                    ends[0].write(now, *message, &mut self.segments);
                    self.flush(End::Far, out);
                }
                self.wake_ends(now, out);
            }
            Carrier::Datagrams { source, pieces, .. } => {
                if let Some(number) = source.leave(now) {
                    send(*pieces, number, now, End::Far, out);
                }
            }
            Carrier::DatagramEcho {
                exchanges, pieces, ..
            } => {
                if let Some(number) = exchanges.wake(now) {
                    send(*pieces, number, now, End::Far, out);
                }
            }
        }
    }

    fn wake_ends(&mut self, now: Moment, out: &mut Vec<Leaving>) {
        for end in [End::Near, End::Far] {
            let (Carrier::Stream { ends, .. } | Carrier::StreamEcho { ends, .. }) =
                &mut self.carrier
            else {
                return;
            };
            let connection = &mut ends[index(end)];
            if connection.deadline().is_some_and(|due| due <= now) {
                connection.wake(now, &mut self.segments);
                self.flush(end.other(), out);
            }
        }
    }

    /// Takes a packet that reached `end`; gives the payload that came to the application that counts.
    pub(crate) fn receive(
        &mut self,
        now: Moment,
        end: End,
        body: &Body,
        out: &mut Vec<Leaving>,
    ) -> u64 {
        match (&mut self.carrier, body) {
            (Carrier::Stream { ends, greeting, .. }, Body::Segment(segment)) => {
                let before = ends[1].received();
                ends[index(end)].receive(now, segment, &mut self.segments);
                let asked = u64::from(greeting.asked);
                let received = ends[1].received();
                if before < asked && received >= asked && greeting.answered > 0 {
                    ends[1].converses();
                    ends[1].write(now, u64::from(greeting.answered), &mut self.segments);
                }
                self.flush(end.other(), out);
                self.go_on(now, out);
                received.max(asked) - before.max(asked)
            }
            (Carrier::Datagrams { sink, payload, .. }, Body::Datagram(datagram)) => {
                let whole = sink.take(now, datagram);
                u64::from(whole) * u64::from(*payload)
            }
            (
                Carrier::StreamEcho {
                    ends,
                    exchanges,
                    message,
                    came,
                },
                Body::Segment(segment),
            ) => {
                let at = index(end);
                // What is written first leaves with the acknowledgement of what it answers.
                let new = ends[at].receive(now, segment, &mut self.segments);
                let before = came[at] / *message;
                came[at] += new;
                let whole = came[at] / *message - before;
                if whole > 0 && end == End::Far {
                    ends[at].write(now, whole * *message, &mut self.segments);
                }
                let mut counted = 0;
                if end == End::Near {
                    counted = new;
                    for number in before..before + whole {
                        exchanges.answered(now, number);
                    }
                }
                self.flush(end.other(), out);
                counted
            }
            (
                Carrier::DatagramEcho {
                    exchanges,
                    reassembly,
                    pieces,
                    message,
                },
                Body::Datagram(datagram),
            ) => {
                if !reassembly[index(end)].completes(datagram) {
                    return 0;
                }
                if end == End::Far {
                    send(*pieces, datagram.number, now, End::Near, out);
                } else if exchanges.answered(now, datagram.number) {
                    return *message;
                }
                0
            }
            _ => 0,
        }
    }

    /// Begins the stream when the greeting is over.
    fn go_on(&mut self, now: Moment, out: &mut Vec<Leaving>) {
        let Carrier::Stream {
            ends,
            bytes,
            greeting,
            began,
            stopped,
        } = &mut self.carrier
        else {
            return;
        };
        if began.is_some()
            || *stopped
            || ends[0].acknowledged() < u64::from(greeting.asked)
            || ends[0].received() < u64::from(greeting.answered)
        {
            return;
        }
        *began = Some(now);
        ends[0].write(now, bytes.unwrap_or(u64::MAX / 4), &mut self.segments);
        self.flush(End::Far, out);
    }

    /// When its payload began to flow; `None` before.
    pub(crate) const fn began(&self, start: Moment) -> Option<Moment> {
        match &self.carrier {
            Carrier::Stream { began, .. } => *began,
            _ => Some(start),
        }
    }

    /// Puts what connections sent toward `toward` into packets.
    fn flush(&mut self, toward: End, out: &mut Vec<Leaving>) {
        // Headers are 20 or 40 bytes.
        let ip = self.framing.ip.header_bytes() as u32;
        for segment in self.segments.drain(..) {
            let header = segment.header_bytes(self.framing.timestamps);
            let bytes = ip + header + segment.length;
            let body = Body::Segment(segment);
            out.push(Leaving {
                toward,
                body,
                bytes,
            });
        }
    }

    /// Whether all that there is to receive was received.
    pub(crate) fn finished(&self) -> bool {
        match &self.carrier {
            Carrier::Stream {
                ends,
                bytes,
                greeting,
                began,
                ..
            } => {
                let received = ends[1].received().saturating_sub(u64::from(greeting.asked));
                began.is_some() && *bytes == Some(received)
            }
            Carrier::Datagrams { .. } => false,
            Carrier::StreamEcho { exchanges, .. } | Carrier::DatagramEcho { exchanges, .. } => {
                exchanges.finished()
            }
        }
    }

    /// Bytes of payload that left for the first time.
    pub(crate) fn sent(&self) -> u64 {
        match &self.carrier {
            Carrier::Stream { ends, greeting, .. } => {
                ends[0].sent().saturating_sub(u64::from(greeting.asked))
            }
            Carrier::Datagrams {
                source, payload, ..
            } => source.sent.saturating_mul(u64::from(*payload)),
            Carrier::StreamEcho {
                exchanges, message, ..
            }
            | Carrier::DatagramEcho {
                exchanges, message, ..
            } => exchanges.sent().saturating_mul(*message),
        }
    }

    /// What is known at `end` of its kind.
    pub(crate) fn details(&self, end: Moment) -> Details {
        match &self.carrier {
            Carrier::Stream { ends, .. } => Details::Tcp {
                counts: *ends[0].counts(),
                rtt: ends[0].rtt().clone(),
                cwnd: ends[0].cwnd_over_time(end),
            },
            Carrier::Datagrams { source, sink, .. } => Details::Udp {
                counts: sink.counts(source.sent),
                delay: sink.delay().clone(),
                jitter_ns: sink.jitter_ns(),
            },
            Carrier::StreamEcho { exchanges, .. } | Carrier::DatagramEcho { exchanges, .. } => {
                Details::Echo {
                    exchanges: exchanges.done,
                    lost: exchanges.lost,
                    rtt: exchanges.rtt.clone(),
                }
            }
        }
    }
}

fn send(pieces: Pieces, number: u64, now: Moment, toward: End, out: &mut Vec<Leaving>) {
    for piece in 0..pieces.count {
        let body = Body::Datagram(Datagram {
            number,
            sent: now,
            piece,
            pieces: pieces.count,
        });
        let bytes = pieces.packet_bytes(piece);
        out.push(Leaving {
            toward,
            body,
            bytes,
        });
    }
}
