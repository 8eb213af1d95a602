//! How much a condition can matter for the metrics compared.

use super::direction::base_name;
use std::collections::BTreeSet;

/// The transport protocols of the runs compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedTransport {
    /// TCP alone.
    Tcp,
    /// UDP alone.
    Udp,
    /// Both, or not known.
    Any,
}

/// What conditions are weighed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensitivity {
    /// `true` when a rate is compared.
    pub rates: bool,
    /// `true` when losses or delay variation are compared.
    pub losses: bool,
    /// `true` when round-trip times are compared.
    pub delays: bool,
    /// The transport protocols.
    pub transport: ComparedTransport,
}

impl Sensitivity {
    /// The sensitivity of metrics with these full names.
    pub fn of<'a>(metrics: impl Iterator<Item = &'a str>, transport: ComparedTransport) -> Self {
        let bases: BTreeSet<&str> = metrics.map(base_name).collect();
        let any = |of: &dyn Fn(&str) -> bool| bases.iter().any(|base| of(base));
        let is_delay = |base: &str| base.starts_with("rtt");
        let is_loss = |base: &str| base.starts_with("los") || base == "jitter";
        Self {
            rates: any(&|base| !is_delay(base) && !is_loss(base)),
            losses: any(&is_loss),
            delays: any(&is_delay),
            transport,
        }
    }
}

/// How much a condition can matter for rates, for losses and delay variation, and for round-trip times; from 0, not at all, to 9.
#[derive(Clone, Copy)]
struct Rule {
    /// A segment of the path to the condition.
    name: &'static str,
    rates: u8,
    losses: u8,
    delays: u8,
    transport: ComparedTransport,
}

const fn rule(name: &'static str, [rates, losses, delays]: [u8; 3]) -> Rule {
    Rule {
        name,
        rates,
        losses,
        delays,
        transport: ComparedTransport::Any,
    }
}

const fn of(transport: ComparedTransport, rule: Rule) -> Rule {
    Rule { transport, ..rule }
}

/// Conditions by the last segment of their paths. Those that identify the machine, laboratory or moment, rather than describe it, have no
/// weight.
const RULES: [Rule; 48] = [
    of(
        ComparedTransport::Tcp,
        rule("congestion_control", [8, 3, 6]),
    ),
    of(
        ComparedTransport::Tcp,
        rule("tcp_congestion_control", [8, 3, 6]),
    ),
    rule("out_bps", [8, 8, 8]),
    rule("in_bps", [8, 8, 8]),
    rule("speed_mbps", [8, 8, 6]),
    rule("duplex", [8, 8, 6]),
    rule("qdisc", [7, 7, 7]),
    rule("mtu", [7, 5, 3]),
    rule("offloads", [6, 5, 4]),
    of(ComparedTransport::Tcp, rule("tcp_rmem", [6, 0, 2])),
    of(ComparedTransport::Tcp, rule("tcp_wmem", [6, 0, 2])),
    of(
        ComparedTransport::Tcp,
        rule("tcp_window_scaling", [6, 0, 2]),
    ),
    rule("rmem_max", [5, 5, 1]),
    rule("wmem_max", [5, 5, 1]),
    rule("rmem_default", [3, 5, 1]),
    rule("wmem_default", [3, 3, 1]),
    rule("default_qdisc", [4, 4, 4]),
    rule("driver", [5, 5, 5]),
    rule("kernel", [5, 5, 5]),
    rule("tool", [5, 5, 5]),
    rule("caudal", [5, 5, 5]),
    rule("build", [5, 5, 6]),
    rule("cpu", [4, 4, 4]),
    rule("interface", [4, 4, 4]),
    rule("governor", [3, 3, 5]),
    rule("clock_source", [0, 1, 4]),
    rule("architecture", [3, 3, 3]),
    rule("cpus", [3, 3, 2]),
    rule("sysctls", [3, 3, 2]),
    rule("memory_bytes", [2, 2, 0]),
    rule("kernel_build", [2, 2, 2]),
    rule("load_average", [1, 2, 2]),
    rule("load_average_before", [1, 2, 2]),
    rule("load_average_after", [1, 2, 2]),
    rule("user", [1, 2, 2]),
    rule("nice", [1, 1, 1]),
    rule("system", [1, 2, 2]),
    rule("io_wait", [1, 1, 1]),
    rule("irq", [1, 2, 2]),
    rule("soft_irq", [1, 2, 2]),
    rule("steal", [2, 3, 3]),
    rule("idle", [1, 1, 1]),
    rule("name", [0, 0, 0]),
    rule("boot_id", [0, 0, 0]),
    rule("time_namespace", [0, 0, 0]),
    rule("lab", [0, 0, 0]),
    rule("link", [0, 0, 0]),
    rule("elapsed_s", [0, 0, 0]),
];

