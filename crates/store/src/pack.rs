//! How documents and samples are packed: less than a tenth of their size, and back to the last bit.

use super::kept::Series;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::Value;
use std::io::{Read, Write};

/// Samples that are multiples of a power of ten, in whole numbers of it.
const DECIMAL: u8 = 1;
/// Samples that are anything.
const ANY: u8 = 2;
/// The finest power of ten that is tried: 10⁻⁹.
const FINEST: u8 = 9;
/// Above this not every whole number is a number of its own.
const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// Packs text into zlib's format (RFC 1950), or leaves it as it is where that is not shorter: the two are
/// told apart by their length, as SQLite's `sqlar_uncompress(packed, size)` does too.
pub(super) fn pack(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(text).and_then(|()| encoder.finish());
    match packed {
        Ok(packed) if packed.len() < text.len() => packed,
        _ => text.to_vec(),
    }
}

/// What was packed, if it is `size` bytes again.
pub(super) fn unpack(packed: &[u8], size: u64) -> Option<Vec<u8>> {
    if packed.len() as u64 == size {
        return Some(packed.to_vec());
    }
    // A size that cannot be believed must not become memory, so it only bounds what is read.
    let mut text = Vec::new();
    ZlibDecoder::new(packed)
        .take(size.saturating_add(1))
        .read_to_end(&mut text)
        .ok()?;
    (text.len() as u64 == size).then_some(text)
}

/// A document ready for the store.
pub(super) struct Packed {
    pub(super) size: u64,
    pub(super) bytes: Vec<u8>,
}

impl Packed {
    pub(super) fn of(value: &Value) -> Self {
        let text = value.to_string();
        Self {
            size: text.len() as u64,
            bytes: pack(text.as_bytes()),
        }
    }
}

/// Samples as bytes, not yet packed: see docs/store.md for the format.
pub(super) fn encode(values: &[f64]) -> Vec<u8> {
    match (0..=FINEST).find_map(|power| decimal(values, power)) {
        Some(bytes) => bytes,
        None => any(values),
    }
}

/// The samples from their bytes, if there are `count`.
pub(super) fn decode(bytes: &[u8], count: u64) -> Option<Vec<f64>> {
    let (format, rest) = bytes.split_first()?;
    let values = match *format {
        DECIMAL => from_decimal(rest, count)?,
        ANY => from_any(rest)?,
        _ => return None,
    };
    (values.len() as u64 == count).then_some(values)
}

/// The whole number of 10^-`power` that a sample is, if that gives the very same sample back.
fn whole(value: f64, power: u8) -> Option<i64> {
    let scale = 10_f64.powi(i32::from(power));
    let whole = (value * scale).round();
    if whole.is_nan() || whole.abs() > EXACT {
        return None;
    }
    // By way of the integer, which knows no negative zero.
    let whole = whole as i64;
    ((whole as f64 / scale).to_bits() == value.to_bits()).then_some(whole)
}

/// The power, where samples are missing, and the others as differences.
fn decimal(values: &[f64], power: u8) -> Option<Vec<u8>> {
    let is_missing = |value: &f64| value.to_bits() == f64::NAN.to_bits();
    let mut body = Vec::new();
    let mut before = 0_i64;
    let mut holes = Vec::new();
    for (at, value) in values.iter().enumerate() {
        if is_missing(value) {
            holes.push(at as u64);
            continue;
        }
        let whole = whole(*value, power)?;
        varint(&mut body, zigzag(whole - before));
        before = whole;
    }
    let mut bytes = vec![DECIMAL, power];
    varint(&mut bytes, holes.len() as u64);
    let mut next = 0;
    for hole in holes {
        varint(&mut bytes, hole - next);
        next = hole + 1;
    }
    bytes.extend(body);
    Some(bytes)
}

fn from_decimal(bytes: &[u8], count: u64) -> Option<Vec<f64>> {
    let (power, mut rest) = bytes.split_first()?;
    let scale = 10_f64.powi(i32::from(*power).min(i32::from(FINEST)));
    let holes = take_varint(&mut rest)?;
    if holes > count {
        return None;
    }
    let mut missing = Vec::new();
    let mut next = 0_u64;
    for _ in 0..holes {
        let hole = next.checked_add(take_varint(&mut rest)?)?;
        missing.push(hole);
        next = hole.checked_add(1)?;
    }
    let mut missing = missing.into_iter().peekable();
    let mut values = Vec::new();
    let mut before = 0_i64;
    loop {
        if missing.next_if_eq(&(values.len() as u64)).is_some() {
            values.push(f64::NAN);
        } else if rest.is_empty() {
            break;
        } else {
            before = before.wrapping_add(unzigzag(take_varint(&mut rest)?));
            values.push(before as f64 / scale);
        }
    }
    missing.next().is_none().then_some(values)
}

