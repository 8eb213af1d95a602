//! The experiments that come with the program.

/// An experiment that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// What it is called.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// Makes the list of the names of files in `studies/`.
macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../../../../studies/", $name, ".toml")),
        }),*]
    };
}

/// All of them, in the order they are listed and run.
pub const SHIPPED: &[Shipped] = shipped! {
    "starvation"
    "goodput-duplex"
    "echo-rtt"
    "echo-capacity"
    "iperf-options"
    "policing"
    "load-balancing"
    "udp-buffers"
};

/// The one called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}
