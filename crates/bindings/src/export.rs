//! Exports entries as JSON: one object per entry, each on its own line.
//!
//! ```text
//! lines:                                                    list:
//!   {"namespace":"n","version":"3 text","key":"a","text":"b"}   [
//!   {"namespace":"n","version":"3 text","key":"c","text":"d"}   {..},
//!                                                               {..}
//!                                                               ]
//! ```
//! - The key is `key`, or `keyBase64` if its bytes are not UTF-8.
//! - The value is `text` or `json` if the codec of the namespace uses that form and the bytes are valid, else `base64`.
//!   An export without values has its length, `valueBytes`.
//!
//! Entries come in the order of a walk, so the same entries give the same bytes on every engine. They are collected in
//! a buffer, which is handed over when it is full and always ends with an entry. So the bytes do not depend on the size
//! of the buffer.

use crate::failure::{Failure, Result};
use crate::json::{add_base64, add_text, is_embeddable};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::str;
use varve_core::failpoints;
use varve_core::{Store, Walk, WalkEntry, WalkNamespace};

/// A buffer is full once it has more bytes than this.
const BUFFER_BYTES: usize = 256 << 10;

/// The options of an export.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportOptions {
    /// Exports only the namespace of this name.
    pub namespace: Option<String>,
    /// Writes one JSON array instead of lines.
    pub list: bool,
    /// Exports no values.
    pub keys_only: bool,
    /// The endings of namespace versions whose values are text or JSON.
    pub text_tag: String,
    #[expect(missing_docs, reason = "see the field above")]
    pub json_tag: String,
}

/// The progress of an export.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportProgress {
    /// The bytes of this chunk.
    pub bytes: usize,
    /// The entries and namespaces so far.
    pub entries: u64,
    #[expect(missing_docs, reason = "see the field above")]
    pub namespaces: u64,
    /// The approximate bytes of keys and values, so far and in total.
    pub done: u64,
    #[expect(missing_docs, reason = "see the field above")]
    pub total: u64,
    /// Whether more chunks follow.
    pub more: bool,
}

/// An export in progress.
#[derive(Debug)]
pub struct Export {
    walk: Walk,
    writer: Writer,
    /// The last byte has been handed over.
    is_over: bool,
}

/// The state that all entries share.
#[derive(Debug)]
struct Writer {
    options: ExportOptions,
    /// Namespace and version as the text with which every entry of the current namespace begins.
    head: Vec<u8>,
    number: Option<usize>,
    form: Form,
    entries: u64,
    namespaces: u64,
}

/// The form of the values of a namespace. A value that does not fit the form becomes base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Base64,
}

impl Export {
    /// Begins an export of the committed state.
    pub fn new(store: &Store, options: ExportOptions) -> Result<Self> {
        let walk = store.walk(options.namespace.as_deref(), !options.keys_only)?;
        let writer = Writer {
            options,
            head: Vec::new(),
            number: None,
            form: Form::Base64,
            entries: 0,
            namespaces: 0,
        };
        Ok(Self { walk, writer, is_over: false })
    }

