//! The text of a file in the encodings that shells write: UTF-8 and UTF-16.

use std::borrow::Cow;

/// Bytes examined to find the encoding.
const LOOKED_AT: usize = 512;

/// The two orders of bytes in UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Utf16 {
    LittleEndian,
    BigEndian,
}

/// The text of a file, without its byte-order mark. What is no character becomes U+FFFD.
///
/// `>` in Windows PowerShell 5 writes UTF-16.
#[must_use]
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let Some(order) = utf16(bytes) else {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        return String::from_utf8_lossy(bytes);
    };
    let units = bytes.chunks_exact(2).map(|pair| match order {
        Utf16::LittleEndian => u16::from_le_bytes([pair[0], pair[1]]),
        Utf16::BigEndian => u16::from_be_bytes([pair[0], pair[1]]),
    });
    let text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Cow::Owned(text.trim_start_matches('\u{feff}').to_owned())
}

/// The order of bytes of a text in UTF-16: by its mark or, as logs are in ASCII, by the bytes that are zero. `None` for other texts.
fn utf16(bytes: &[u8]) -> Option<Utf16> {
    match bytes {
        [0xff, 0xfe, ..] => return Some(Utf16::LittleEndian),
        [0xfe, 0xff, ..] => return Some(Utf16::BigEndian),
        _ => {}
    }
    let beginning = &bytes[..bytes.len().min(LOOKED_AT) & !1];
    let zeros = |odd: usize| {
        let every = beginning.iter().skip(odd).step_by(2);
        every.filter(|byte| **byte == 0).count()
    };
    let (even, odd, pairs) = (zeros(0), zeros(1), beginning.len() / 2);
    match pairs {
        0..4 => None,
        _ if odd * 10 >= pairs * 9 && even * 10 < pairs => Some(Utf16::LittleEndian),
        _ if even * 10 >= pairs * 9 && odd * 10 < pairs => Some(Utf16::BigEndian),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_of_a_text_is_read_with_its_mark_or_without() {
        let text = "iperf Done.\nµ ";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            [&[0xff, 0xfe], &little[..]].concat(),
            [&[0xfe, 0xff], &big[..]].concat(),
            little,
            big,
        ] {
            assert_eq!(decoded(&bytes), text);
        }
        assert_eq!(decoded(b"a\0"), "a\0");
        assert_eq!(decoded(&[0xff, 0xfe, 0, 0xd8, 7]), "\u{fffd}");
    }
}
