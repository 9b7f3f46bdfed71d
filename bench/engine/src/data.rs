//! Entries for a workload: keys and values of one length each, one after another.

use fastrand::Rng;

/// Of all data.
pub(crate) const SEED: u64 = 42;

/// Borrowed entries; those of a commit are a part of those of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    /// All keys.
    pub keys: &'a [u8],
    /// Bytes of one key.
    pub key_bytes: usize,
    /// All values.
    pub values: &'a [u8],
    /// Bytes of one value.
    pub value_bytes: usize,
}

impl<'a> Entries<'a> {
    /// Number of entries.
    pub fn count(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    /// Key after key with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.keys.chunks_exact(self.key_bytes).zip(self.values.chunks_exact(self.value_bytes))
    }

    /// Cuts the entries into `count` parts of equal size; the last one takes what is left over.
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

/// Entries of random bytes, as every workload but `sequential` takes them.
#[derive(Debug)]
pub struct Data {
    keys: Vec<u8>,
    key_bytes: usize,
    values: Vec<u8>,
    value_bytes: usize,
}

impl Data {
    /// The same for the same numbers.
    pub fn new(count: usize, key_bytes: usize, value_bytes: usize) -> Self {
        let (keys, values) = (random(SEED, count, key_bytes), random(SEED + 1, count, value_bytes));
        Self { keys, key_bytes, values, value_bytes }
    }

    /// Paths as keys and lines of code as values, as a bundler has them: some characters of a value need an escape in
    /// JSON.
    pub fn text(count: usize, key_bytes: usize, value_bytes: usize) -> Self {
        const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;=()'\"\n/_";
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

    /// All of them.
    pub fn entries(&self) -> Entries<'_> {
        let Self { keys, key_bytes, values, value_bytes } = self;
        Entries { keys, key_bytes: *key_bytes, values, value_bytes: *value_bytes }
    }
}

/// `count` pieces of `bytes` random bytes, which nothing compresses. The first four bytes of a piece count, scattered,
/// so that no two pieces are equal.
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
