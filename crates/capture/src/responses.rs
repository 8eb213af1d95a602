//! Requests and responses that take turns.

use crate::model::{FrameDirection, ResponseSize, ResponseTimes};
use crate::sketch::TimeSketch;
use caudal_core::units::ByteCount;

/// Maximum number of sizes kept apart.
const MAX_SIZES: usize = 64;

/// Exchanges of one size.
#[derive(Debug, Clone, Copy)]
struct SizeTimes {
    request: u64,
    response: u64,
    n: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: f64,
}

/// Exchanges that were completed.
#[derive(Debug, Clone, Default)]
struct ExchangeLog {
    times: TimeSketch,
    think: TimeSketch,
    sizes: Vec<SizeTimes>,
    other_sizes: u64,
}

/// The completed exchanges of both views.
#[derive(Debug, Clone, Default)]
struct ExchangeLogs {
    turns: ExchangeLog,
    echoes: ExchangeLog,
}

/// The exchange under way.
#[derive(Debug, Clone, Copy, Default)]
struct OpenExchange {
    request: u64,
    response: u64,
    first_request_ns: u64,
    last_response_ns: u64,
    overlaps: bool,
}

/// Two views of a flow: turns, and the points at which an echo server has sent as much as it received.
///
/// A server that echoes while it still receives takes no turns; its exchanges end where it has sent at least as many bytes as the client,
/// and the client's last segment ended a write (PSH).
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponseTracker {
    /// From the first exchange on.
    logs: Option<Box<ExchangeLogs>>,
    turn: OpenExchange,
    echo: OpenExchange,
    /// When the server had sent as much as the client.
    echoed_ns: Option<u64>,
    /// The client has sent on after a write and a part of its echo: another request before the echo was complete, or one large write that
    /// TCP cut. Exchanges of this kind are counted.
    is_unclear: bool,
    unclear: u64,
    /// Exchanges at whose end the server had sent more than the client: no echo does, but for one that writes more than it read.
    ahead: u64,
    overlapped: u64,
    up_bytes: u64,
    down_bytes: u64,
    pushed: bool,
}

/// New payload of one frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewPayload {
    pub(crate) direction: FrameDirection,
    pub(crate) at_ns: u64,
    pub(crate) bytes: u64,
    /// It ends a write.
    pub(crate) push: bool,
    /// The sender has acknowledged all that the other end sent so far.
    pub(crate) acks_all: bool,
}

impl OpenExchange {
    fn request(&mut self, payload: &NewPayload) {
        if self.request == 0 {
            self.first_request_ns = payload.at_ns;
        }
        self.request += payload.bytes;
    }

    fn response(&mut self, payload: &NewPayload) {
        if self.request > 0 {
            self.response += payload.bytes;
            self.last_response_ns = payload.at_ns;
        }
    }
}

impl ExchangeLog {
    fn close(&mut self, exchange: OpenExchange) {
        // A response may begin before the request has ended, so the time runs from the beginning of the request.
        let time = exchange
            .last_response_ns
            .saturating_sub(exchange.first_request_ns);
        self.times.push(time);
        let known = self.sizes.iter().position(|size| {
            (size.request, size.response) == (exchange.request, exchange.response)
        });
        let at = match known {
            Some(at) => at,
            None if self.sizes.len() < MAX_SIZES => {
                self.sizes.push(SizeTimes {
                    request: exchange.request,
                    response: exchange.response,
                    n: 0,
                    min_ns: u64::MAX,
                    max_ns: 0,
                    sum_ns: 0.0,
                });
                self.sizes.len() - 1
            }
            None => {
                self.other_sizes += 1;
                return;
            }
        };
        let size = &mut self.sizes[at];
        size.n += 1;
        size.min_ns = size.min_ns.min(time);
        size.max_ns = size.max_ns.max(time);
        size.sum_ns += time as f64;
    }

    fn document(&self, overlapped: u64, at_client: bool) -> ResponseTimes {
        let sizes = self.sizes.iter().map(|size| ResponseSize {
            request_bytes: ByteCount::new(size.request),
            response_bytes: ByteCount::new(size.response),
            n: size.n,
            min_us: size.min_ns as f64 / 1e3,
            mean_us: size.sum_ns / size.n as f64 / 1e3,
            max_us: size.max_ns as f64 / 1e3,
        });
        ResponseTimes {
            exchanges: self.times.n(),
            at_client,
            stop_and_wait: overlapped == 0,
            overlapped,
            response: self.times.document(),
            think: self.think.document(),
            sizes: sizes.collect(),
            other_sizes: self.other_sizes,
        }
    }
}

impl ResponseTracker {
    /// The clock was set: how long the exchange under way takes is not known.
    pub(crate) fn forget_open(&mut self) {
        (self.turn, self.echo) = (OpenExchange::default(), OpenExchange::default());
        self.echoed_ns = None;
    }

    /// Takes in payload that was not sent before.
    #[inline]
    pub(crate) fn push(&mut self, payload: &NewPayload) {
        if payload.direction == FrameDirection::ToClient {
            self.down_bytes += payload.bytes;
            self.turn.response(payload);
            self.echo.response(payload);
            if self.down_bytes >= self.up_bytes {
                self.echoed_ns = self.echoed_ns.or(Some(payload.at_ns));
            }
            return;
        }
        if self.turn.response > 0 {
            self.end_turn(payload);
        }
        if self.echo.request > 0 && self.pushed {
            if self.up_bytes <= self.down_bytes {
                self.end_echo(payload);
            } else {
                self.is_unclear |= self.echo.response > 0;
            }
        }
        self.up_bytes += payload.bytes;
        self.pushed = payload.push;
        self.turn.request(payload);
        self.echo.request(payload);
        self.echoed_ns = (self.up_bytes <= self.down_bytes).then_some(payload.at_ns);
    }

