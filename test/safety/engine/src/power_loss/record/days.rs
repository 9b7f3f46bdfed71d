//! A cache that is used on many days: readers write use records, which are merged later, and the cache is so small that
//! it evicts entries.

use super::{Recorder, content_of};
use crate::history::{open_with_blobs, random_key};
use crate::power_loss::recorded::Changes;

impl Recorder {
    pub(super) fn step_of_days(&mut self, random: &mut fastrand::Rng) {
        match random.u32(..8) {
            0..3 => self.commit_some(random, 0, "commit"),
            3 => self.compact(random, 0, false),
            4 => self.compact(random, 0, true),
            5 => self.end(random, 0),
            _ => self.some_days(random),
        }
    }

    /// The cache is read on each of these days.
    fn some_days(&mut self, random: &mut fastrand::Rng) {
        self.begin_step("used");
        for _ in 0..random.usize(1..10) {
            self.day += random.u64(1..4);
            let mut reader = self.open(0);
            let id = reader.namespace("n", &self.version.to_string()).expect("namespace");
            for _ in 0..random.usize(1..8) {
                reader.get(id, &random_key(random), <[u8]>::len).expect("get");
            }
            reader.store().close().expect("close");
        }
        self.writers[0].store().set_now(self.now_ms());
    }

    /// What a compaction left out to keep the cap is like a commit that deletes it.
    pub(super) fn note_evicted(&mut self, begun: usize) {
        if self.life != super::Life::Days {
            return;
        }
        let left = content_of(
            &mut open_with_blobs(&self.vfs.fork(), self.options.blob_bytes_min).expect("open"),
        );
        if left == self.content {
            return;
        }
        let is_part = left.iter().all(|(key, value)| self.content.get(key) == Some(value));
        assert!(is_part, "entries may leave, and nothing else");
        self.content = left;
        self.note(0, begun, false, Changes::new());
        if let Some((_, step)) = self.steps.last_mut() {
            *step = "evict";
        }
    }
}
