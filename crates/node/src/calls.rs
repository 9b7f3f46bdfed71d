//! The functions and methods of an open store, by what they are about. `engine.ts` of `packages/varve` documents each.

mod archives;
mod commits;
mod entries;
mod files;
mod maintain;
mod transfers;
mod trees;

use crate::node_api::Methods;
use crate::store::NodeStore;

pub(crate) use entries::add_hot;

/// Adds all methods.
pub(crate) fn add(methods: Methods<NodeStore>) -> Methods<NodeStore> {
    let methods = maintain::add(commits::add(entries::add(methods)));
    archives::add(trees::add(files::add(transfers::add(methods))))
}
