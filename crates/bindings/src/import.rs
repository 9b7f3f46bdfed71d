//! Imports what `export.rs` writes, from a stream that may arrive in pieces of any size. Entries go into a batch of
//! their own, separate from the batch of the session, and the caller commits it from time to time. A failed import
//! keeps its earlier commits and nothing else.

use crate::failure::{Failure, Result};
use crate::json::read_base64;
use crate::objects::{Objects, at_line};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use varve_core::failpoints;
use varve_core::{Handle, PendingCommit, Store};

/// The progress of an import.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportProgress {
    /// The entries and namespaces so far, including those not yet committed.
    pub entries: u64,
    #[expect(missing_docs, reason = "see the field above")]
    pub namespaces: u64,
    /// The bytes that are not committed yet.
    pub pending_bytes: u64,
}

/// An import in progress.
#[derive(Debug)]
pub struct Import {
    objects: Objects,
    target: Target,
}

/// The destination of the entries.
#[derive(Debug)]
struct Target {
    handle: Handle,
    /// Allows an import to change the version of a namespace, which discards its entries.
    may_replace: bool,
    /// Version and number of each namespace, by name.
    known: HashMap<String, (String, u32)>,
    /// The namespace and version of the previous entry as in the input, and the number. The next entry mostly has the
    /// same.
    last: Option<(Box<str>, Box<str>, u32)>,
    entries: u64,
}

/// One entry of the input. Each field is parsed later, so that an error can name it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    namespace: &'a RawValue,
    #[serde(borrow)]
    version: &'a RawValue,
    #[serde(borrow, default)]
    key: Field<'a>,
    #[serde(borrow, default)]
    key_base64: Field<'a>,
    #[serde(borrow, default)]
    text: Field<'a>,
    #[serde(borrow, default)]
    json: Field<'a>,
    #[serde(borrow, default)]
    base64: Field<'a>,
    /// Only parsed for a better error message.
    #[serde(borrow, default)]
    value_bytes: Field<'a>,
}

/// An optional field. An `Option` would also read `null` as missing.
#[derive(Default)]
struct Field<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> std::result::Result<Self, D::Error> {
        <&RawValue>::deserialize(source).map(|raw| Self(Some(raw)))
    }
}

impl Import {
    /// Begins an import. Without `may_replace`, a namespace whose version differs here is an error.
    pub fn new(store: &Arc<Store>, may_replace: bool) -> Self {
        let (known, last) = (HashMap::new(), None);
        let target = Target { handle: store.handle(), may_replace, known, last, entries: 0 };
        Self { objects: Objects::new(), target }
    }

    /// Reads the next piece of the stream.
    pub fn feed(&mut self, piece: &[u8]) -> Result<ImportProgress> {
        failpoints::panics("import-feed");
        let Self { objects, target } = self;
        objects.push(piece, &mut |object, line| target.add(object, line))?;
        let (entries, namespaces) = (target.entries, target.known.len() as u64);
        Ok(ImportProgress { entries, namespaces, pending_bytes: target.handle.pending_bytes() })
    }

    /// Checks that the stream may end here.
    pub fn finish(&self) -> Result<()> {
        self.objects.finish()
    }

    /// Begins a commit of the batch; `None` if it is empty.
    pub fn begin_commit(&mut self) -> Option<PendingCommit> {
        self.target.handle.begin_commit()
    }
}

impl Target {
    fn add(&mut self, object: &[u8], first_line: u64) -> Result<()> {
        let line: Line<'_> =
            serde_json::from_slice(object).map_err(|error| syntax(&error, first_line))?;
        let failed = |text: String| at_line(first_line, &text);
        let key = one_of(
            "key",
            [("key", line.key, Kind::Text), ("keyBase64", line.key_base64, Kind::Base64)],
        );
        let key = key.map_err(failed)?;
        let values = [
            ("text", line.text, Kind::Text),
            ("json", line.json, Kind::Json),
            ("base64", line.base64, Kind::Base64),
        ];
        let value = one_of("value", values).map_err(|text| {
            let hint = if line.value_bytes.0.is_some() {
                "; an export of keys only has no values"
            } else {
                ""
            };
            failed(format!("{text}{hint}"))
        })?;
        let id = self.namespace(line.namespace, line.version, first_line)?;
        self.handle.put(id, &key, &value).map_err(|error| in_line(error, first_line))?;
        self.entries += 1;
        Ok(())
    }

