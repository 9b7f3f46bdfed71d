//! Two writers side by side, the second without locks. Each sees all that was committed before it commits, so that
//! there is one order; what a crash leaves of it is told for each writer alone.

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
