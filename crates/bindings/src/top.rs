//! The largest entries of a cache, the oldest, and those that were never used, as JSON.

use crate::failure::{Failure, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use varve_core::{Store, TopEntry, TopOrder};

#[derive(Debug, Deserialize)]
struct Options {
    order: TopOrder,
    /// Of all namespaces where it is null.
    namespace: Option<String>,
    limit: usize,
}

/// An entry without its value.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct TopItem {
    pub namespace: String,
    pub key_base64: String,
    pub value_bytes: u64,
    pub written_ms: u64,
    pub used_ms: Option<u64>,
}

/// The entries that `options` (JSON) ask for.
pub fn top(store: &Store, options: &str) -> Result<Vec<TopItem>> {
    let Options { order, namespace, limit } =
        serde_json::from_str(options).map_err(|error| Failure::argument(format!("options of top(): {error}")))?;
    let item = |entry: TopEntry| {
        let TopEntry { namespace, key, value_bytes, written_ms, used_ms } = entry;
        TopItem { namespace, key_base64: STANDARD.encode(key), value_bytes, written_ms, used_ms }
    };
    Ok(store.top(order, namespace.as_deref(), limit)?.into_iter().map(item).collect())
}