    /// The exchange of an echo that is complete: its response is as long as its request, whatever followed it.
    fn whole_echo(&self) -> OpenExchange {
        OpenExchange {
            response: self.echo.request,
            last_response_ns: self.echoed_ns.unwrap_or(self.echo.last_response_ns),
            ..self.echo
        }
    }

    /// The client sends after its requests were echoed.
    fn end_echo(&mut self, payload: &NewPayload) {
        let echoed = self.whole_echo();
        let think = payload.at_ns.saturating_sub(echoed.last_response_ns);
        let echoes = &mut self.logs.get_or_insert_default().echoes;
        echoes.think.push(think);
        echoes.close(echoed);
        self.ahead += u64::from(self.up_bytes < self.down_bytes);
        self.unclear += u64::from(std::mem::take(&mut self.is_unclear));
        self.echo = OpenExchange::default();
    }

    /// The client sends after the server has sent.
    fn end_turn(&mut self, payload: &NewPayload) {
        if payload.acks_all && !self.turn.overlaps {
            let turns = &mut self.logs.get_or_insert_default().turns;
            let think = payload.at_ns.saturating_sub(self.turn.last_response_ns);
            turns.think.push(think);
            turns.close(self.turn);
            self.turn = OpenExchange::default();
        } else if payload.acks_all {
            self.turn = OpenExchange::default();
        } else if !self.turn.overlaps {
            // The client went on before it had the whole response: not a turn.
            self.overlapped += 1;
            self.turn.overlaps = true;
        }
    }

    /// What the exchanges add up to, the last one concluded by the end of the flow; `None` where the ends do not take turns.
    pub(crate) fn document(&self, at_client: bool) -> Option<ResponseTimes> {
        if self.down_bytes == 0 {
            return None;
        }
        let ExchangeLogs {
            mut turns,
            mut echoes,
        } = self.logs.as_deref().cloned().unwrap_or_default();
        if self.turn.response > 0 && !self.turn.overlaps {
            turns.close(self.turn);
        }
        let mut ahead = self.ahead;
        if self.echo.request > 0 && self.up_bytes <= self.down_bytes {
            echoes.close(self.whole_echo());
            ahead += u64::from(self.up_bytes < self.down_bytes);
        }
        // An echo's turns are the same as its balances, unless the server echoes while it receives.
        if echoes.times.n() > 0 && ahead <= echoes.times.n() / 4 {
            let unclear = self.unclear + u64::from(self.is_unclear);
            return Some(echoes.document(unclear, at_client));
        }
        let taken = turns.times.n();
        (taken > 0 && self.overlapped <= taken / 4)
            .then(|| turns.document(self.overlapped, at_client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FrameDirection::{ToClient, ToServer};

    fn run(frames: &[(FrameDirection, u64, u64, bool, bool)]) -> Option<ResponseTimes> {
        let mut tracker = ResponseTracker::default();
        for &(direction, at_us, bytes, push, acks_all) in frames {
            tracker.push(&NewPayload {
                direction,
                at_ns: at_us * 1_000,
                bytes,
                push,
                acks_all,
            });
        }
        tracker.document(true)
    }

    #[test]
    fn turns_are_timed_from_last_byte_to_last_byte() {
        let times = run(&[
            (ToServer, 0, 10, false, true),
            (ToServer, 5, 10, true, true),
            (ToClient, 100, 500, false, true),
            (ToClient, 110, 500, true, true),
            (ToServer, 200, 7, true, true),
            (ToClient, 260, 70, true, true),
        ])
        .unwrap();
        assert_eq!((times.exchanges, times.stop_and_wait), (2, true));
        let first = times.sizes[0];
        assert_eq!(
            (first.request_bytes.get(), first.response_bytes.get()),
            (20, 1_000)
        );
        assert_eq!(first.mean_us, 110.0);
        assert_eq!(times.think.unwrap().mean_us, 90.0);
    }

    #[test]
    fn an_echo_that_begins_before_its_request_is_complete_is_one_exchange() {
        let times = run(&[
            (ToServer, 0, 1_448, false, true),
            (ToClient, 10, 1_448, true, true),
            (ToServer, 20, 600, true, true),
            (ToClient, 50, 600, true, true),
        ])
        .unwrap();
        assert_eq!(times.exchanges, 1);
        assert_eq!(times.sizes[0].request_bytes.get(), 2_048);
        assert_eq!(times.sizes[0].mean_us, 50.0);
    }

    #[test]
    fn requests_and_responses_of_equal_sums_are_no_echo() {
        let times = run(&[
            (ToServer, 0, 100, true, true),
            (ToClient, 10, 200, true, true),
            (ToServer, 20, 200, true, true),
            (ToClient, 30, 100, true, true),
        ])
        .unwrap();
        assert_eq!(times.sizes[0].response_bytes.get(), 200);
    }

    #[test]
    fn both_ends_sending_at_once_take_no_turns() {
        let frames: Vec<_> = (0..100)
            .map(|at| {
                (
                    if at % 2 == 0 { ToServer } else { ToClient },
                    at,
                    100 + at,
                    false,
                    false,
                )
            })
            .collect();
        assert_eq!(run(&frames), None);
    }
}
