//! The tables that a writer creates under its number.

use crate::error::{Error, Result};
use crate::format::file_names::TableName;
use crate::platform::vfs::{File, Vfs};
use std::io::ErrorKind;
use std::sync::Arc;

/// Names tried for one table.
const ATTEMPTS: u32 = 1 << 10;

/// The tables of one writer.
#[derive(Debug)]
pub(crate) struct NewTables {
    writer: u32,
    last: u32,
    /// Tables created since the last call of `take`.
    created: Vec<TableName>,
}

impl NewTables {
    pub(crate) fn new(writer: u32) -> Self {
        Self { writer, last: 0, created: Vec::new() }
    }

    /// Creates the next table. A name is used if another copy of the cache was put over the directory.
    pub(crate) fn create(&mut self, vfs: &dyn Vfs) -> Result<(TableName, Arc<dyn File>)> {
        for _ in 0..ATTEMPTS {
            self.last += 1;
            let name = TableName { writer: self.writer, index: self.last };
            match vfs.create_new(&name.to_string()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::io("create", &name.to_string(), source)),
                Ok(file) => {
                    self.created.push(name);
                    return Ok((name, file));
                }
            }
        }
        Err(Error::Busy { operation: "create a table", attempts: ATTEMPTS }.boxed())
    }

    /// The names of the tables that were created.
    pub(crate) fn take(&mut self) -> Vec<TableName> {
        std::mem::take(&mut self.created)
    }
}
