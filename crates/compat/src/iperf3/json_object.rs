//! JSON objects whose keys keep their order.

use caudal_core::text::ExternalText;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

/// A JSON object whose keys keep their order.
#[derive(Debug, Clone, Default)]
pub struct JsonObject(Vec<(&'static str, JsonNode)>);

/// A value of a JSON object.
#[derive(Debug, Clone)]
pub enum JsonNode {
    /// Another object.
    Object(JsonObject),
    /// Several objects.
    List(Vec<JsonObject>),
    /// Any other value.
    Value(Value),
}

impl JsonObject {
    /// The object with one more key.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<JsonNode>) -> Self {
        self.0.push((key, value.into()));
        self
    }

    /// The object with one more key where there is a value.
    #[must_use]
    pub fn with_some(self, key: &'static str, value: Option<impl Into<JsonNode>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The object with the keys of another behind its own.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The text as iperf3 lays it out: a key a line, indented with tabs.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut text = Vec::new();
        let format = serde_json::ser::PrettyFormatter::with_indent(b"\t");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
        // Writing into memory does not fail.
        let _ = self.serialize(&mut serializer);
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Serialize for JsonNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(object) => object.serialize(serializer),
            Self::List(list) => list.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl From<JsonObject> for JsonNode {
    fn from(object: JsonObject) -> Self {
        Self::Object(object)
    }
}

impl From<Vec<JsonObject>> for JsonNode {
    fn from(list: Vec<JsonObject>) -> Self {
        Self::List(list)
    }
}

impl From<Value> for JsonNode {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<ExternalText> for JsonNode {
    fn from(text: ExternalText) -> Self {
        Self::Value(json!(text))
    }
}

macro_rules! from_scalar {
    ($($kind:ty),*) => {
        $(impl From<$kind> for JsonNode {
            fn from(value: $kind) -> Self {
                Self::Value(json!(value))
            }
        })*
    };
}
from_scalar!(u64, u32, u16, i64, i32, usize, bool, String, &str);

/// Largest magnitude below which all integers are representable exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

impl From<f64> for JsonNode {
    /// An integral number has no decimal point, as in the JSON of iperf3: readers with types take `1.0` for no integer.
    fn from(value: f64) -> Self {
        if value.fract() == 0.0 && value.abs() <= MAX_EXACT {
            Self::Value(json!(value as i64))
        } else {
            Self::Value(json!(value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integral_number_is_written_as_an_integer() {
        let object = JsonObject::default()
            .with("interval", 1.0)
            .with("end", 1.5)
            .with("none", -0.0)
            .with("bits_per_second", 1e10)
            .with("huge", 1e300);
        let text = serde_json::to_string(&object).unwrap();
        assert_eq!(
            text,
            r#"{"interval":1,"end":1.5,"none":0,"bits_per_second":10000000000,"huge":1e+300}"#
        );
    }
}
