//! The locations of keys that `--quick` may have replaced.

use caudal_topology::Location;

use super::error::top;
use crate::file::QuickFile;

/// The locations of keys: in `[quick]` where that replaced them.
pub(super) struct KeyLocations<'a>(pub(super) Option<&'a QuickFile>);

impl KeyLocations<'_> {
    pub(super) fn time(&self, key: &str) -> Location {
        let time = self.0.and_then(|quick| quick.time.as_ref());
        let replaced = time.is_some_and(|time| match key {
            "measure" => time.measure.is_some(),
            "warm_up" => time.warm_up.is_some(),
            _ => time.interval.is_some(),
        });
        if replaced {
            return top("quick").key("time").key(key);
        }
        top("time").key(key)
    }

    pub(super) fn repeat(&self, key: &str) -> Location {
        let repeat = self.0.and_then(|quick| quick.repeat.as_ref());
        let replaced = repeat.is_some_and(|repeat| match key {
            "min" => repeat.min.is_some(),
            "max" => repeat.max.is_some(),
            "relative_error" => repeat.relative_error.is_some(),
            "confidence" => repeat.confidence.is_some(),
            "of" => !repeat.of.is_empty(),
            _ => repeat.retries.is_some(),
        });
        if replaced {
            return top("quick").key("repeat").key(key);
        }
        top("repeat").key(key)
    }

    pub(super) fn flow(&self, index: usize, name: &str, key: &str) -> Location {
        let flow = self.0.and_then(|quick| quick.flow.get(name));
        let replaced = flow.is_some_and(|flow| match key {
            "messages" => flow.messages.is_some(),
            "length" => flow.length.is_some(),
            "bytes" => flow.bytes.is_some(),
            _ => false,
        });
        if replaced {
            return top("quick").key("flow").key(name).key(key);
        }
        Location::element("flow", index).key(key)
    }

    pub(super) fn values(&self, index: usize, name: &str) -> Location {
        if self.0.is_some_and(|quick| quick.values.contains_key(name)) {
            return top("quick").key("values").key(name);
        }
        Location::element("parameter", index).key("values")
    }
}
