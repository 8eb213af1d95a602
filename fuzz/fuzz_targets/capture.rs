//! Files of captured frames, in two pieces, with one flow in detail.
#![no_main]

use caudal_capture::{AnalysisOptions, CaptureAnalysis, FlowSelector};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options = AnalysisOptions {
        detail: Some(FlowSelector::Number(1)),
        max_open_flows: 16,
        ..AnalysisOptions::default()
    };
    let mut analysis = CaptureAnalysis::new(&options);
    analysis.begin_file("fuzz".into());
    let (one, two) = bytes.split_at(bytes.len() / 2);
    if analysis.push(one).and_then(|()| analysis.push(two)).is_ok() {
        let _ = analysis.finish();
    }
});
