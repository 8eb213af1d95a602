//! The experiments that come with the program.

/// An experiment that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// What it is called.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// All of them, in the order they are listed and run.
pub const SHIPPED: &[Shipped] = &[
    Shipped {
        name: "starvation",
        text: include_str!("../../../../studies/starvation.toml"),
    },
    Shipped {
        name: "goodput-duplex",
        text: include_str!("../../../../studies/goodput-duplex.toml"),
    },
    Shipped {
        name: "echo-rtt",
        text: include_str!("../../../../studies/echo-rtt.toml"),
    },
    Shipped {
        name: "echo-capacity",
        text: include_str!("../../../../studies/echo-capacity.toml"),
    },
    Shipped {
        name: "iperf-options",
        text: include_str!("../../../../studies/iperf-options.toml"),
    },
    Shipped {
        name: "policing",
        text: include_str!("../../../../studies/policing.toml"),
    },
    Shipped {
        name: "load-balancing",
        text: include_str!("../../../../studies/load-balancing.toml"),
    },
    Shipped {
        name: "udp-buffers",
        text: include_str!("../../../../studies/udp-buffers.toml"),
    },
];

/// The one called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}
