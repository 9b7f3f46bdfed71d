//! Finds a hash among sorted ones. Hashes are uniform, so the position is guessed; then a window around the guess is
//! counted without branches, because the processor cannot predict branches on hashes.

/// Numbers in a window.
const WINDOW: usize = 32;

/// The expected position of a hash between the first and the last.
#[inline]
pub(crate) fn guess(low: u32, high: u32, count: usize, hash: u32) -> usize {
    let above = u64::from(hash.saturating_sub(low));
    let last = count.saturating_sub(1) as u64;
    (above * last / u64::from(high.saturating_sub(low)).max(1)).min(last) as usize
}

/// How many of `sorted` numbers are below `hash`, beginning at a guess; bisects if an attacker chose the hashes.
#[inline]
pub(crate) fn count_below<T: Copy>(
    sorted: &[T],
    number: impl Fn(T) -> u32,
    hash: u32,
    guess: usize,
) -> usize {
    let start = guess.saturating_sub(WINDOW / 2).min(sorted.len().saturating_sub(WINDOW));
    let window = sorted.get(start..).unwrap_or_default();
    let window = window.get(..WINDOW).unwrap_or(window);
    let below: u32 = window.iter().map(|item| u32::from(number(*item) < hash)).sum();
    let below = below as usize;
    // If all or none are below, the position may be farther away.
    let is_inside =
        (below > 0 || start == 0) && (below < window.len() || start + below == sorted.len());
    if is_inside { start + below } else { sorted.partition_point(|item| number(*item) < hash) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_the_position_from_any_guess() {
        let mut random = fastrand::Rng::with_seed(5);
        for count in [0, 1, 2, 31, 32, 33, 256, 5_000] {
            for mask in [u32::MAX, 0xFF, 0] {
                let mut hashes: Vec<u32> = (0..count).map(|_| random.u32(..) & mask).collect();
                hashes.sort_unstable();
                for _ in 0..200 {
                    let hash = random.u32(..) & mask;
                    let expected = hashes.partition_point(|other| *other < hash);
                    let (low, high) =
                        (hashes.first().copied().unwrap_or(0), hashes.last().copied().unwrap_or(0));
                    for guess in [guess(low, high, count, hash), 0, count, random.usize(..=count)] {
                        assert_eq!(
                            count_below(&hashes, |hash| hash, hash, guess),
                            expected,
                            "{count} {mask:x} {guess}"
                        );
                    }
                }
            }
        }
    }
}
