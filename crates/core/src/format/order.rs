//! Sorts short or rare lists. The sort of std is compiled again for each type and comparison, about 5 KB each, so these
//! lists share one: it sorts positions, and the items are swapped into place afterwards.
//!
//! ```text
//! items      c a b
//! positions  1 2 0      position 0 gets item 1, position 1 item 2, position 2 item 0
//! ```

use std::cmp::Ordering;

/// Sorts by a comparison; equal items keep their order.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if items.len() < 2 {
        return;
    }
    let swaps = swaps(items.len(), &|left, right| match (items.get(left), items.get(right)) {
        (Some(left), Some(right)) => compare(left, right),
        _ => Ordering::Equal,
    });
    swaps.into_iter().for_each(|(at, with)| items.swap(at, with));
}

/// The swaps that sort a list of that length, in their order.
#[inline(never)]
fn swaps(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    let mut positions: Vec<usize> = (0..count).collect();
    positions.sort_by(|left, right| compare(*left, *right));
    let mut swaps = Vec::with_capacity(count);
    for at in 0..count {
        let Some(mut from) = positions.get(at).copied() else { break };
        // An earlier swap moved the item that was there to the position which that swap filled it from.
        while from < at {
            from = positions.get(from).copied().unwrap_or(at);
        }
        if let Some(position) = positions.get_mut(at) {
            *position = from;
        }
        if from != at {
            swaps.push((at, from));
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_by_positions_equals_the_sort_of_std_and_keeps_the_order_of_equal_items() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for count in [0, 1, 2, 3, 20, 21, 100, 2_000] {
            for kinds in [1, 2, 30, u32::MAX] {
                let mut items: Vec<(u32, usize)> =
                    (0..count).map(|index| (random.u32(..kinds), index)).collect();
                let mut expected = items.clone();
                expected.sort_by_key(|item| item.0);
                sort_by(&mut items, |left, right| left.0.cmp(&right.0));
                assert_eq!(items, expected);
            }
        }
    }
}
