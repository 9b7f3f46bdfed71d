//! LZ4, block format, used if it pays.

/// Compressed bytes are kept if they save at least one part in this many.
const SAVES_PART: usize = 8;

/// Blocks of at least this size are sampled first.
const SAMPLED_BYTES_MIN: usize = 8 << 10;
const SAMPLE_BYTES: usize = 2 << 10;

/// Compresses to the start of `scratch`; `None` = it does not pay.
pub(crate) fn pack<'s>(raw: &[u8], scratch: &'s mut Vec<u8>) -> Option<&'s [u8]> {
    let bytes = pack_at(raw, scratch, 0)?;
    scratch.get(..bytes)
}

/// Compresses to `target` from `start` on and returns the number of bytes; `None` = it does not pay. The vector gets
/// longer if necessary, and never shorter.
pub(crate) fn pack_at(raw: &[u8], target: &mut Vec<u8>, start: usize) -> Option<usize> {
    if !is_promising(raw, target, start) {
        return None;
    }
    let bytes = compress(raw, target, start)?;
    (bytes <= raw.len() - raw.len() / SAVES_PART).then_some(bytes)
}

/// Most bytes that can have been compressed into so many: LZ4 shrinks at most 255-fold.
pub(crate) fn raw_bytes_max(packed_bytes: u64) -> u64 {
    packed_bytes.saturating_mul(255).saturating_add(64)
}

/// Decompresses to exactly `raw_bytes`, and never allocates more than there can be.
pub(crate) fn unpack(packed: &[u8], raw_bytes: usize) -> Option<Vec<u8>> {
    if raw_bytes as u64 > raw_bytes_max(packed.len() as u64) {
        return None;
    }
    let mut raw = vec![0; raw_bytes];
    unpack_into(packed, &mut raw)?;
    Some(raw)
}

/// Decompresses to exactly the bytes of `target`. `None` = these are not its compressed bytes.
pub(crate) fn unpack_into(packed: &[u8], target: &mut [u8]) -> Option<()> {
    let bytes = lz4_flex::block::decompress_into(packed, target).ok()?;
    (bytes == target.len()).then_some(())
}

/// Whether a sample from the middle can be compressed, so that compressed data is not tried in full.
fn is_promising(raw: &[u8], target: &mut Vec<u8>, start: usize) -> bool {
    if raw.len() < SAMPLED_BYTES_MIN {
        return true;
    }
    let middle = raw.len() / 2;
    let sample = raw.get(middle..middle + SAMPLE_BYTES).unwrap_or(raw);
    compress(sample, target, start).is_some_and(|bytes| bytes < sample.len())
}

/// Compresses to `target` from `start` on; returns the number of bytes.
fn compress(raw: &[u8], target: &mut Vec<u8>, start: usize) -> Option<usize> {
    let end = start + lz4_flex::block::get_maximum_output_size(raw.len());
    if target.len() < end {
        target.resize(end, 0);
    }
    lz4_flex::block::compress_into(raw, target.get_mut(start..)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a few bytes of a forged file would make the process allocate gigabytes before it detects them.
    #[test]
    fn lengths_that_lz4_cannot_compress_into_so_few_bytes_are_refused() {
        for bytes in [4, 1_000, 100_000] {
            let packed =
                pack(&vec![0; bytes], &mut Vec::new()).map_or(bytes, |packed| packed.len()) as u64;
            assert!(raw_bytes_max(packed) >= bytes as u64, "what was packed is refused");
            assert!(
                raw_bytes_max(packed) <= packed * 256 + 64,
                "{packed} bytes stand for too many"
            );
        }
    }
}