    fn namespace(&mut self, name: &RawValue, version: &RawValue, line: u64) -> Result<u32> {
        if let Some((last_name, last_version, id)) = &self.last
            && **last_name == *name.get()
            && **last_version == *version.get()
        {
            return Ok(*id);
        }
        let id = self.namespace_of(&text("namespace", name), &text("version", version), line)?;
        self.last = Some((name.get().into(), version.get().into(), id));
        Ok(id)
    }

    fn namespace_of(&mut self, name: &Text<'_>, version: &Text<'_>, line: u64) -> Result<u32> {
        let (name, version) = match (name, version) {
            (Ok(name), Ok(version)) => (name, version),
            (Err(text), _) | (_, Err(text)) => return Err(at_line(line, text)),
        };
        if name.is_empty() {
            return Err(at_line(line, "field 'namespace' must not be empty"));
        }
        let conflict = |other: String| {
            Err(at_line(
                line,
                &format!("field 'version' is '{version}', but namespace '{name}' {other}"),
            ))
        };
        if let Some((other, id)) = self.known.get(&**name) {
            let is_same = *other == **version;
            return if is_same {
                Ok(*id)
            } else {
                conflict(format!(
                    "had '{other}' before; all entries of an import need the same version"
                ))
            };
        }
        let here = self.handle.store().version_of(name)?;
        if let Some(here) = here.filter(|here| !self.may_replace && *here != **version) {
            return conflict(format!(
                "has '{here}' in this cache; 'overwrite' discards its entries"
            ));
        }
        let id = self.handle.namespace(name, version).map_err(|error| in_line(error, line))?;
        self.known.insert(name.clone().into_owned(), (version.clone().into_owned(), id));
        Ok(id)
    }
}

/// The encoding of a field.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Json,
    Base64,
}

type Text<'a> = std::result::Result<Cow<'a, str>, String>;

/// Decodes the only field of these that is present.
fn one_of<'a, const N: usize>(
    what: &str,
    fields: [(&'static str, Field<'a>, Kind); N],
) -> std::result::Result<Cow<'a, [u8]>, String> {
    let names = fields.each_ref().map(|(name, ..)| *name);
    let mut there =
        fields.into_iter().filter_map(|(name, field, kind)| Some((name, field.0?, kind)));
    match (there.next(), there.next()) {
        (Some((name, raw, kind)), None) => bytes(name, raw, kind),
        (Some((name, ..)), Some((other, ..))) => {
            Err(format!("fields '{name}' and '{other}' exclude each other"))
        }
        (None, _) => {
            Err(format!("the {what} is missing: expected field '{}'", names.join("' or '")))
        }
    }
}

fn bytes<'a>(
    name: &'static str,
    raw: &'a RawValue,
    kind: Kind,
) -> std::result::Result<Cow<'a, [u8]>, String> {
    Ok(match kind {
        Kind::Json => Cow::Borrowed(raw.get().as_bytes()),
        Kind::Text => match text(name, raw)? {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
        Kind::Base64 => {
            let decoded = read_base64(&text(name, raw)?);
            Cow::Owned(
                decoded.map_err(|error| format!("field '{name}' is not valid base64: {error}"))?,
            )
        }
    })
}

/// Parses the string of a field.
fn text<'a>(name: &'static str, raw: &'a RawValue) -> Text<'a> {
    // The JSON is valid already, so a string without a backslash needs no decoding.
    let inner = raw.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) if !inner.contains('\\') => Ok(Cow::Borrowed(inner)),
        Some(_) => serde_json::from_str(raw.get())
            .map(Cow::Owned)
            .map_err(|error| format!("field '{name}' is not a string: {}", without_place(&error))),
        None => Err(format!("field '{name}' is not a string")),
    }
}

fn in_line(error: Box<varve_core::Error>, line: u64) -> Box<Failure> {
    let mut failure = Box::<Failure>::from(error);
    failure.message.insert_str(0, &format!("line {line}: "));
    failure
}

/// The error of serde_json, with the line in the whole input.
fn syntax(error: &serde_json::Error, first_line: u64) -> Box<Failure> {
    let line = first_line + (error.line() as u64).saturating_sub(1);
    at_line(line, &format!("column {} of the entry: {}", error.column(), without_place(error)))
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text).to_owned()
}
