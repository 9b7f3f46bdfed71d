//! Reads every block of a table, and reports for a damaged one which keys it had.

use super::directory::PAGE_ROWS;
use super::key_block::{NAMES_BLOBS, Stored};
use super::reader::Table;
use crate::format::file_start::TABLE_START;
use crate::format::order;
use crate::report::DamagedKeys;

/// A key block or a value block, by its index.
#[derive(Clone, Copy, Debug)]
enum Block {
    Keys(usize),
    Values(usize),
}

impl Table {
    /// Reads every byte and reports damage.
    pub(crate) fn verify(&self) {
        let Some(directory) = self.directory() else { return };
        let keys =
            rows_of(directory.key_blocks, |index| Some((self.key_row(index)?, Block::Keys(index))));
        let values = rows_of(directory.value_blocks, |index| {
            Some((self.value_row(index)?, Block::Values(index)))
        });
        let mut rows: Vec<_> = keys.chain(values).collect();
        order::sort_by(&mut rows, |left, right| left.0.offset.cmp(&right.0.offset));
        let (mut place, mut damaged_values) = (TABLE_START.len() as u64, Vec::new());
        if !self.has_start() {
            self.report(0, "start of a table", None);
        }
        let (mut sound_keys, mut damaged_keys) = (Vec::new(), Vec::new());
        let has_all_rows = rows.len() == directory.key_blocks + directory.value_blocks;
        for (row, block) in rows {
            if row.offset != place && has_all_rows {
                self.report(place, "gap between blocks", None);
            }
            place = row.offset + u64::from(row.stored_bytes);
            let is_sound = self.try_block(row).is_some();
            match block {
                Block::Keys(index) if is_sound => sound_keys.push(index),
                Block::Keys(index) => damaged_keys.push(index),
                Block::Values(_) if is_sound => {}
                Block::Values(index) => damaged_values.push((index, None)),
            }
        }
        if !damaged_keys.is_empty() || !damaged_values.is_empty() {
            self.report_damaged(&sound_keys, &damaged_keys, damaged_values);
        }
    }

    /// Reports damaged blocks with the keys that they had, as far as the sound key blocks show.
    fn report_damaged(
        &self,
        sound: &[usize],
        keys: &[usize],
        mut values: Vec<(usize, Option<DamagedKeys>)>,
    ) {
        order::sort_by(&mut values, |left, right| left.0.cmp(&right.0));
        let mut readable = 0;
        for index in sound {
            let Some(block) = self.read_keys(*index) else { continue };
            for (at, hash) in block.layout.hashes(&block.bytes).iter().enumerate() {
                readable += 1;
                let Some((key, Stored::Placed { block: placed, .. })) =
                    block.layout.entry(&block.bytes, at)
                else {
                    continue;
                };
                let place = values
                    .binary_search_by_key(&((placed & !NAMES_BLOBS) as usize), |(index, _)| *index);
                if let Some((_, found)) = place.ok().and_then(|place| values.get_mut(place)) {
                    extend(found, u32::from_le_bytes(*hash), key);
                }
            }
        }
        let entries = match keys {
            [_] => self.meta.entries.checked_sub(readable),
            _ => None,
        };
        for index in keys {
            self.report_keys(*index, entries);
        }
        for (index, found) in values {
            let offset = self.value_row(index).map_or(0, |row| row.offset);
            self.report(offset, "block of values", found);
        }
    }
}

/// The rows of the blocks that have one. A page of rows that cannot be read is tried once.
fn rows_of<R>(blocks: usize, row: impl Fn(usize) -> Option<R> + Copy) -> impl Iterator<Item = R> {
    let pages = (0..blocks).step_by(PAGE_ROWS).filter(move |first| row(*first).is_some());
    pages.flat_map(move |first| (first..blocks.min(first + PAGE_ROWS)).filter_map(row))
}

/// Adds a key; keys are added in order.
fn extend(found: &mut Option<DamagedKeys>, hash: u32, key: &[u8]) {
    let key = text_of(key);
    let keys = found.get_or_insert_with(|| DamagedKeys {
        first_hash: hash,
        first: Some(key.clone()),
        entries: Some(0),
        ..DamagedKeys::default()
    });
    keys.last_hash = hash;
    keys.last = Some(key);
    keys.entries = keys.entries.map(|entries| entries + 1);
}

fn text_of(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) => text.to_owned(),
        Err(_) => key.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_keys_have_a_count_and_the_first_and_last_key() {
        let mut found = None;
        for (hash, key) in [(3, &b"a"[..]), (5, b"b"), (9, b"\xff\x01")] {
            extend(&mut found, hash, key);
        }
        let expected = DamagedKeys {
            first_hash: 3,
            last_hash: 9,
            entries: Some(3),
            first: Some("a".to_owned()),
            last: Some("\\xff\\x01".to_owned()),
        };
        assert_eq!(found, Some(expected));
    }
}
