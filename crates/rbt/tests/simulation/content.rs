//! Contents, where they come from and where they go.

use caudal_rbt::BlockSource;
use caudal_stats::random::SplitMix64;
use std::sync::OnceLock;

/// The maximum size of a content.
const MAX_CONTENT_BYTES: usize = 16 << 20;

/// Incompressible bytes: the same for the same seed.
pub fn content(seed: u64, bytes: usize) -> &'static [u8] {
    static POOL: OnceLock<Vec<u8>> = OnceLock::new();
    let pool = POOL.get_or_init(|| {
        let mut rng = SplitMix64::new(14);
        let words = (0..MAX_CONTENT_BYTES / 8).map(|_| rng.next_u64());
        words.flat_map(u64::to_le_bytes).collect()
    });
    let from = seed as usize % (pool.len() - bytes + 1);
    &pool[from..from + bytes]
}

/// A source that becomes readable at a rate, and checks how it is read.
#[derive(Debug)]
pub struct GrowingSource {
    content: &'static [u8],
    /// What is readable at first, and what is added a second; `None` when everything is readable at once.
    pub bytes_per_s: Option<u64>,
    readable: u64,
    released: u64,
    /// The most that had to be kept between what was released and what was read.
    pub max_kept: u64,
}

impl GrowingSource {
    pub fn new(content: &'static [u8], start: u64, bytes_per_s: Option<u64>) -> Self {
        Self {
            content,
            bytes_per_s,
            readable: start,
            released: start,
            max_kept: 0,
        }
    }

    /// Whether all of it is readable.
    pub fn has_ended(&self) -> bool {
        self.readable == self.content.len() as u64
    }

    /// Lets it grow until `now_ns`.
    pub fn advance(&mut self, now_ns: u64) {
        let size = self.content.len() as u64;
        self.readable = match self.bytes_per_s {
            None => size,
            Some(rate) => self
                .readable
                .max((u128::from(rate) * u128::from(now_ns) / 1_000_000_000) as u64)
                .min(size),
        };
    }
}

impl BlockSource for GrowingSource {
    fn available(&self) -> u64 {
        self.readable
    }

    fn total(&self) -> Option<u64> {
        self.has_ended().then_some(self.readable)
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) {
        let end = offset + out.len() as u64;
        assert!(offset >= self.released, "a released byte is read");
        assert!(end <= self.readable, "a byte is read before it is there");
        self.max_kept = self.max_kept.max(end - self.released);
        out.copy_from_slice(&self.content[offset as usize..end as usize]);
    }

    fn release(&mut self, below: u64) {
        assert!(below >= self.released, "what was released comes back");
        assert!(
            below <= self.readable,
            "bytes are released that were not sent"
        );
        self.released = below;
    }
}

/// A sink that takes content at a rate, and compares it with what it should be.
#[derive(Debug)]
pub struct ComparingSink {
    expected: &'static [u8],
    /// Bytes taken, what was there before included.
    pub taken: usize,
    start: usize,
    /// Bytes a second; `None` takes everything at once.
    pub bytes_per_s: Option<u64>,
    /// It takes nothing before this time, ns.
    pub stalled_until_ns: u64,
    counted_ns: u64,
}

impl ComparingSink {
    pub fn new(expected: &'static [u8], start: u64, bytes_per_s: Option<u64>) -> Self {
        Self {
            expected,
            taken: start as usize,
            start: start as usize,
            bytes_per_s,
            stalled_until_ns: 0,
            counted_ns: 0,
        }
    }

    /// The bytes that it takes now, at most `readable`.
    pub fn room(&mut self, now_ns: u64, readable: usize) -> usize {
        if now_ns < self.stalled_until_ns {
            return 0;
        }
        let Some(rate) = self.bytes_per_s else {
            return readable;
        };
        let earned = u128::from(rate) * u128::from(now_ns - self.counted_ns) / 1_000_000_000;
        if earned == 0 {
            return 0;
        }
        self.counted_ns = now_ns;
        readable.min(earned as usize)
    }

    /// When it takes more, ns, while `readable` bytes wait.
    pub fn next_ns(&self, now_ns: u64, readable: usize) -> Option<u64> {
        if readable == 0 {
            return None;
        }
        match self.bytes_per_s {
            _ if now_ns < self.stalled_until_ns => Some(self.stalled_until_ns),
            None => None,
            // A byte at least, and not more often than a disk would.
            Some(rate) => {
                Some(now_ns.max(self.counted_ns) + (1_000_000_000 / rate.max(1)).max(20_000_000))
            }
        }
    }

    /// Takes content, which must be what is expected next.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let end = self.taken + bytes.len();
        if self.expected.get(self.taken..end) != Some(bytes) {
            return Err(format!("other bytes than sent at {}", self.taken));
        }
        self.taken = end;
        Ok(())
    }

    /// The digest of everything, what was there before included.
    pub fn digest(&self) -> [u8; 32] {
        *blake3::hash(&self.expected[..self.taken]).as_bytes()
    }

    /// Forgets what it took (a receiver that begins anew).
    pub fn begin_again(&mut self) {
        self.taken = self.start;
    }
}
