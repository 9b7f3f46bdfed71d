//! Exports and imports under way. JavaScript knows each by a number.

use crate::export::{Export, ExportOptions};
use crate::failure::{Failure, Result};
use crate::import::Import;
use std::sync::Arc;
use varve_core::Store;

/// The exports and imports of one handle. They are few, so their numbers are compared one by one.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    exports: Vec<(u32, Export)>,
    imports: Vec<(u32, Import)>,
    last: u32,
}

impl Transfers {
    /// Begins an export of what is committed now. Returns its number.
    pub(crate) fn begin_export(
        &mut self,
        store: &Arc<Store>,
        options: ExportOptions,
    ) -> Result<u32> {
        let export = Export::new(store, options)?;
        let number = self.next();
        self.exports.push((number, export));
        Ok(number)
    }

    /// Begins an import. Returns its number.
    pub(crate) fn begin_import(&mut self, store: &Arc<Store>, may_replace: bool) -> u32 {
        let number = self.next();
        self.imports.push((number, Import::new(store, may_replace)));
        number
    }

    pub(crate) fn export(&mut self, number: u32) -> Result<&mut Export> {
        find(&mut self.exports, number)
    }

    pub(crate) fn import(&mut self, number: u32) -> Result<&mut Import> {
        find(&mut self.imports, number)
    }

    /// Ends an export or an import; what was not committed of it is dropped.
    pub(crate) fn end(&mut self, number: u32) {
        self.exports.retain(|(other, _)| *other != number);
        self.imports.retain(|(other, _)| *other != number);
    }

    fn next(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }
}

fn find<T>(all: &mut [(u32, T)], number: u32) -> Result<&mut T> {
    let found = all.iter_mut().find(|(other, _)| *other == number);
    found
        .map(|(_, one)| one)
        .ok_or_else(|| Failure::argument(format!("no export or import {number} is under way")))
}
