//! Compares the captures of one flow at two points: `cargo run -p caudal-capture --example ends -- FILTER FIRST SECOND`.

use caudal_capture::{EndsRecorder, compare_ends};
use std::fs::File;
use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [filter, first, second] = arguments.as_slice() else {
        return Err("give a filter and two files".into());
    };
    let record = |name: &String| -> Result<EndsRecorder, Box<dyn std::error::Error>> {
        let mut recorder = EndsRecorder::new(filter.parse()?);
        let mut piece = vec![0; 1 << 22];
        let mut file = File::open(name)?;
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(recorder);
            }
            recorder.push(&piece[..read])?;
        }
    };
    let comparison = compare_ends(&record(first)?, &record(second)?)?;
    println!("{}", serde_json::to_string_pretty(&comparison)?);
    Ok(())
}
