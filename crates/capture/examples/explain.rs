//! Explains captures as a JSON document: `cargo run -p caudal-capture --example explain -- FILE…`.

use caudal_capture::{AnalysisOptions, CaptureAnalysis};
use std::fs::File;
use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions::default());
    let mut piece = vec![0; 1 << 22];
    for name in std::env::args().skip(1) {
        let mut file = File::open(&name)?;
        analysis.begin_file(name.into());
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                break;
            }
            analysis.push(&piece[..read])?;
        }
    }
    let report = analysis.finish();
    println!("{}", serde_json::to_string_pretty(&report.summary)?);
    Ok(())
}
