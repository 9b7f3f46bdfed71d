//! The functions of an open store, by what they are about. `engine.ts` of `packages/varve` documents each.

mod archives;
mod commits;
mod entries;
mod files;
mod maintain;
mod transfers;
mod trees;

use crate::node_api::Functions;
use crate::store::NodeStore;
use varve_bindings::Result;

/// Adds all functions.
pub(crate) fn add(functions: Functions<NodeStore>) -> Result<Functions<NodeStore>> {
    let functions = maintain::add(commits::add(entries::add(functions)?)?)?;
    archives::add(trees::add(files::add(transfers::add(functions)?)?)?)
}