/// Each sample's bits exclusive-or those of the one before, all first bytes first: what hardly changes
/// comes together.
fn any(values: &[f64]) -> Vec<u8> {
    let mut bytes = vec![ANY; 1 + values.len() * 8];
    let mut before = 0;
    for (at, value) in values.iter().enumerate() {
        let bits = value.to_bits();
        for (plane, byte) in (bits ^ before).to_be_bytes().into_iter().enumerate() {
            bytes[1 + plane * values.len() + at] = byte;
        }
        before = bits;
    }
    bytes
}

fn from_any(planes: &[u8]) -> Option<Vec<f64>> {
    if !planes.len().is_multiple_of(8) {
        return None;
    }
    let count = planes.len() / 8;
    let mut before = 0;
    let values = (0..count).map(|at| {
        let mut bytes = [0; 8];
        for (plane, byte) in bytes.iter_mut().enumerate() {
            *byte = planes[plane * count + at];
        }
        before ^= u64::from_be_bytes(bytes);
        f64::from_bits(before)
    });
    Some(values.collect())
}

/// Small numbers of either sign as small ones without.
const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Seven bits a byte, the lowest first, with the eighth set on all but the last (LEB128).
fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            return None;
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A series ready for the store: how long its bytes are unpacked, and packed.
pub(super) fn pack_series(series: &Series) -> (u64, Vec<u8>) {
    let bytes = encode(&series.values);
    (bytes.len() as u64, pack(&bytes))
}

/// The samples of a series in the store.
pub(super) fn unpack_series(packed: &[u8], size: u64, count: u64) -> Option<Vec<f64>> {
    decode(&unpack(packed, size)?, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    fn there_and_back(values: &[f64]) -> (u8, usize) {
        let bytes = encode(values);
        let packed = pack(&bytes);
        let unpacked = unpack(&packed, bytes.len() as u64).unwrap();
        let back = decode(&unpacked, values.len() as u64).unwrap();
        assert_eq!(bits(&back), bits(values));
        (bytes[0], packed.len())
    }

    #[test]
    fn samples_come_back_to_the_last_bit() {
        let odd = f64::from_bits(0x7ff8_0000_0000_0001);
        let cases: [(&[f64], u8); 12] = [
            (&[], DECIMAL),
            (&[0.0], DECIMAL),
            (&[1.0, 2.0, 4.0, -3.0], DECIMAL),
            (&[f64::NAN, 5.0, f64::NAN, f64::NAN], DECIMAL),
            (&[f64::NAN], DECIMAL),
            (&[12.5, 0.001, -7.25], DECIMAL),
            (
                &[9_007_199_254_740_992.0, -9_007_199_254_740_992.0],
                DECIMAL,
            ),
            (&[-0.0], ANY),
            (&[0.1 + 0.2], ANY),
            (&[f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE], ANY),
            (&[odd, 1.0], ANY),
            (&[1e300, f64::NAN, std::f64::consts::PI], ANY),
        ];
        for (values, format) in cases {
            assert_eq!(there_and_back(values).0, format, "{values:?}");
        }
    }

    #[test]
    fn random_samples_of_every_magnitude_come_back_to_the_last_bit() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..200 {
            let length = next() % 50;
            let whole: Vec<f64> = (0..length).map(|_| (next() >> 20) as f64).collect();
            let bits: Vec<f64> = (0..length).map(|_| f64::from_bits(next())).collect();
            there_and_back(&whole);
            there_and_back(&bits);
        }
    }

    #[test]
    fn round_trips_take_few_bytes_each() {
        let mut state = 1_u64;
        let rtts: Vec<f64> = (0..10_000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                50_000.0 + (state >> 54) as f64
            })
            .collect();
        let (_, packed) = there_and_back(&rtts);
        assert!(packed < 2 * rtts.len(), "{packed}");
    }

    #[test]
    fn what_is_damaged_is_not_taken_for_samples() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let bytes = encode(&values);
        assert_eq!(decode(&bytes, 99), None);
        assert_eq!(decode(&bytes[..50], 100), None);
        assert_eq!(decode(&[], 0), None);
        assert_eq!(decode(&[9, 0], 0), None);
        assert_eq!(decode(&[DECIMAL, 0, 0xff], 1), None);
        assert_eq!(decode(&[ANY, 0, 0], 1), None);
        let packed = pack(&bytes);
        assert_eq!(unpack(&packed, bytes.len() as u64 + 1), None);
        assert_eq!(unpack(&packed, u64::MAX), None);
        assert_eq!(unpack(b"nonsense", 3), None);
    }

    #[test]
    fn what_does_not_get_shorter_is_left_as_it_is() {
        assert_eq!(pack(b"{}"), b"{}");
        assert_eq!(unpack(b"{}", 2).unwrap(), b"{}");
        assert_eq!(unpack(&pack(b""), 0).unwrap(), b"");
    }
}
