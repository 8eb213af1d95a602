//! Logs of other tools: any bytes are runs or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(runs) = caudal_import::read(bytes, "log") {
        for run in runs {
            assert_eq!(run.run.header.id.len(), 32);
            assert_eq!(run.description.lines().count(), 1, "{:?}", run.description);
        }
    }
});
