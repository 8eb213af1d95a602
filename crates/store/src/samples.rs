//! The encoding of raw samples, which zlib then compresses: exact to the last bit.
//!
//! Round-trip times take about a quarter less space than zlib alone makes of them. Measured: 89 967 round-trip times of
//! 67 series take 182 kB with this encoding, 252 kB as IEEE 754 doubles and 234 kB as JSON, each compressed by zlib.

use crate::pack::{pack, unpack};
use crate::stored::SampleSeries;

/// The format of samples that are integer multiples of a power of ten.
const DECIMAL: u8 = 1;

/// The format of arbitrary samples.
const ANY: u8 = 2;

/// The smallest power of ten that is tried: 10⁻⁹.
const MAX_DECIMALS: u8 = 9;

/// Largest integer below which all integers are representable exactly.
const MAX_EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// Encodes samples, not yet compressed: see docs/store.md for the format.
pub(super) fn encode(values: &[f64]) -> Vec<u8> {
    match (0..=MAX_DECIMALS).find_map(|power| encode_decimal(values, power)) {
        Some(bytes) => bytes,
        None => encode_any(values),
    }
}

/// Decodes `count` samples; `None` when the bytes are damaged.
pub(super) fn decode(bytes: &[u8], count: u64) -> Option<Vec<f64>> {
    let (format, rest) = bytes.split_first()?;
    let values = match *format {
        DECIMAL => decode_decimal(rest, count)?,
        ANY => decode_any(rest)?,
        _ => return None,
    };
    (values.len() as u64 == count).then_some(values)
}

/// The integer multiple of 10^-`power` that a sample is, if it gives exactly that sample.
fn integer_multiple(value: f64, power: u8) -> Option<i64> {
    let scale = 10_f64.powi(i32::from(power));
    let integer = (value * scale).round();
    if integer.is_nan() || integer.abs() > MAX_EXACT {
        return None;
    }
    // The conversion to an integer also excludes negative zero.
    let integer = integer as i64;
    ((integer as f64 / scale).to_bits() == value.to_bits()).then_some(integer)
}

/// Encodes the power, the positions of missing samples, and the others as differences; `None` unless all are multiples.
fn encode_decimal(values: &[f64], power: u8) -> Option<Vec<u8>> {
    let is_missing = |value: &f64| value.to_bits() == f64::NAN.to_bits();
    let mut body = Vec::new();
    let mut previous = 0_i64;
    let mut missing_positions = Vec::new();
    for (at, value) in values.iter().enumerate() {
        if is_missing(value) {
            missing_positions.push(at as u64);
            continue;
        }
        let integer = integer_multiple(*value, power)?;
        push_varint(&mut body, zigzag(integer - previous));
        previous = integer;
    }
    let mut bytes = vec![DECIMAL, power];
    push_varint(&mut bytes, missing_positions.len() as u64);
    let mut next = 0;
    for position in missing_positions {
        push_varint(&mut bytes, position - next);
        next = position + 1;
    }
    bytes.extend(body);
    Some(bytes)
}

fn decode_decimal(bytes: &[u8], count: u64) -> Option<Vec<f64>> {
    let (power, mut rest) = bytes.split_first()?;
    let scale = 10_f64.powi(i32::from(*power).min(i32::from(MAX_DECIMALS)));
    let missing_positions = take_varint(&mut rest)?;
    if missing_positions > count {
        return None;
    }
    let mut missing = Vec::new();
    let mut next = 0_u64;
    for _ in 0..missing_positions {
        let position = next.checked_add(take_varint(&mut rest)?)?;
        missing.push(position);
        next = position.checked_add(1)?;
    }
    let mut missing = missing.into_iter().peekable();
    let mut values = Vec::new();
    let mut previous = 0_i64;
    loop {
        if missing.next_if_eq(&(values.len() as u64)).is_some() {
            values.push(f64::NAN);
        } else if rest.is_empty() {
            break;
        } else {
            previous = previous.wrapping_add(unzigzag(take_varint(&mut rest)?));
            values.push(previous as f64 / scale);
        }
    }
    missing.next().is_none().then_some(values)
}

/// Encodes each sample's bits XOR those of the previous one, in planes of equal significance: bytes that hardly change
/// are adjacent.
fn encode_any(values: &[f64]) -> Vec<u8> {
    let mut bytes = vec![ANY; 1 + values.len() * 8];
    let mut previous = 0;
    for (at, value) in values.iter().enumerate() {
        let bits = value.to_bits();
        for (plane, byte) in (bits ^ previous).to_be_bytes().into_iter().enumerate() {
            bytes[1 + plane * values.len() + at] = byte;
        }
        previous = bits;
    }
    bytes
}

fn decode_any(planes: &[u8]) -> Option<Vec<f64>> {
    if !planes.len().is_multiple_of(8) {
        return None;
    }
    let count = planes.len() / 8;
    let mut previous = 0;
    let values = (0..count).map(|at| {
        let mut bytes = [0; 8];
        for (plane, byte) in bytes.iter_mut().enumerate() {
            *byte = planes[plane * count + at];
        }
        previous ^= u64::from_be_bytes(bytes);
        f64::from_bits(previous)
    });
    Some(values.collect())
}

/// Maps signed integers of small magnitude to small unsigned ones.
const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends a variable-length integer: seven bits per byte, the lowest first, with the eighth set on all but the last (LEB128).
fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
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

/// Encodes and compresses a series; returns the size before compression and the bytes.
pub(super) fn pack_series(series: &SampleSeries) -> (u64, Vec<u8>) {
    let bytes = encode(&series.values);
    (bytes.len() as u64, pack(&bytes))
}

/// Decompresses and decodes the samples of a series.
pub(super) fn unpack_series(packed: &[u8], size: u64, count: u64) -> Option<Vec<f64>> {
    decode(&unpack(packed, size)?, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    fn round_trip_size(values: &[f64]) -> (u8, usize) {
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
            assert_eq!(round_trip_size(values).0, format, "{values:?}");
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
            let integer: Vec<f64> = (0..length).map(|_| (next() >> 20) as f64).collect();
            let bits: Vec<f64> = (0..length).map(|_| f64::from_bits(next())).collect();
            round_trip_size(&integer);
            round_trip_size(&bits);
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
        let (_, packed) = round_trip_size(&rtts);
        assert!(packed < 2 * rtts.len(), "{packed}");
    }

    #[test]
    fn damaged_bytes_are_not_decoded() {
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
}