/// Requested settings that do not change what is measured.
const INERT_SETTINGS: [&str; 5] = [
    "plan.peer",
    "plan.seed",
    "plan.interval_ns",
    "plan.timeout_ns",
    "experiment.seed",
];

/// How much the condition at `path` can matter: from 0, not at all, to 9, which is what the test itself asked for.
#[must_use]
pub fn condition_weight(path: &str, to: Sensitivity) -> u8 {
    const REQUESTED: u8 = 9;
    const UNKNOWN: u8 = 1;
    if INERT_SETTINGS.contains(&path) {
        return 0;
    }
    if path.starts_with("plan.") || path.starts_with("experiment.") {
        return REQUESTED;
    }
    let is_tcp_setting = path.contains(".sysctls.net.ipv4.tcp_");
    let is_udp_setting = path.contains(".sysctls.net.ipv4.udp_");
    if (is_tcp_setting && to.transport == ComparedTransport::Udp)
        || (is_udp_setting && to.transport == ComparedTransport::Tcp)
    {
        return 0;
    }
    let found = path
        .rsplit('.')
        .find_map(|segment| RULES.iter().find(|rule| rule.name == segment));
    let Some(rule) = found else {
        return UNKNOWN;
    };
    if rule.transport == ComparedTransport::Tcp && to.transport == ComparedTransport::Udp {
        return 0;
    }
    let weighed = [
        (to.rates, rule.rates),
        (to.losses, rule.losses),
        (to.delays, rule.delays),
    ];
    let weights = weighed.into_iter().filter(|(is_compared, _)| *is_compared);
    weights.map(|(_, weight)| weight).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sensitivity(metric: &str, transport: ComparedTransport) -> Sensitivity {
        Sensitivity::of(std::iter::once(metric), transport)
    }

    #[test]
    fn conditions_are_weighed_by_the_metric_and_the_transport() {
        let tcp = sensitivity("goodput", ComparedTransport::Tcp);
        let udp = sensitivity("loss", ComparedTransport::Udp);
        let echo = sensitivity("rtt 64 B", ComparedTransport::Udp);
        let weight = |path: &str, to| condition_weight(path, to);
        assert!(weight("plan.congestion", tcp) > weight("client.congestion_control", tcp));
        assert!(weight("client.congestion_control", tcp) > weight("client.qdisc", tcp));
        assert!(weight("client.qdisc", tcp) > weight("client.offloads", tcp));
        assert!(weight("client.mtu", tcp) > weight("client.kernel", tcp));
        assert!(weight("client.kernel", tcp) > weight("client.cpu", tcp));
        assert!(weight("client.cpu", tcp) > weight("client.load_average", tcp));
        assert_eq!(weight("server.congestion_control", udp), 0);
        assert_eq!(weight("machine.sysctls.net.ipv4.tcp_rmem", echo), 0);
        assert_eq!(weight("machine.clock_source", tcp), 0);
        assert!(weight("machine.clock_source", echo) > 0);
        for path in [
            "client.name",
            "server.boot_id",
            "client.lab_link.lab",
            "plan.peer",
        ] {
            assert_eq!(weight(path, tcp), 0, "{path}");
        }
    }

    #[test]
    fn every_property_of_a_host_and_a_machine_has_a_rule() {
        let schema = include_str!("../../../../docs/reference/run.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        for of in [
            "Host",
            "Machine",
            "MachineInterface",
            "MachineLoad",
            "CpuShares",
        ] {
            let properties = schema["$defs"][of]["properties"].as_object().unwrap();
            for key in properties.keys() {
                let is_container = ["meanwhile", "lab_link"].contains(&key.as_str());
                let has_rule = RULES.iter().any(|rule| rule.name == key);
                assert!(is_container || has_rule, "{of}.{key}");
            }
        }
    }
}
