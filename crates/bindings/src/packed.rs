//! Results with many entries, packed into bytes with little-endian numbers:
//!
//! ```text
//! values:  length: i32 * count | values            -1 = miss; count is known to the caller
//! page:    next: u64 | more: u32 | count: u32 | key_bytes: u32 | value_bytes: u32
//!          | key_end: u32 * count | value_end: u32 * count | keys | values
//! commit:  entries: f64 | bytes: f64 | batch_bytes: f64 | damage_count: u32 | maintenance_due: u32
//! ```
//! `next` is only valid if `more` is 1. Ends are offsets from the start of the keys and of the values. A page of keys
//! has no values, and the length of each in place of its end. A page of folders has two f64 as each value: the number
//! of its entries, and their bytes.

use crate::failure::{Failure, Result};

/// Builds the result of `getManyAsync`.
#[derive(Debug)]
pub(crate) struct Values {
    out: Vec<u8>,
    /// The offset for the length of the next value.
    at: usize,
}

impl Values {
    /// The result for `count` keys. `read` calls its argument with the value of each; `None` is a miss.
    pub(crate) fn collect(
        count: usize,
        read: impl FnOnce(&mut dyn FnMut(Option<&[u8]>)) -> varve_core::Result<()>,
    ) -> Result<Vec<u8>> {
        let mut values = Self { out: vec![0; count * 4], at: 0 };
        let mut added = Ok(());
        read(&mut |value| {
            if added.is_ok() {
                added = values.add(value);
            }
        })?;
        added.map(|()| values.out)
    }

    fn add(&mut self, value: Option<&[u8]>) -> Result<()> {
        let length = value.map_or(Ok(-1), |value| length_of(value.len()))?;
        if let Some(value) = value {
            reserve(&mut self.out, value.len())?;
            self.out.extend_from_slice(value);
        }
        if let Some(place) = self.out.get_mut(self.at..self.at + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        self.at += 4;
        Ok(())
    }
}

/// Collects the entries of one page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    keys: Vec<u8>,
    values: Vec<u8>,
    key_ends: Vec<u32>,
    value_ends: Vec<u32>,
}

impl Page {
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.keys.extend_from_slice(key);
        reserve(&mut self.values, value.len())?;
        self.values.extend_from_slice(value);
        self.key_ends.push(word_of(self.keys.len())?);
        self.value_ends.push(word_of(self.values.len())?);
        Ok(())
    }

    /// Adds an entry to a page of keys.
    pub(crate) fn add_key(&mut self, key: &[u8], value_bytes: usize) -> Result<()> {
        self.keys.extend_from_slice(key);
        self.key_ends.push(word_of(self.keys.len())?);
        self.value_ends.push(word_of(value_bytes)?);
        Ok(())
    }

    /// Writes the page to `out`, and returns its length.
    pub(crate) fn finish(self, next: Option<u64>, out: &mut Vec<u8>) -> Result<i32> {
        out.clear();
        reserve(out, 24 + 8 * self.key_ends.len() + self.keys.len() + self.values.len())?;
        out.extend_from_slice(&next.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&u32::from(next.is_some()).to_le_bytes());
        for count in [self.key_ends.len(), self.keys.len(), self.values.len()] {
            out.extend_from_slice(&word_of(count)?.to_le_bytes());
        }
        for end in self.key_ends.iter().chain(&self.value_ends) {
            out.extend_from_slice(&end.to_le_bytes());
        }
        out.extend_from_slice(&self.keys);
        out.extend_from_slice(&self.values);
        length_of(out.len())
    }
}

/// The length of a result, as JavaScript receives it.
pub(crate) fn length_of(bytes: usize) -> Result<i32> {
    i32::try_from(bytes).map_err(|_| too_long(bytes))
}

/// Reserves `bytes` more, or returns an error instead of aborting.
pub(crate) fn reserve(out: &mut Vec<u8>, bytes: usize) -> Result<()> {
    out.try_reserve(bytes).map_err(|_| too_long(bytes))
}

fn word_of(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| too_long(bytes))
}

fn too_long(bytes: usize) -> Box<Failure> {
    let message = format!(
        "a result of {bytes} bytes does not fit into memory; request fewer entries per call"
    );
    Failure::boxed("VALUE_TOO_LONG", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_values_begin_with_their_lengths() -> Result<()> {
        let out = Values::collect(3, |each| {
            [Some(&b"ab"[..]), None, Some(b"")].into_iter().for_each(each);
            Ok(())
        })?;
        assert_eq!(
            out,
            [&2i32.to_le_bytes()[..], &(-1i32).to_le_bytes(), &0i32.to_le_bytes(), b"ab"].concat()
        );
        Ok(())
    }

    #[test]
    fn a_packed_page_has_the_ends_before_the_bytes() -> Result<()> {
        let (mut page, mut out) = (Page::default(), Vec::new());
        page.add(b"k", b"value")?;
        page.add(b"key", b"")?;
        page.finish(Some(1 << 40), &mut out)?;
        let mut expected = (1u64 << 40).to_le_bytes().to_vec();
        for word in [1u32, 2, 4, 5, 1, 4, 5, 5] {
            expected.extend_from_slice(&word.to_le_bytes());
        }
        expected.extend_from_slice(b"kkeyvalue");
        assert_eq!(out, expected);
        Ok(())
    }

    #[test]
    fn a_packed_page_of_keys_has_the_lengths_of_values() -> Result<()> {
        let (mut page, mut out) = (Page::default(), Vec::new());
        page.add_key(b"k", 1 << 31)?;
        page.add_key(b"key", 1 << 31)?;
        page.finish(None, &mut out)?;
        let mut expected = 0u64.to_le_bytes().to_vec();
        for word in [0u32, 2, 4, 0, 1, 4, 1 << 31, 1 << 31] {
            expected.extend_from_slice(&word.to_le_bytes());
        }
        expected.extend_from_slice(b"kkey");
        assert_eq!(out, expected);
        Ok(())
    }
}
