//! JSON objects in a text, one after another, the last of which may be cut off.

use serde_json::Value;

/// The objects of a text.
#[derive(Debug, Clone, Default)]
pub struct JsonObjects {
    /// The objects, in their order.
    pub objects: Vec<Value>,
    /// The first error of the parser.
    pub error: Option<String>,
    /// `true` when the parser stopped in the middle of an object that could be closed.
    pub is_cut_off: bool,
}

impl JsonObjects {
    /// Reads the objects of a text until there are too many.
    #[must_use]
    pub fn read(text: &str, are_too_many: impl Fn(&[Value]) -> bool) -> Self {
        let mut all = Self::default();
        let mut rest = text;
        while let Some(at) = rest.find('{').filter(|_| !are_too_many(&all.objects)) {
            rest = &rest[at..];
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            match stream.next() {
                Some(Ok(value)) => {
                    rest = &rest[stream.byte_offset()..];
                    all.objects.push(value);
                }
                Some(Err(error)) => {
                    if let Some(value) = repaired(rest) {
                        all.is_cut_off = true;
                        all.objects.push(value);
                    }
                    all.error.get_or_insert_with(|| error.to_string());
                    // Another object may begin at the start of a later line.
                    match rest.find("\n{") {
                        Some(at) => rest = &rest[at + 1..],
                        None => break,
                    }
                }
                None => break,
            }
        }
        all
    }
}

/// The object that a text begins with, closed where the text ends. Old versions of iperf3 write `nan` and `inf`, which
/// are no JSON; they become null.
fn repaired(text: &str) -> Option<Value> {
    let text = match text.find("\n{") {
        Some(at) => &text[..at],
        None => text,
    };
    let mut repaired = String::with_capacity(text.len());
    let (mut stack, mut complete) = (Vec::new(), None);
    let (mut is_in_text, mut is_escaped) = (false, false);
    let mut token = String::new();
    let push_token = |token: &mut String, repaired: &mut String| {
        match token.as_str() {
            "nan" | "-nan" | "inf" | "-inf" => repaired.push_str("null"),
            other => repaired.push_str(other),
        }
        token.clear();
    };
    for c in text.chars() {
        if is_in_text {
            repaired.push(c);
            (is_in_text, is_escaped) = (is_escaped || c != '"', !is_escaped && c == '\\');
            continue;
        }
        if c.is_ascii_alphanumeric() || "+-.".contains(c) {
            token.push(c);
            continue;
        }
        push_token(&mut token, &mut repaired);
        match c {
            '"' => is_in_text = true,
            '{' => stack.push('}'),
            '[' => stack.push(']'),
            '}' | ']' => {
                if stack.pop() != Some(c) {
                    return None;
                }
                repaired.push(c);
                complete = Some((repaired.len(), stack.clone()));
                if stack.is_empty() {
                    break;
                }
                continue;
            }
            _ => {}
        }
        repaired.push(c);
        if stack.len() > 100 {
            return None;
        }
    }
    let (end, open) = complete?;
    repaired.truncate(end);
    repaired.extend(open.into_iter().rev());
    serde_json::from_str(&repaired).ok()
}
