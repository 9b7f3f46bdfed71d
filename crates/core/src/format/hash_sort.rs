//! Sorts by hash. Hashes are uniform, so an item's position is almost known without comparisons. One pass counts the
//! items of each bucket, one moves them there, and the remaining sort stays within neighbours.

/// A hash in the upper half, and what distinguishes items of equal hash in the lower half.
pub(crate) type Item = u64;

/// Items that are sorted by their hash first.
pub(crate) trait Hashed: Copy + Ord {
    fn hash(self) -> u32;
}

impl Hashed for Item {
    #[inline]
    fn hash(self) -> u32 {
        hash_of(self)
    }
}

/// A hash, and what distinguishes items of equal hash.
impl<T: Copy + Ord> Hashed for (u32, T) {
    #[inline]
    fn hash(self) -> u32 {
        self.0
    }
}

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

/// Whether two items have the same hash.
#[inline]
pub(crate) fn same_hash(left: &Item, right: &Item) -> bool {
    hash_of(*left) == hash_of(*right)
}

/// Up to this length, insertion sort is fastest.
const SMALL: usize = 48;

/// Up to this length, all items stay in the processor's cache, and each has about one bucket.
const CACHED: usize = 1 << 15;

/// Buckets for longer lists: as many as the processor can fill at the same time.
const BUCKETS: usize = 1 << 9;

/// Sorts items by hash, then by the rest. `scratch` is reused between calls; items of one source are sorted already and
/// need none.
pub(crate) fn sort<T: Hashed>(items: &mut Vec<T>, scratch: &mut Vec<T>) {
    let Some(first) = items.first().filter(|_| items.len() > SMALL) else {
        insertion_sort(items);
        return;
    };
    if items.is_sorted() {
        return;
    }
    scratch.resize(items.len(), *first);
    let ends = distribute(items, scratch);
    std::mem::swap(items, scratch);
    sort_buckets(items, scratch, &ends);
}

/// Moves items to their buckets in `to`; returns the end of each bucket.
fn distribute<T: Hashed>(items: &[T], to: &mut [T]) -> Vec<u32> {
    let (mut low, mut high) = (u32::MAX, 0);
    for item in items {
        low = low.min(item.hash());
        high = high.max(item.hash());
    }
    let span = u64::from(high - low) + 1;
    let buckets = if items.len() <= CACHED { items.len() } else { BUCKETS };
    // Bucket of a hash: (hash - low) * buckets / span, with the division done once.
    let scale = ((buckets as u64) << 32) / span;
    let bucket_of = |item: T| ((u64::from(item.hash() - low) * scale) >> 32) as usize;
    let mut ends = vec![0u32; buckets + 1];
    for item in items {
        if let Some(count) = ends.get_mut(bucket_of(*item)) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        (*end, sum) = (sum, sum + *end);
    }
    for item in items {
        if let Some(next) = ends.get_mut(bucket_of(*item)) {
            if let Some(place) = to.get_mut(*next as usize) {
                *place = *item;
            }
            *next += 1;
        }
    }
    ends
}

/// Sorts items that are in buckets already.
fn sort_buckets<T: Hashed>(items: &mut [T], scratch: &mut [T], ends: &[u32]) {
    let mut start = 0;
    let largest =
        ends.iter().map(|end| *end - std::mem::replace(&mut start, *end)).max().unwrap_or(0);
    if largest as usize <= SMALL {
        // Every item is less than one bucket away from its position.
        insertion_sort(items);
        return;
    }
    let evenly = items.len() / 4;
    let mut start = 0;
    for end in ends {
        let range = start as usize..*end as usize;
        start = *end;
        let (Some(bucket), Some(scratch)) = (items.get_mut(range.clone()), scratch.get_mut(range))
        else {
            continue;
        };
        if bucket.len() <= SMALL {
            insertion_sort(bucket);
        } else if bucket.len() > evenly {
            // An attacker chose these hashes: buckets would not get smaller.
            bucket.sort_unstable();
        } else {
            scratch.copy_from_slice(bucket);
            let ends = distribute(scratch, bucket);
            sort_buckets(bucket, scratch, &ends);
        }
    }
}

fn insertion_sort<T: Hashed>(items: &mut [T]) {
    let Some(mut previous) = items.first().copied() else { return };
    for index in 1..=items.len() {
        let Some(item) = items.get(index - 1).copied() else { return };
        if item >= previous {
            previous = item;
            continue;
        }
        let mut at = index - 1;
        while let Some(before) =
            at.checked_sub(1).and_then(|before| items.get(before)).copied().filter(|it| *it > item)
        {
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
    fn hash_sort_sorts_any_distribution_of_hashes() {
        let mut random = fastrand::Rng::with_seed(3);
        for count in [0, 1, 2, 48, 49, 100, 4_097, 300_000] {
            for mask in [u64::MAX, 0xFFFF, 0xFF_0000_0000, 0x1_0000_0003, 0xF000_0000_0000_0000, 0]
            {
                let mut items: Vec<Item> = (0..count).map(|_| random.u64(..) & mask).collect();
                let mut expected = items.clone();
                expected.sort_unstable();
                sort(&mut items, &mut Vec::new());
                assert!(items == expected, "{count} items, mask {mask:x}");
            }
        }
    }
}
