//! The largest, the oldest and the never used entries of a cache, as JSON.

use crate::failure::{Failure, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use varve_core::{Store, TopEntry, TopOrder};

#[derive(Debug, Deserialize)]
struct Options {
    order: TopOrder,
    /// The namespace; `None` for all.
    namespace: Option<String>,
    limit: usize,
}

/// An entry without its value.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the field names and units are self-explanatory")]
pub struct TopItem {
    pub namespace: String,
    pub key_base64: String,
    pub value_bytes: u64,
    pub written_ms: u64,
    pub used_ms: Option<u64>,
}

/// Returns the entries selected by `options`, which is JSON.
pub fn top(store: &Store, options: &str) -> Result<Vec<TopItem>> {
    let Options { order, namespace, limit } = serde_json::from_str(options)
        .map_err(|error| Failure::argument(format!("invalid options of top(): {error}")))?;
    let item = |entry: TopEntry| {
        let TopEntry { namespace, key, value_bytes, written_ms, used_ms } = entry;
        TopItem { namespace, key_base64: STANDARD.encode(key), value_bytes, written_ms, used_ms }
    };
    Ok(store.top(order, namespace.as_deref(), limit)?.into_iter().map(item).collect())
}
