//! Exports and imports under way. JavaScript knows each by a number.

use crate::export::{Export, ExportOptions};
use crate::failure::{Failure, Result};
use crate::import::Import;
use std::collections::HashMap;
use std::sync::Arc;
use varve_core::Store;

/// The exports and imports of one handle.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    exports: HashMap<u32, Export>,
    imports: HashMap<u32, Import>,
    last: u32,
}

impl Transfers {
    /// Begins an export of what is committed now. Returns its number.
    pub(crate) fn begin_export(&mut self, store: &Arc<Store>, options: ExportOptions) -> Result<u32> {
        let export = Export::new(store, options)?;
        let number = self.next();
        self.exports.insert(number, export);
        Ok(number)
    }

    /// Begins an import. Returns its number.
    pub(crate) fn begin_import(&mut self, store: &Arc<Store>, may_replace: bool) -> u32 {
        let number = self.next();
        self.imports.insert(number, Import::new(store, may_replace));
        number
    }

    pub(crate) fn export(&mut self, number: u32) -> Result<&mut Export> {
        self.exports.get_mut(&number).ok_or_else(|| unknown(number))
    }

    pub(crate) fn import(&mut self, number: u32) -> Result<&mut Import> {
        self.imports.get_mut(&number).ok_or_else(|| unknown(number))
    }

    /// Ends an export or an import; what was not committed of it is dropped.
    pub(crate) fn end(&mut self, number: u32) {
        self.exports.remove(&number);
        self.imports.remove(&number);
    }

    fn next(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }
}

fn unknown(number: u32) -> Box<Failure> {
    Failure::argument(format!("no export or import {number} is under way"))
}
