//! Sorting by hash. Hashes are spread evenly, so an entry's place is nearly known before anything is compared: one pass
//! counts how many go to each bucket, one moves them there, and what is left to sort lies side by side.

/// A hash in the upper half and what tells entries of equal hash apart in the lower one.
pub(crate) type Item = u64;

/// Packs an item.
#[inline]
pub(crate) fn item(hash: u32, low: u32) -> Item {
    u64::from(hash) << 32 | u64::from(low)
}

/// The hash of an item.
#[inline]
pub(crate) fn hash_of(item: Item) -> u32 {
    (item >> 32) as u32
}

/// Up to here comparing is cheapest.
const SMALL: usize = 48;

/// Buckets of one pass: more would not stay in the first cache while they fill.
const BUCKETS_MAX: usize = 1 << 12;

/// Entries of a bucket, on average.
const PER_BUCKET: usize = 2;

/// Sorts items by hash, then by the lower half. `scratch` is only there to be used again.
pub(crate) fn sort(items: &mut [Item], scratch: &mut Vec<Item>) {
    if items.len() > SMALL {
        if scratch.len() < items.len() {
            scratch.resize(items.len(), 0);
        }
        if let Some(scratch) = scratch.get_mut(..items.len()) {
            distribute(items, scratch);
        }
    } else {
        insertion_sort(items);
    }
}

/// Moves items to their buckets, then sorts each bucket.
fn distribute(items: &mut [Item], scratch: &mut [Item]) {
    let (mut low, mut high) = (u32::MAX, 0);
    for item in &*items {
        low = low.min(hash_of(*item));
        high = high.max(hash_of(*item));
    }
    let span = u64::from(high - low) + 1;
    let buckets = (items.len() / PER_BUCKET).min(BUCKETS_MAX);
    // Bucket of a hash: (hash - low) * buckets / span, with the division done once.
    let scale = ((buckets as u64) << 32) / span;
    let bucket_of = |item: Item| ((u64::from(hash_of(item) - low) * scale) >> 32) as usize;
    let mut ends = vec![0u32; buckets + 1];
    for item in &*items {
        if let Some(count) = ends.get_mut(bucket_of(*item)) {
            *count += 1;
        }
    }
    let mut sum = 0;
    let mut largest = 0;
    for end in &mut ends {
        largest = largest.max(*end);
        (*end, sum) = (sum, sum + *end);
    }
    for item in &*items {
        if let Some(next) = ends.get_mut(bucket_of(*item)) {
            if let Some(place) = scratch.get_mut(*next as usize) {
                *place = *item;
            }
            *next += 1;
        }
    }
    items.copy_from_slice(scratch);
    if largest as usize <= SMALL {
        // What is out of place is out of place by less than a bucket.
        insertion_sort(items);
        return;
    }
    let mut start = 0;
    for end in ends {
        let range = start as usize..end as usize;
        start = end;
        let evenly = range.len() * 4 <= items.len();
        let (Some(bucket), Some(scratch)) = (items.get_mut(range.clone()), scratch.get_mut(range)) else { continue };
        match bucket.len() {
            0..=1 => {}
            2..=SMALL => insertion_sort(bucket),
            // Hashes that somebody chose: no bucket may be most of what there was.
            _ if !evenly => bucket.sort_unstable(),
            _ => distribute(bucket, scratch),
        }
    }
}

fn insertion_sort(items: &mut [Item]) {
    let mut previous = 0;
    for index in 1..=items.len() {
        let Some(item) = items.get(index - 1).copied() else { return };
        if item >= previous {
            previous = item;
            continue;
        }
        let mut at = index - 1;
        while let Some(before) = at.checked_sub(1).and_then(|before| items.get(before)).copied().filter(|it| *it > item) {
            if let Some(place) = items.get_mut(at) {
                *place = before;
            }
            at -= 1;
        }
        if let Some(place) = items.get_mut(at) {
            *place = item;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_whatever_the_hashes() {
        let mut random = fastrand::Rng::with_seed(3);
        for count in [0, 1, 2, 48, 49, 100, 4_097, 300_000] {
            for mask in [u64::MAX, 0xFFFF, 0xFF_0000_0000, 0x1_0000_0003, 0xF000_0000_0000_0000, 0] {
                let mut items: Vec<Item> = (0..count).map(|_| random.u64(..) & mask).collect();
                let mut expected = items.clone();
                expected.sort_unstable();
                sort(&mut items, &mut Vec::new());
                assert!(items == expected, "{count} items, mask {mask:x}");
            }
        }
    }
}
