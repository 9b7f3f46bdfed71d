//! The exports and imports of a session that are in progress. JavaScript refers to each by a number.

use crate::export::{Export, ExportOptions, ExportProgress};
use crate::failure::{Failure, Result};
use crate::import::{Import, ImportProgress};
use crate::session::Session;
use std::collections::HashMap;
use varve_core::PendingCommit;

/// The exports and imports in progress.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    exports: HashMap<u32, Export>,
    imports: HashMap<u32, Import>,
    last: u32,
}

impl Session {
    /// Begins an export of the committed state; `options` is JSON. Returns its number.
    pub fn begin_export(&mut self, options: &str) -> Result<u32> {
        let export = Export::new(self.store()?, ExportOptions::read(options)?)?;
        let number = self.transfers.next();
        self.transfers.exports.insert(number, export);
        Ok(number)
    }

    /// Writes the next chunk of an export, which is kept until `take`. A chunk without bytes is the end.
    pub fn export_chunk(&mut self, number: u32) -> Result<ExportProgress> {
        self.store()?;
        let export = self.transfers.exports.get_mut(&number).ok_or_else(|| unknown(number))?;
        Ok(export.fill(&mut self.held))
    }

    /// Begins an import. Returns its number.
    pub fn begin_import(&mut self, may_replace: bool) -> Result<u32> {
        let import = Import::new(self.store()?, may_replace);
        let number = self.transfers.next();
        self.transfers.imports.insert(number, import);
        Ok(number)
    }

    /// Reads the next piece of an import.
    pub fn feed_import(&mut self, number: u32, piece: &[u8]) -> Result<ImportProgress> {
        self.import(number)?.feed(piece)
    }

    /// Checks that the input of an import may end here.
    pub fn finish_import(&mut self, number: u32) -> Result<()> {
        self.import(number)?.finish()
    }

    /// Begins a commit of the entries of an import; `None` if there are none.
    pub fn commit_import(&mut self, number: u32) -> Result<Option<PendingCommit>> {
        Ok(self.import(number)?.begin_commit())
    }

    /// Ends an export or an import. Entries that are not committed are discarded.
    pub fn end_transfer(&mut self, number: u32) {
        self.transfers.exports.remove(&number);
        self.transfers.imports.remove(&number);
    }

    fn import(&mut self, number: u32) -> Result<&mut Import> {
        self.store()?;
        self.transfers.imports.get_mut(&number).ok_or_else(|| unknown(number))
    }
}

impl Transfers {
    fn next(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }
}

fn unknown(number: u32) -> Failure {
    Failure::argument(format!("export or import {number} does not exist"))
}
