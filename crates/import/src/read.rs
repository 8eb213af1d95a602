//! The tests of a file.

use sha2::{Digest, Sha256};

use super::contradictions::resolve_contradictions;
use super::detect::read_logs;
use super::encoding::decoded;
use super::error::{ImportError, MAX_FLOWS, MAX_LOG_BYTES, MAX_TESTS};
use super::imported_run::ImportedRun;
use super::prefix::without_prefixes;
use super::tool_log::ToolLog;
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::io::Read;

/// Reads the tests of a log; `name` is that of the file, for the record.
///
/// # Errors
/// When no test is found in it. Tests in which nothing was measured are left out as long as there are others.
pub fn read(text: &[u8], name: &str) -> Result<Vec<ImportedRun>, ImportError> {
    if text.len() > MAX_LOG_BYTES {
        return Err(ImportError::TooLarge);
    }
    let sha256 = hex::encode(Sha256::digest(text));
    let text = unpacked(text)?;
    let text = decoded(&text);
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
    let mut logs = match without_prefixes(&text) {
        Some(unprefixed) => {
            let mut logs = read_logs(&unprefixed.text)?;
            if let [only] = logs.as_mut_slice() {
                only.set_start(unprefixed.started_ns);
            }
            logs
        }
        None => read_logs(&text)?,
    };
    for log in &mut logs {
        if let ToolLog::Throughput(log) = log {
            resolve_contradictions(log);
        }
    }
    let heads = || logs.iter().map(ToolLog::head);
    let tool = heads().next().map_or("iperf3", |head| head.format.tool());
    let cause = heads().find_map(|head| head.error);
    let measured: Vec<ToolLog> = logs.into_iter().filter(ToolLog::has_counts).collect();
    if measured.is_empty() {
        return Err(ImportError::Nothing { tool, cause });
    }
    if measured.len() > MAX_TESTS || measured.iter().any(|log| log.flow_count() > MAX_FLOWS) {
        return Err(ImportError::TooMany);
    }
    let numbered = measured.iter().enumerate();
    Ok(numbered
        .map(|(position, log)| ImportedRun::new(log, name, &sha256, position))
        .collect())
}

/// The content of a file that gzip packed, or the file as it is.
fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ImportError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut content = Vec::new();
    let unpacking = MultiGzDecoder::new(bytes)
        .take(MAX_LOG_BYTES as u64 + 1)
        .read_to_end(&mut content);
    // What there is of a file that breaks off is read like any other.
    if content.is_empty() {
        unpacking.map_err(|cause| ImportError::Broken {
            tool: "gzip",
            cause: cause.to_string(),
        })?;
    }
    if content.len() > MAX_LOG_BYTES {
        return Err(ImportError::TooLarge);
    }
    Ok(Cow::Owned(content))
}
