//! Entries for a workload: keys of one length and values of one length, one after another.

use fastrand::Rng;

/// The seed of all data.
pub(crate) const SEED: u64 = 42;

/// Borrowed entries of a workload or of one of its commits.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    /// All keys, one after another.
    pub keys: &'a [u8],
    /// The bytes of one key.
    pub key_bytes: usize,
    /// All values, one after another.
    pub values: &'a [u8],
    /// The bytes of one value.
    pub value_bytes: usize,
}

impl<'a> Entries<'a> {
    /// The number of entries.
    pub fn count(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    /// Iterates over the keys with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.keys.chunks_exact(self.key_bytes).zip(self.values.chunks_exact(self.value_bytes))
    }

    /// Splits the entries into `count` parts of equal size; the last part takes the remainder.
    pub fn parts(&self, count: usize) -> impl Iterator<Item = Self> + use<'a> {
        let (entries, each) = (*self, self.count() / count);
        (0..count).map(move |part| {
            let end = if part + 1 == count { entries.count() } else { (part + 1) * each };
            let (start, end) = (part * each, end);
            Entries {
                keys: &entries.keys[start * entries.key_bytes..end * entries.key_bytes],
                values: &entries.values[start * entries.value_bytes..end * entries.value_bytes],
                ..entries
            }
        })
    }
}

/// Random entries, for all workloads but `sequential`.
#[derive(Debug)]
pub struct Data {
    keys: Vec<u8>,
    key_bytes: usize,
    values: Vec<u8>,
    value_bytes: usize,
}

impl Data {
    /// The same arguments give the same entries.
    pub fn new(count: usize, key_bytes: usize, value_bytes: usize) -> Self {
        let (keys, values) = (random(SEED, count, key_bytes), random(SEED + 1, count, value_bytes));
        Self { keys, key_bytes, values, value_bytes }
    }

    /// Paths as keys and lines of code as values, as in a bundler. JSON needs escapes for some characters of the
    /// values.
    pub fn text(count: usize, key_bytes: usize, value_bytes: usize) -> Self {
        const LETTERS: &[u8; 64] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;=()'\"\n/_";
        let letters = |bytes: &mut Vec<u8>, letters: &[u8]| {
            for byte in bytes {
                *byte = letters[usize::from(*byte) % letters.len()];
            }
        };
        let mut data = Self::new(count, key_bytes, value_bytes);
        letters(&mut data.keys, &LETTERS[..26]);
        letters(&mut data.values, LETTERS);
        for (index, key) in data.keys.chunks_exact_mut(key_bytes).enumerate() {
            key[key_bytes - 8..].copy_from_slice(format!("{index:08}").as_bytes());
        }
        data
    }

    /// All entries.
    pub fn entries(&self) -> Entries<'_> {
        let Self { keys, key_bytes, values, value_bytes } = self;
        Entries { keys, key_bytes: *key_bytes, values, value_bytes: *value_bytes }
    }
}

/// `count` pieces of `bytes` random bytes, which do not compress. The first four bytes of a piece are its scattered
/// number, so that no two pieces are equal.
pub fn random(seed: u64, count: usize, bytes: usize) -> Vec<u8> {
    let mut rng = Rng::with_seed(seed);
    let mut data = vec![0; count * bytes];
    rng.fill(&mut data);
    for (index, piece) in data.chunks_exact_mut(bytes).enumerate() {
        let scattered = (index as u32).wrapping_mul(0x9E37_79B1).to_le_bytes();
        piece[..4].copy_from_slice(&scattered);
    }
    data
}
