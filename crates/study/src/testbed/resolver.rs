//! The testbeds of the cases of an experiment.

use std::collections::BTreeMap;
use std::rc::Rc;

use caudal_core::units::BitRate;
use caudal_experiment::{Case, TestbedFile};

use super::check::check_flows;
use super::host_address::{HostAddress, parse_address};
use super::network::{LabNetwork, topology_location};
use super::testbed::Testbed;
use crate::error::StudyError;
use crate::source::ExperimentSource;

/// Resolves the testbeds of cases, each network once.
#[derive(Debug, Default)]
pub(crate) struct TestbedResolver {
    known: BTreeMap<String, Rc<LabNetwork>>,
}

impl TestbedResolver {
    /// The testbed of a case. Explicit `hosts` replace whatever network the experiment describes.
    ///
    /// # Errors
    /// When its network cannot be built, or its flows do not fit it.
    pub(crate) fn resolve(
        &mut self,
        case: &Case,
        source: &mut ExperimentSource,
        hosts: Option<&BTreeMap<String, HostAddress>>,
    ) -> Result<Testbed, StudyError> {
        let network = self.network(&case.testbed, source)?;
        let link_rate = link_rate(&case.testbed, source)?;
        let testbed = match (hosts, &case.testbed.hosts, network) {
            (Some(at), _, like) => Testbed::Hosts {
                at: at.clone(),
                like,
                link_rate,
            },
            (None, Some(written), _) => Testbed::Hosts {
                at: addresses(written, source)?,
                like: None,
                link_rate,
            },
            (None, None, Some(network)) => Testbed::Lab(network),
            (None, None, None) => Testbed::Loopback,
        };
        check_flows(case, &testbed, source)?;
        Ok(testbed)
    }

    fn network(
        &mut self,
        testbed: &TestbedFile,
        source: &mut ExperimentSource,
    ) -> Result<Option<Rc<LabNetwork>>, StudyError> {
        let key = serde_json::to_string(testbed).unwrap_or_default();
        if let Some(network) = self.known.get(&key) {
            return Ok(Some(Rc::clone(network)));
        }
        let Some(network) = LabNetwork::resolve(testbed, source)? else {
            return Ok(None);
        };
        let network = Rc::new(network);
        self.known.insert(key, Rc::clone(&network));
        Ok(Some(network))
    }
}

/// The rate of the narrowest link, as the experiment gives it for a real network.
fn link_rate(
    testbed: &TestbedFile,
    source: &ExperimentSource,
) -> Result<Option<BitRate>, StudyError> {
    let Some(text) = &testbed.link_rate else {
        return Ok(None);
    };
    let rate = text.parse::<BitRate>().map_err(|error| {
        let location = topology_location().key("link_rate");
        source.error_at(&location, &error.to_string(), "write it as 100M")
    })?;
    Ok(Some(rate))
}

/// The addresses of hosts as the experiment writes them.
fn addresses(
    written: &BTreeMap<String, String>,
    source: &ExperimentSource,
) -> Result<BTreeMap<String, HostAddress>, StudyError> {
    let parse = |(name, text): (&String, &String)| {
        let address = parse_address(text).map_err(|problem| {
            source.error_at(
                &topology_location().key("hosts").key(name),
                &problem,
                "write it as 192.0.2.1 or far.example:5201",
            )
        })?;
        Ok((name.clone(), address))
    };
    written.iter().map(parse).collect()
}
