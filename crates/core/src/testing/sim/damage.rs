//! Damage: files changed behind the engine's back, as by a bad disk, another program or an attacker. Open handles see
//! it. It is no operation: after it the folder as it is counts as durable and the journal begins anew.
#![expect(clippy::expect_used, reason = "only tests damage files, and they know which files there are")]

use super::SimVfs;
use super::content::Content;
use super::state::State;

impl SimVfs {
    /// The bytes of a file. Panics where it is missing.
    pub fn contents(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        let content = &state.inode_ref(state.find(name).expect("the file exists")).content;
        content.read(0, content.len() as usize).expect("all of it")
    }

    /// Length of a file. Panics where it is missing.
    pub fn length(&self, name: &str) -> u64 {
        let state = self.state();
        state.inode_ref(state.find(name).expect("the file exists")).content.len()
    }

    /// Names of all files, in order.
    pub fn names(&self) -> Vec<String> {
        self.state().names.keys().map(ToString::to_string).collect()
    }

    /// Flips one bit of a file.
    pub fn flip(&self, name: &str, byte: u64, bit: u32) {
        let mut bytes = self.contents(name);
        *bytes.get_mut(byte as usize).expect("a byte of the file") ^= 1 << bit;
        self.set_contents(name, bytes);
    }

    /// Cuts a file, or fills it up with zeros, to `length` bytes.
    pub fn truncate(&self, name: &str, length: u64) {
        self.damage(|state| {
            let inode = state.find(name).expect("the file exists");
            let content = &mut state.inode(inode).content;
            content.truncate(length);
            content.pad(length);
            state.inode(inode).damages += 1;
        });
    }

    /// Gives a file new bytes, in place; creates it where it is missing.
    pub fn set_contents(&self, name: &str, bytes: Vec<u8>) {
        self.damage(|state| {
            let inode = state.find(name).unwrap_or_else(|_| state.add_inode());
            state.inode(inode).content = Content::new(bytes);
            state.inode(inode).damages += 1;
            state.names.insert(name.into(), inode);
        });
    }

    /// Takes a name away, on any machine and without a call.
    pub fn erase(&self, name: &str) {
        self.damage(|state| {
            state.names.remove(name).expect("the file exists");
        });
    }

    /// Forgets how the folder came about: all of it counts as durable and the journal begins anew.
    pub fn settle(&self) {
        self.state().settle();
    }

    fn damage(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        state.settle();
    }
}
