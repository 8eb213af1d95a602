//! The choice between the emulator and the kernel for each link.

use caudal_core::units::BitRate;

use crate::file::Driver;
use crate::impairments::Impairments;
use crate::link::Duplex;
use crate::topology::Topology;

/// Maximum rate of a link that [`Driver::Auto`] emulates; faster ones are left to the kernel.
const MAX_EMULATED_BY_DEFAULT: BitRate = BitRate::from_bps(100_000_000);

impl Topology {
    /// The driver of `link`, with [`Driver::Auto`] decided.
    #[must_use]
    pub fn driver(&self, link: usize) -> Driver {
        let is_fast = |impairments: &Impairments| {
            let rate = impairments.constant_rate();
            rate.is_none_or(|rate| rate > MAX_EMULATED_BY_DEFAULT)
        };
        match self.links[link].driver {
            Driver::Auto
                if self.links[link].directions.iter().all(is_fast)
                    && self.check_kernel_driver(link).is_ok() =>
            {
                Driver::Kernel
            }
            Driver::Auto => Driver::Emulated,
            requested => requested,
        }
    }

    /// Checks that the kernel can be the driver of `link`.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub(crate) fn check_kernel_driver(&self, link: usize) -> Result<(), &'static str> {
        let link = &self.links[link];
        let has_addresses = |node: usize| self.nodes[node].has_addresses();
        if !link.ends.iter().all(|end| has_addresses(end.node)) {
            return Err("switches and hubs are emulated");
        }
        if link.duplex != Duplex::Full {
            return Err("half duplex is emulated");
        }
        let is_plain = Impairments::has_only_constant_rate_and_drop_tail;
        if !link.directions.iter().all(is_plain) {
            return Err("the kernel can give a link only a rate and a drop-tail queue");
        }
        Ok(())
    }
}
