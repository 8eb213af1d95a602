//! The tests of a file.

use sha2::{Digest, Sha256};

use super::contradictions::resolve_contradictions;
use super::detect::read_logs;
use super::encoding::decoded;
use super::error::{ImportError, MAX_FLOWS, MAX_LOG_BYTES, MAX_TESTS};
use super::imported_run::ImportedRun;
use super::log::Log;
use super::prefix::without_prefixes;

/// Reads the tests of a log; `name` is that of the file, for the record.
///
/// # Errors
/// When no test is found in it. Tests in which nothing was measured are left out as long as there are others.
pub fn read(text: &[u8], name: &str) -> Result<Vec<ImportedRun>, ImportError> {
    if text.len() > MAX_LOG_BYTES {
        return Err(ImportError::TooLarge);
    }
    let sha256 = hex::encode(Sha256::digest(text));
    let text = decoded(text);
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
    let mut logs = match without_prefixes(&text) {
        Some(unprefixed) => {
            let mut logs = read_logs(&unprefixed.text)?;
            if let [only] = logs.as_mut_slice() {
                only.started_ns = only.started_ns.or(unprefixed.started_ns);
            }
            logs
        }
        None => read_logs(&text)?,
    };
    logs.iter_mut().for_each(resolve_contradictions);
    let tool = logs.first().map_or("iperf3", |log| log.format.tool());
    let cause = logs.iter().find_map(|log| log.error.clone());
    let measured: Vec<Log> = logs.into_iter().filter(Log::has_counts).collect();
    if measured.is_empty() {
        return Err(ImportError::Nothing { tool, cause });
    }
    if measured.len() > MAX_TESTS || measured.iter().any(|log| log.flows.len() > MAX_FLOWS) {
        return Err(ImportError::TooMany);
    }
    let numbered = measured.iter().enumerate();
    Ok(numbered
        .map(|(position, log)| ImportedRun::new(log, name, &sha256, position))
        .collect())
}
