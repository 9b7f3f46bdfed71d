//! Two writers at the same time, the second without locks. Each reads all earlier commits before it commits, so the
//! commits have one order. What a crash may leave is decided for each writer alone.

use super::Recorder;

impl Recorder {
    pub(super) fn step_beside(&mut self, random: &mut fastrand::Rng) {
        if self.writers.len() < 2 {
            self.writers.push(self.open(1));
        }
        let slot = random.usize(..2);
        match random.u32(..12) {
            0..6 => {
                self.see_all(slot);
                self.commit_some(random, slot, "commit");
            }
            6 | 7 => self.compact(random, slot, false),
            8 => self.compact(random, slot, true),
            9 => {
                self.see_all(slot);
                self.flush(slot);
                // A flush is of everything that is seen.
                self.mark_durable(1 - slot);
            }
            _ => self.end(random, slot),
        }
    }

    fn see_all(&mut self, slot: usize) {
        self.writers[slot].store().refresh().expect("refresh");
    }
}
