//! What flags ask of this machine, checked before anything is connected to.

use crate::exit::{Exit, Failure};
use caudal_sys::affinity;

/// Checks that this kernel offers a congestion control; `offered` are those it has.
///
/// # Errors
/// Names those there are.
pub(crate) fn check_congestion(name: &str, offered: &[String]) -> Result<(), Failure> {
    if offered.iter().any(|one| one == name) {
        return Ok(());
    }
    Err(Failure::new(
        Exit::NotPermitted,
        format!("this kernel offers no congestion control {name:?}"),
        format!("choose one of {}, or load its module", offered.join(", ")),
    ))
}

/// Checks that there are as many local ports from `--local-port` on as sockets.
///
/// # Errors
/// When they reach beyond the last port.
pub(crate) fn check_local_ports(first: Option<u16>, sockets: u32) -> Result<(), Failure> {
    let Some(first) = first else {
        return Ok(());
    };
    let last = u32::from(first).saturating_add(sockets.saturating_sub(1));
    if last <= u32::from(u16::MAX) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("--local-port {first} leaves no port for each of {sockets} flows"),
        format!(
            "give at most {}",
            u32::from(u16::MAX) + 1 - sockets.min(u32::from(u16::MAX))
        ),
    ))
}

/// Checks that this program may use the processors of `--affinity`.
///
/// # Errors
/// Names the first that it may not.
pub(crate) fn check_affinity(cpus: &[usize]) -> Result<(), Failure> {
    let available = affinity::available_cpus();
    match cpus.iter().find(|cpu| !available.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => Err(Failure::usage(
            format!("--affinity names processor {cpu}, which this program may not use"),
            format!("it may use {available:?}"),
        )),
    }
}
