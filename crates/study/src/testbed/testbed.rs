//! The network that the flows of a case cross: a lab, a real network, or this machine alone.

use std::collections::BTreeMap;
use std::rc::Rc;

use caudal_core::units::BitRate;

use super::host_address::HostAddress;
use super::network::LabNetwork;

/// The name of a host that is this machine.
pub const THIS_MACHINE: &str = "this machine";

/// The network that the flows of a case cross.
#[derive(Debug, Clone)]
pub enum Testbed {
    /// A lab, rebuilt for each trial.
    Lab(Rc<LabNetwork>),
    /// A real network between this machine and others.
    Hosts {
        /// The other hosts, by the names that flows give them; a name that is missing is this machine.
        at: BTreeMap<String, HostAddress>,
        /// The network that the experiment describes, for predictions.
        like: Option<Rc<LabNetwork>>,
        /// The rate of its narrowest link.
        link_rate: Option<BitRate>,
    },
    /// The loopback interface of this machine.
    Loopback,
}

impl Testbed {
    /// The network as far as it is known.
    #[must_use]
    pub fn network(&self) -> Option<&LabNetwork> {
        match self {
            Self::Lab(network) => Some(network),
            Self::Hosts { like, .. } => like.as_deref(),
            Self::Loopback => None,
        }
    }
}
