//! Varve's export as a subject, with one subject for each way to write the same bytes.

use crate::data::Entries;
use crate::subject::{Opened, Subject};
use crate::varve::Varve;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use varve_bindings::{ExportOptions, ExportProgress};

/// How the bytes reach the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// From a buffer of 256 KiB, as in Varve's API.
    Buffered,
    /// Each entry with its own write.
    Unbuffered,
    /// A plain loop over entries in memory, without Varve: serde_json into a `BufWriter` of 256 KiB.
    PlainLoop,
    /// Only the finished bytes, 256 KiB at a time: the cost of the file.
    Bytes,
}

/// The export in one of these ways.
#[derive(Clone, Copy, Debug)]
pub struct Export(pub Form);

/// All ways.
pub const EXPORTS: [Export; 4] = [
    Export(Form::Buffered),
    Export(Form::Unbuffered),
    Export(Form::PlainLoop),
    Export(Form::Bytes),
];

/// The bytes of one write in the ways without an export.
const CHUNK_BYTES: usize = 256 << 10;

/// The ending of the version of a namespace with text values.
const TEXT_TAG: &str = "text";

impl Subject for Export {
    fn name(&self) -> String {
        match self.0 {
            Form::Buffered => "varve".to_owned(),
            Form::Unbuffered => "varve-unbuffered".to_owned(),
            Form::PlainLoop => "plain-loop".to_owned(),
            Form::Bytes => "bytes".to_owned(),
        }
    }

    fn takes_part(&self, id: &str) -> bool {
        id.starts_with("export/")
    }

    fn open(&self, folder: &Path, block_cache_bytes: usize) -> Box<dyn Opened> {
        let store =
            Varve { threads: 1 }.open_as(folder, block_cache_bytes, &format!("1 {TEXT_TAG}"));
        Box::new(OpenExport { form: self.0, store, entries: Vec::new(), finished: Vec::new() })
    }
}

struct OpenExport {
    form: Form,
    store: crate::varve::OpenVarve,
    /// The entries in the order of an export, for `PlainLoop`.
    entries: Vec<(String, String)>,
    /// The finished bytes, for `Bytes`.
    finished: Vec<u8>,
}

impl OpenExport {
    fn begin(&self) -> varve_bindings::Export {
        let options = ExportOptions {
            namespace: None,
            list: true,
            keys_only: false,
            text_tag: TEXT_TAG.to_owned(),
            json_tag: "json".to_owned(),
        };
        varve_bindings::Export::new(self.store.store(), options).expect("begins")
    }

    fn buffered(&self, target: &mut dyn Write) {
        let (mut export, mut chunk) = (self.begin(), Vec::new());
        loop {
            let ExportProgress { more, .. } = export.fill(&mut chunk);
            target.write_all(&chunk).expect("writes");
            if !more {
                return;
            }
        }
    }

    fn unbuffered(&self, target: &mut dyn Write) {
        let (mut export, mut entry) = (self.begin(), Vec::new());
        export.go_on(&mut entry, &mut |entry| {
            target.write_all(entry).expect("writes");
            entry.clear();
            ControlFlow::Continue(())
        });
        target.write_all(&entry).expect("writes the end");
    }
}

/// The straightforward loop that an export is compared with.
fn plain_loop(entries: &[(String, String)], target: &mut File) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, target);
    for (index, (key, value)) in entries.iter().enumerate() {
        out.write_all(if index == 0 { b"[\n" } else { b",\n" })?;
        write!(out, "{{\"namespace\":\"bench\",\"version\":\"1 {TEXT_TAG}\",\"key\":")?;
        serde_json::to_writer(&mut out, key)?;
        out.write_all(b",\"text\":")?;
        serde_json::to_writer(&mut out, value)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"\n]\n")?;
    out.flush()
}

impl Opened for OpenExport {
    fn commit(&mut self, entries: Entries<'_>, durable: bool) {
        self.store.commit(entries, durable);
    }

    /// Merges the tables and prepares the data of the other ways.
    fn compact(&mut self, full: bool) {
        self.store.compact(full);
        match self.form {
            Form::PlainLoop => {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
                let mut walk = self.store.store().walk(None, true).expect("walks");
                walk.go_on(&mut |entry| {
                    self.entries.push((text(entry.key), text(entry.value)));
                    ControlFlow::Continue(())
                });
            }
            Form::Bytes => {
                let mut finished = Vec::new();
                self.buffered(&mut finished);
                self.finished = finished;
            }
            Form::Buffered | Form::Unbuffered => {}
        }
    }

    fn export(&mut self, target: &mut File) {
        match self.form {
            Form::Buffered => self.buffered(target),
            Form::Unbuffered => self.unbuffered(target),
            Form::PlainLoop => plain_loop(&self.entries, target).expect("writes"),
            Form::Bytes => {
                for chunk in self.finished.chunks(CHUNK_BYTES) {
                    target.write_all(chunk).expect("writes");
                }
            }
        }
    }

    fn close(self: Box<Self>) {
        Box::new(self.store).close();
    }
}
