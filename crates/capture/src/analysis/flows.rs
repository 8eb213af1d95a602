//! The flows of a capture, from their first packet to their conclusion.

use super::ranking::{FindingRanking, FlowRanking};
use crate::detail::{DetailRecorder, FlowDetail};
use crate::dissect::{IcmpError, TcpFlags, TcpHeader};
use crate::flow::{FlowFrame, FlowKindState, FlowState, FlowTable, FlowTuple, TupleEnd};
use crate::options::{AnalysisOptions, FlowSelector};

/// The flows of a capture.
#[derive(Debug)]
pub(crate) struct Flows {
    table: FlowTable,
    pub(crate) count: u64,
    /// Flows that were concluded to bound the memory while they were open.
    pub(crate) given_up: u64,
    pub(crate) ranking: FlowRanking,
    pub(crate) findings: FindingRanking,
    max_open: usize,
    selector: Option<FlowSelector>,
    max_steps: usize,
    from_frame: u64,
    recorder: Option<DetailRecorder>,
    detail: Option<FlowDetail>,
    /// The time of the first frame of the capture.
    pub(crate) start_ns: u64,
}

impl Flows {
    /// No flow yet.
    pub(crate) fn new(options: &AnalysisOptions) -> Self {
        Self {
            table: FlowTable::default(),
            count: 0,
            given_up: 0,
            ranking: FlowRanking::new(options.max_flows),
            findings: FindingRanking::new(options.max_findings),
            max_open: options.max_open_flows.max(16),
            selector: options.detail.clone(),
            max_steps: options.max_ladder_steps,
            from_frame: options.ladder_from_frame,
            recorder: None,
            detail: None,
            start_ns: 0,
        }
    }

    /// The flow of a packet, which is begun where there is none, and the recorder when it is the one asked for.
    #[inline]
    pub(crate) fn of_packet(
        &mut self,
        tuple: FlowTuple,
        from_low: bool,
        frame: &FlowFrame<'_>,
        tcp: Option<&TcpHeader>,
    ) -> Option<(&mut FlowState, Option<&mut DetailRecorder>)> {
        let found = self.table.find(&tuple);
        let place = match found {
            Some(place) if !self.is_succeeded(place, from_low, frame, tcp) => place,
            _ => self.begin(tuple, from_low, frame, tcp),
        };
        let flow = self.table.get(place)?;
        let number = flow.number;
        let recorder = self
            .recorder
            .as_mut()
            .filter(|recorder| recorder.flow == number);
        Some((flow, recorder))
    }

    /// The flow with this key.
    pub(crate) fn existing(&mut self, tuple: &FlowTuple) -> Option<&mut FlowState> {
        let place = self.table.find(tuple)?;
        self.table.get(place)
    }

    /// Notes an ICMP error with the flow that it is about, where there is one.
    pub(crate) fn icmp_error(&mut self, error: &IcmpError, frame: u64) {
        let end = |address, port| TupleEnd { address, port };
        let (tuple, from_low) = FlowTuple::of(
            end(error.source, error.source_port),
            end(error.destination, error.destination_port),
            error.protocol,
        );
        if let Some(flow) = self.existing(&tuple) {
            flow.icmp_error(flow.direction(from_low), error, frame);
        }
    }

    /// `true` when the packet is a SYN of another connection than the flow's.
    #[inline]
    fn is_succeeded(
        &mut self,
        place: usize,
        from_low: bool,
        frame: &FlowFrame<'_>,
        tcp: Option<&TcpHeader>,
    ) -> bool {
        let Some(tcp) = tcp else { return false };
        if !tcp.flags.any(TcpFlags::SYN) || tcp.flags.any(TcpFlags::ACK) {
            return false;
        }
        self.table.get(place).is_some_and(|flow| {
            let direction = flow.direction(from_low);
            let has_other_numbers = matches!(&flow.kind, FlowKindState::Tcp(tracker) if tracker.is_succeeded_by(direction, tcp.seq));
            has_other_numbers || flow.is_opened_again(frame)
        })
    }

    fn begin(
        &mut self,
        tuple: FlowTuple,
        from_low: bool,
        frame: &FlowFrame<'_>,
        tcp: Option<&TcpHeader>,
    ) -> usize {
        let before = self.table.remove(&tuple);
        let reuses_ports = before.is_some();
        if let Some(before) = before {
            self.conclude(&before);
        }
        if self.table.len() >= self.max_open {
            for mut flow in self.table.evict() {
                if !flow.is_over() {
                    flow.given_up = true;
                    self.given_up += 1;
                }
                self.conclude(&flow);
            }
        }
        self.count += 1;
        let mut flow = FlowState::new(self.count, tuple, from_low, frame, tcp);
        flow.reuses_ports = reuses_ports;
        if self.recorder.is_none() && self.detail.is_none() && self.is_selected(&flow) {
            self.recorder = Some(DetailRecorder::new(
                self.count,
                self.from_frame,
                self.max_steps,
            ));
        }
        self.table.insert(flow)
    }

    fn is_selected(&self, flow: &FlowState) -> bool {
        match &self.selector {
            None => false,
            Some(FlowSelector::Number(number)) => *number == flow.number,
            Some(FlowSelector::First(filter)) => {
                let tuple = &flow.tuple;
                let has_ports = matches!(tuple.protocol, 6 | 17);
                filter.takes_ends(tuple.low, tuple.high, tuple.transport(), has_ports)
            }
        }
    }

    /// Ends a flow: its document, its findings, its details.
    fn conclude(&mut self, flow: &FlowState) {
        let document = flow.document(self.start_ns);
        for finding in flow.findings(&document) {
            self.findings.push(finding);
        }
        if let Some(recorder) = self
            .recorder
            .take_if(|recorder| recorder.flow == flow.number)
        {
            self.detail = Some(recorder.document(&document));
        }
        self.ranking.push(document);
    }

    /// Ends all flows: those of what follows are others.
    pub(crate) fn conclude_all(&mut self) {
        for flow in self.table.drain() {
            self.conclude(&flow);
        }
    }

    /// Ends all flows, and the capture.
    pub(crate) fn finish(&mut self) -> Option<FlowDetail> {
        self.conclude_all();
        self.detail.take()
    }
}
