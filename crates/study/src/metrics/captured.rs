//! The metrics of a flow that was captured at the host of its client.

use std::fs::File;
use std::io::Read;

use caudal_capture::{
    AnalysisOptions, CaptureAnalysis, CapturedFlow, CapturedTransport, TcpDirectionAnalysis,
};
use caudal_core::plan::Transport;

use super::metric_set::{FlowMetrics, ratio};

/// The bytes of a capture that are read at once.
const PIECE: usize = 1 << 20;

/// Adds the metrics of the capture in a file, of the only flow of its host. The first connection of the client is the one that
/// controls the test.
pub(super) fn add(path: &str, transport: Transport, metrics: &mut FlowMetrics<'_>) {
    let Some(flows) = flows(path) else { return };
    let wanted = match transport {
        Transport::Tcp => CapturedTransport::Tcp,
        Transport::Udp => CapturedTransport::Udp,
    };
    let tcp = flows
        .iter()
        .filter(|flow| flow.transport == CapturedTransport::Tcp);
    let control = tcp.map(|flow| flow.number).min();
    let own: Vec<&CapturedFlow> = flows
        .iter()
        .filter(|flow| flow.transport == wanted && Some(flow.number) != control)
        .collect();
    let max = |of: fn(&CapturedFlow) -> u32| own.iter().map(move |flow| f64::from(of(flow)));
    let sum = |of: fn(&CapturedFlow) -> u64| own.iter().map(|flow| of(flow) as f64).sum();
    let sent = max(|flow| flow.to_server.max_frame_bytes);
    metrics.put("frame_sent_max", sent.reduce(f64::max));
    let received = max(|flow| flow.to_client.max_frame_bytes);
    metrics.put("frame_received_max", received.reduce(f64::max));
    let frames = sum(|flow| flow.to_server.frames + flow.to_client.frames);
    let unfragmented = sum(|flow| flow.to_server.df_frames + flow.to_client.df_frames);
    metrics.put("dont_fragment", ratio(Some(unfragmented), Some(frames)));
    let sides: Vec<&TcpDirectionAnalysis> = own
        .iter()
        .filter_map(|flow| Some(&flow.tcp.as_ref()?.to_server))
        .collect();
    add_tcp(&sides, metrics);
}

/// Adds what the capture shows of the segments of TCP, from client to server.
fn add_tcp(sides: &[&TcpDirectionAnalysis], metrics: &mut FlowMetrics<'_>) {
    let Some(first) = sides.first() else { return };
    let usual = first.segmentation.usual_frame_bytes;
    metrics.put("frame_usual", usual.map(f64::from));
    metrics.put("segment", first.segmentation.segment_bytes.map(f64::from));
    let sum = |of: fn(&TcpDirectionAnalysis) -> u64| -> Option<f64> {
        Some(sides.iter().map(|side| of(side) as f64).sum())
    };
    let segments = sum(|side| side.segmentation.wire_segments);
    metrics.put(
        "segments_per_frame",
        ratio(segments, sum(|side| side.data_frames)),
    );
    let headers = sum(|side| side.segmentation.header_bytes.get());
    let wire = sum(|side| side.segmentation.wire_bytes.get());
    metrics.put("headers", ratio(headers, wire));
}

/// The flows of a capture; `None` where it cannot be read.
fn flows(path: &str) -> Option<Vec<CapturedFlow>> {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions::default());
    analysis.begin_file(path.into());
    let mut file = File::open(path).ok()?;
    let mut piece = vec![0; PIECE];
    loop {
        let length = file.read(&mut piece).ok()?;
        if length == 0 {
            return Some(analysis.finish().summary.flows);
        }
        analysis.push(&piece[..length]).ok()?;
    }
}
