//! The experiments that come with the program.

/// An experiment that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedExperiment {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// The experiments with these names: their files are in `studies/`.
macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(ShippedExperiment {
            name: $name,
            text: include_str!(concat!("../studies/", $name, ".toml")),
        }),*]
    };
}

/// All experiments that come with the program, in the order they are listed and run.
pub const SHIPPED_EXPERIMENTS: &[ShippedExperiment] = shipped! {
    "starvation"
    "goodput-duplex"
    "echo-rtt"
    "segmentation"
    "echo-capacity"
    "iperf-options"
    "policing"
    "load-balancing"
    "udp-buffers"
    "bufferbloat"
    "file-transfer"
    "file-transfer-links"
    "path-accuracy"
    "duplex"
};

/// The experiment called `name`.
#[must_use]
pub fn shipped_experiment(name: &str) -> Option<&'static ShippedExperiment> {
    SHIPPED_EXPERIMENTS
        .iter()
        .find(|shipped| shipped.name == name)
}
