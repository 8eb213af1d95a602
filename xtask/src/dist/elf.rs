//! The header of a program: for which processor it is, and whether it needs libraries.
//!
//! Source: elf(5).

use std::io;

/// The type of the program header that names a dynamic loader (`PT_INTERP`).
const PT_INTERP: u32 = 3;

/// A processor for which there are packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    /// x86-64.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Architecture {
    /// Its name in Debian.
    pub(super) const fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Its name in the targets of Rust.
    pub(super) const fn rust(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }
}

/// The fields of a program's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ElfHeader {
    pub(super) architecture: Architecture,
    /// `true` when it needs no dynamic loader, and so no libraries.
    pub(super) is_static: bool,
}

impl ElfHeader {
    /// Reads the header of a little-endian 64-bit ELF file.
    ///
    /// # Errors
    /// When it is none, or for another processor.
    pub(super) fn read(file: &[u8]) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::other(format!("not a program to package: {what}"));
        if !file.starts_with(b"\x7fELF\x02\x01") {
            return Err(invalid("no little-endian 64-bit ELF file"));
        }
        let truncated = || invalid("its header is truncated");
        let architecture = match number(file, 18, 2).ok_or_else(truncated)? {
            62 => Architecture::X86_64,
            183 => Architecture::Aarch64,
            other => return Err(invalid(&format!("machine {other}"))),
        };
        let offset = number(file, 32, 8).ok_or_else(truncated)?;
        let size = number(file, 54, 2).ok_or_else(truncated)?;
        let count = number(file, 56, 2).ok_or_else(truncated)?;
        let mut is_static = true;
        for nth in 0..count {
            let at = usize::try_from(offset + nth * size).map_err(|_| truncated())?;
            let kind = number(file, at, 4).ok_or_else(truncated)?;
            is_static &= kind != u64::from(PT_INTERP);
        }
        Ok(Self {
            architecture,
            is_static,
        })
    }
}

/// The little-endian number of `len` bytes at `at`.
fn number(file: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(len)?)?;
    let digits = bytes.iter().rev();
    Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_for_this_processor() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let header = ElfHeader::read(&own).unwrap();
        assert_eq!(header.architecture.rust(), std::env::consts::ARCH);
        assert_eq!(header.is_static, cfg!(target_feature = "crt-static"));
    }

    #[test]
    fn anything_else_is_refused() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for file in [&b"#!/bin/sh"[..], b"", &own[..20], &own[..60]] {
            assert!(ElfHeader::read(file).is_err());
        }
    }
}