    /// Fills `out` with the next chunk. A chunk without bytes is the end.
    pub fn fill(&mut self, out: &mut Vec<u8>) -> ExportProgress {
        failpoints::panics("export-fill");
        out.clear();
        let is_full = |out: &mut Vec<u8>| out.len() >= BUFFER_BYTES;
        self.go_on(out, &mut |out| {
            if is_full(out) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let (done, total) = self.walk.progress();
        let Writer { entries, namespaces, .. } = self.writer;
        ExportProgress { bytes: out.len(), entries, namespaces, done, total, more: !self.is_over }
    }

    /// Adds entries to `out` and calls `each` after every one. `each` may take the bytes out of the buffer, or stop
    /// here.
    pub fn go_on(
        &mut self,
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(&mut Vec<u8>) -> ControlFlow<()>,
    ) {
        let Self { walk, writer, is_over } = self;
        if *is_over {
            return;
        }
        let more = walk.go_on(&mut |entry| {
            writer.add(out, entry);
            each(out)
        });
        if !more {
            writer.finish(out);
            *is_over = true;
        }
    }
}

impl Writer {
    fn add(&mut self, out: &mut Vec<u8>, entry: WalkEntry<'_>) {
        if self.number != Some(entry.number) {
            self.number = Some(entry.number);
            self.namespaces += 1;
            self.begin(entry.namespace);
        }
        if self.options.list {
            out.extend_from_slice(if self.entries == 0 { b"[\n" } else { b",\n" });
        }
        self.entries += 1;
        out.extend_from_slice(&self.head);
        match str::from_utf8(entry.key) {
            Ok(key) => {
                out.extend_from_slice(b",\"key\":");
                add_text(out, key);
            }
            Err(_) => {
                out.extend_from_slice(b",\"keyBase64\":");
                add_base64(out, entry.key);
            }
        }
        if self.options.keys_only {
            out.extend_from_slice(format!(",\"valueBytes\":{}", entry.value_bytes).as_bytes());
        } else {
            add_value(out, self.form, entry.value);
        }
        out.push(b'}');
        if !self.options.list {
            out.push(b'\n');
        }
    }

    fn begin(&mut self, namespace: &WalkNamespace) {
        let tag = namespace.version.rsplit_once(' ').map_or("", |(_, tag)| tag);
        self.form = match tag {
            "" => Form::Base64,
            tag if tag == self.options.text_tag => Form::Text,
            tag if tag == self.options.json_tag => Form::Json,
            _ => Form::Base64,
        };
        self.head.clear();
        self.head.extend_from_slice(b"{\"namespace\":");
        add_text(&mut self.head, &namespace.name);
        self.head.extend_from_slice(b",\"version\":");
        add_text(&mut self.head, &namespace.version);
    }

    fn finish(&self, out: &mut Vec<u8>) {
        if self.options.list {
            out.extend_from_slice(if self.entries == 0 { b"[\n]\n" } else { b"\n]\n" });
        }
    }
}

#[inline]
fn add_value(out: &mut Vec<u8>, form: Form, value: &[u8]) {
    match form {
        Form::Text => {
            if let Ok(text) = str::from_utf8(value) {
                out.extend_from_slice(b",\"text\":");
                return add_text(out, text);
            }
        }
        Form::Json => {
            if is_embeddable(value) {
                out.extend_from_slice(b",\"json\":");
                return out.extend_from_slice(value);
            }
        }
        Form::Base64 => {}
    }
    out.extend_from_slice(b",\"base64\":");
    add_base64(out, value);
}

impl ExportOptions {
    /// Parses the JSON that the TypeScript side writes.
    pub fn read(json: &str) -> Result<Self> {
        serde_json::from_str(json)
            .map_err(|error| Failure::argument(format!("invalid export options: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use varve_core::vfs::MemVfs;
    use varve_core::{Options, SerialPool};

    const ENTRIES: usize = 9_000;

    fn filled() -> Result<Arc<Store>> {
        let store =
            Store::open(Arc::new(MemVfs::default()), Arc::new(SerialPool), Options::default())?;
        let mut handle = store.handle();
        for (name, version) in [("texts", "1 text"), ("bytes", ""), ("values", " json")] {
            let id = handle.namespace(name, version)?;
            for index in 0..ENTRIES / 3 {
                let value = format!("[{index},\"{}\"]", "x".repeat(index % 300));
                handle.put(id, format!("key {index}").as_bytes(), value.as_bytes())?;
            }
        }
        handle.begin_commit().map(|commit| commit.run(None, 1)).transpose()?;
        Ok(store)
    }

    fn options(list: bool, keys_only: bool) -> ExportOptions {
        let (text_tag, json_tag) = ("text".to_owned(), "json".to_owned());
        ExportOptions { namespace: None, list, keys_only, text_tag, json_tag }
    }

    #[test]
    fn the_buffer_of_an_export_changes_neither_its_bytes_nor_its_chunk_boundaries() -> Result<()> {
        let store = filled()?;
        for (list, keys_only) in [(true, false), (false, false), (true, true), (false, true)] {
            let mut export = Export::new(&store, options(list, keys_only))?;
            let (mut unbuffered, mut ends, mut entry) = (Vec::new(), Vec::new(), Vec::new());
            export.go_on(&mut entry, &mut |entry| {
                unbuffered.append(entry);
                ends.push(unbuffered.len());
                ControlFlow::Continue(())
            });
            unbuffered.append(&mut entry);
            assert_eq!(ends.len(), ENTRIES);

            let mut export = Export::new(&store, options(list, keys_only))?;
            let (mut buffered, mut chunk) = (Vec::new(), Vec::new());
            loop {
                let progress = export.fill(&mut chunk);
                assert_eq!(progress.bytes, chunk.len());
                buffered.extend_from_slice(&chunk);
                if !progress.more {
                    assert_eq!((progress.entries, progress.namespaces), (ENTRIES as u64, 3));
                    assert_eq!(progress.done, progress.total);
                    break;
                }
                assert!(
                    chunk.len() >= BUFFER_BYTES && ends.contains(&buffered.len()),
                    "a chunk ends after an entry"
                );
            }
            assert!(buffered == unbuffered && buffered.len() > BUFFER_BYTES);
        }
        Ok(())
    }
}
