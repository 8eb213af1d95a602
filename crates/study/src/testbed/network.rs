//! A network that a lab can build.

use caudal_experiment::TestbedFile;
use caudal_topology::{
    FileError, LinkOverrideError, Location, PRESETS, PathStep, Preset, Topology, TopologyError,
    TopologyFile, parse_file,
};

use crate::error::StudyError;
use crate::source::ExperimentSource;

/// The remedy for a topology that is written wrong.
const SEE_SCHEMA: &str = "`caudal lab schema` prints what may be written";

/// The parameter by which the kernel keeps nothing of a connection for the next to the same host (ip-sysctl.rst).
const NO_METRICS_SAVE: &str = "net.ipv4.tcp_no_metrics_save";

/// A network that a lab can build.
#[derive(Debug, Clone)]
pub struct LabNetwork {
    /// Its file, with all changes.
    pub file: TopologyFile,
    /// The network with every default filled in.
    pub topology: Topology,
}

impl LabNetwork {
    /// The network that an experiment describes; `None` when it describes none.
    ///
    /// # Errors
    /// Names the file, line and key of what cannot be built.
    pub(super) fn resolve(
        testbed: &TestbedFile,
        source: &mut ExperimentSource,
    ) -> Result<Option<Self>, StudyError> {
        let (mut file, named_file) = if let Some(name) = &testbed.preset {
            (preset_file(name, testbed, source)?, None)
        } else if let Some(name) = &testbed.file {
            let (path, text) = source.named_file(name)?;
            (topology_file(&path, &text)?, Some((path, text)))
        } else if let Some(file) = &testbed.lab {
            (file.clone(), None)
        } else {
            return Ok(None);
        };
        for (nth, change) in testbed.set.iter().enumerate() {
            file = file
                .with_override(change)
                .map_err(|error| override_error(&error, nth, source))?;
        }
        // Trials follow one another on one network: what the kernel kept of one must not set the window of the next.
        file.sysctl
            .entry(NO_METRICS_SAVE.to_owned())
            .or_insert_with(|| "1".to_owned());
        let topology = Topology::resolve(&file).map_err(|error| match &named_file {
            Some((path, text)) => {
                let (location, problem) = (&error.location, &error.problem);
                FileError::at(path, Some(text), location, problem, &error.remedy).into()
            }
            None => topology_error(&error, testbed, source),
        })?;
        Ok(Some(Self { file, topology }))
    }
}

/// Parses the topology file that an experiment names.
fn topology_file(path: &str, text: &str) -> Result<TopologyFile, FileError> {
    parse_file(path, text).map_err(|error| FileError {
        remedy: Some(SEE_SCHEMA.to_owned()),
        ..error
    })
}

/// The location of the network in the experiment's file.
pub(super) fn topology_location() -> Location {
    Location(Vec::new()).key("topology")
}

/// The file of a preset.
fn preset_file(
    name: &str,
    testbed: &TestbedFile,
    source: &ExperimentSource,
) -> Result<TopologyFile, StudyError> {
    let error_at = |key: &str, problem: &str, remedy: &str| {
        source.error_at(&topology_location().key(key), problem, remedy)
    };
    let see_presets = "see `caudal lab preset`";
    let preset = Preset::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|one| one.name).collect();
        error_at(
            "preset",
            &format!("there is no preset {name:?}"),
            &format!("take one of {}", names.join(", ")),
        )
    })?;
    let number = testbed.number.as_ref().map(|number| {
        let whole = number.number().filter(|it| *it >= 0.0 && it.fract() == 0.0);
        whole.map(|it| it as usize).ok_or_else(|| {
            error_at(
                "number",
                &format!("{number} is no whole number"),
                see_presets,
            )
        })
    });
    preset
        .file(number.transpose()?)
        .map_err(|problem| error_at("number", &problem.to_string(), see_presets))
}

/// The error of change `nth` of the topology.
fn override_error(error: &LinkOverrideError, nth: usize, source: &ExperimentSource) -> StudyError {
    let mut location = topology_location().key("set");
    location.0.push(PathStep::Index(nth));
    let remedy = match error {
        LinkOverrideError::NoValue(_) | LinkOverrideError::NoKey(_) => {
            "write it as bottleneck.rate=5M".to_owned()
        }
        LinkOverrideError::NoSuchLink { links, .. } => format!("take one of {}", links.join(", ")),
        LinkOverrideError::Invalid { .. } => SEE_SCHEMA.to_owned(),
    };
    source.error_at(&location, &error.to_string(), &remedy)
}

/// An error of a topology that is written in the experiment's file, or is a preset.
fn topology_error(
    error: &TopologyError,
    testbed: &TestbedFile,
    source: &ExperimentSource,
) -> StudyError {
    let mut location = topology_location();
    if testbed.lab.is_some() {
        location = location.key("lab");
        location.0.extend(error.location.0.iter().cloned());
    }
    source.error_at(&location, &error.problem, &error.remedy)
}
