//! The machines of a run, and their load meanwhile.

use super::text::{bits, fold, percent};
use super::width::LineWidth;
use caudal_core::host::Host;
use caudal_core::run::{Environment, MachineLoad};
use caudal_core::text::ExternalText;

/// The machines in a line or two each, and the load during the run.
#[must_use]
pub fn machine_lines(environment: &Environment, width: LineWidth) -> Vec<String> {
    let hosts = [
        ("client", &environment.client),
        ("server", &environment.server),
    ];
    let mut lines: Vec<String> = hosts
        .into_iter()
        .filter_map(|(name, host)| host_line(name, host.as_ref()?, width))
        .collect();
    let machine = environment.machine.as_ref();
    lines.extend(machine.and_then(|machine| load_line(machine.meanwhile.as_ref()?, width)));
    lines
}

/// A host: its name, kernel, processors and interface.
fn host_line(name: &str, host: &Host, width: LineWidth) -> Option<String> {
    let given = |text: &ExternalText| Some(text.to_string()).filter(|text| !text.is_empty());
    let kernel = given(&host.kernel).map(|kernel| format!("Linux {kernel}"));
    let cpu = given(&host.cpu).filter(|_| host.cpus > 0);
    let parts = [
        given(&host.name),
        kernel,
        cpu.map(|cpu| format!("{} × {cpu}", host.cpus)),
        host.interface
            .as_ref()
            .map(|interface| interface_text(interface, host)),
        host.congestion_control.as_ref().map(ToString::to_string),
        host.load_average.map(|load| format!("load {load}")),
        given(&host.tool),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let line = || fold(&format!("{name}: {}", parts.join(", ")), 4, width);
    (!parts.is_empty()).then(line)
}

/// The interface of a host with its properties.
fn interface_text(name: &ExternalText, host: &Host) -> String {
    let parts = [
        Some(name.to_string()),
        host.mtu.map(|mtu| format!("MTU {mtu}")),
        host.speed_mbps.map(|speed| bits(f64::from(speed) * 1e6)),
        host.driver.as_ref().map(ToString::to_string),
        host.qdisc.as_ref().map(ToString::to_string),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The load of the machine during the run.
fn load_line(load: &MachineLoad, width: LineWidth) -> Option<String> {
    let averages = load.load_average_before.zip(load.load_average_after);
    let averages = averages
        .map(|([before, ..], [after, ..])| format!("load {before} before and {after} after"));
    let shares = load.cpu.map(|cpu| {
        [
            ("idle", cpu.idle),
            ("in interrupts", cpu.soft_irq),
            ("stolen", cpu.steal),
        ]
    });
    let shares = shares.into_iter().flatten();
    let shares = shares.map(|(name, share)| format!("processors {name} {}", percent(share)));
    let parts: Vec<String> = averages.into_iter().chain(shares).collect();
    let line = || fold(&format!("during the run: {}", parts.join(", ")), 4, width);
    (!parts.is_empty()).then(line)
}
