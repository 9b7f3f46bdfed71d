//! Damage: files changed without the engine's knowledge, as by a bad disk, another program or an attacker. Open handles
//! see it. It is not an operation: afterwards the directory counts as durable and the journal begins again.
#![expect(
    clippy::expect_used,
    reason = "only tests damage files, and they know which files there are"
)]

use super::SimVfs;
use super::content::Content;
use super::state::State;

impl SimVfs {
    /// The bytes of a file. Panics if it is missing.
    pub fn contents(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        let content = &state.inode_ref(state.find(name).expect("the file exists")).content;
        content.read(0, content.len() as usize).expect("all of it")
    }

    /// Length of a file. Panics if it is missing.
    pub fn length(&self, name: &str) -> u64 {
        let state = self.state();
        state.inode_ref(state.find(name).expect("the file exists")).content.len()
    }

    /// Names of all files, sorted.
    pub fn names(&self) -> Vec<String> {
        self.state().names.keys().map(ToString::to_string).collect()
    }

    /// Flips one bit of a file.
    pub fn flip(&self, name: &str, byte: u64, bit: u32) {
        let mut bytes = self.contents(name);
        *bytes.get_mut(byte as usize).expect("a byte of the file") ^= 1 << bit;
        self.set_contents(name, bytes);
    }

    /// Cuts a file, or extends it with zeros, to `length` bytes.
    pub fn truncate(&self, name: &str, length: u64) {
        self.damage(|state| {
            let inode = state.find(name).expect("the file exists");
            let content = &mut state.inode(inode).content;
            content.truncate(length);
            content.pad(length);
            state.inode(inode).damages += 1;
        });
    }

    /// Replaces the bytes of a file in place; creates it if it is missing.
    pub fn set_contents(&self, name: &str, bytes: Vec<u8>) {
        self.damage(|state| {
            let inode = state.find(name).unwrap_or_else(|_| state.add_inode());
            state.inode(inode).content = Content::new(bytes);
            state.inode(inode).damages += 1;
            state.names.insert(name.into(), inode);
        });
    }

    /// Removes a name, on any machine and without a call.
    pub fn erase(&self, name: &str) {
        self.damage(|state| {
            state.names.remove(name).expect("the file exists");
        });
    }

    /// Declares the directory durable; the journal begins again.
    pub fn settle(&self) {
        self.state().settle();
    }

    fn damage(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        state.settle();
    }
}
