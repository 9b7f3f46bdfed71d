//! Takes back what `export.rs` writes, from a stream that may be cut anywhere. Entries are put into a batch of their
//! own, apart from what the session has buffered; the caller commits it now and then. An import that fails leaves the
//! commits before, whole, and nothing else.

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

/// How far an import is.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportProgress {
    /// Entries and namespaces so far, those not yet committed included.
    pub entries: u64,
    #[expect(missing_docs, reason = "as above")]
    pub namespaces: u64,
    /// Bytes that wait for a commit.
    pub pending_bytes: u64,
}

/// An import under way.
#[derive(Debug)]
pub struct Import {
    objects: Objects,
    target: Target,
}

/// Where entries go.
#[derive(Debug)]
struct Target {
    handle: Handle,
    /// A namespace may change its version, which drops what it holds.
    may_replace: bool,
    /// By name: version and number.
    known: HashMap<String, (String, u32)>,
    /// Namespace and version of the entry before as they stood in the input, and the number: mostly the next one's.
    last: Option<(Box<str>, Box<str>, u32)>,
    entries: u64,
}

/// One entry as it stands in the input; each field is read when its turn comes, so that an error can name it.
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
    /// Only there so that the message can be about it.
    #[serde(borrow, default)]
    value_bytes: Field<'a>,
}

/// A field that may be missing. Not an `Option`, for which `null` would be missing, too.
#[derive(Default)]
struct Field<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> std::result::Result<Self, D::Error> {
        <&RawValue>::deserialize(source).map(|raw| Self(Some(raw)))
    }
}

impl Import {
    /// Begins an import. Unless `may_replace`, a namespace that has another version here is refused.
    pub fn new(store: &Arc<Store>, may_replace: bool) -> Self {
        let (known, last) = (HashMap::new(), None);
        let target = Target { handle: store.handle(), may_replace, known, last, entries: 0 };
        Self { objects: Objects::new(), target }
    }

    /// Takes the next piece of the stream.
    pub fn feed(&mut self, piece: &[u8]) -> Result<ImportProgress> {
        failpoints::panics("import-feed");
        let Self { objects, target } = self;
        objects.push(piece, &mut |object, line| target.add(object, line))?;
        let (entries, namespaces) = (target.entries, target.known.len() as u64);
        Ok(ImportProgress { entries, namespaces, pending_bytes: target.handle.pending_bytes() })
    }

    /// Whether the stream may end here.
    pub fn finish(&self) -> Result<()> {
        self.objects.finish()
    }

    /// Takes what waits for a commit; `None` where nothing does.
    pub fn begin_commit(&mut self) -> Option<PendingCommit> {
        self.target.handle.begin_commit()
    }
}

impl Target {
    fn add(&mut self, object: &[u8], first_line: u64) -> Result<()> {
        let line: Line<'_> = serde_json::from_slice(object).map_err(|error| syntax(&error, first_line))?;
        let failed = |text: String| at_line(first_line, &text);
        let key = one_of("key", [("key", line.key, Kind::Text), ("keyBase64", line.key_base64, Kind::Base64)]);
        let key = key.map_err(failed)?;
        let values =
            [("text", line.text, Kind::Text), ("json", line.json, Kind::Json), ("base64", line.base64, Kind::Base64)];
        let value = one_of("value", values).map_err(|text| {
            let hint = if line.value_bytes.0.is_some() { "; an export of keys only has none" } else { "" };
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
            return Err(at_line(line, "field 'namespace' is empty"));
        }
        let conflict = |other: String| {
            Err(at_line(line, &format!("field 'version' is '{version}', but namespace '{name}' {other}")))
        };
        if let Some((other, id)) = self.known.get(&**name) {
            let is_same = *other == **version;
            return if is_same { Ok(*id) } else { conflict(format!("had '{other}' before; one import, one version")) };
        }
        let here = self.handle.store().version_of(name)?;
        if let Some(here) = here.filter(|here| !self.may_replace && *here != **version) {
            return conflict(format!("has '{here}' here; 'overwrite' drops what is here"));
        }
        let id = self.handle.namespace(name, version).map_err(|error| in_line(error, line))?;
        self.known.insert(name.clone().into_owned(), (version.clone().into_owned(), id));
        Ok(id)
    }
}

/// What the text of a field stands for.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Json,
    Base64,
}

type Text<'a> = std::result::Result<Cow<'a, str>, String>;

/// The bytes of the only one of these fields that is there.
fn one_of<'a, const N: usize>(
    what: &str,
    fields: [(&'static str, Field<'a>, Kind); N],
) -> std::result::Result<Cow<'a, [u8]>, String> {
    let names = fields.each_ref().map(|(name, ..)| format!("'{name}'")).join(" or ");
    let mut there = fields.into_iter().filter_map(|(name, field, kind)| Some((name, field.0?, kind)));
    match (there.next(), there.next()) {
        (Some((name, raw, kind)), None) => bytes(name, raw, kind),
        (Some((name, ..)), Some((other, ..))) => Err(format!("there are both '{name}' and '{other}'")),
        (None, _) => Err(format!("the {what} is missing: no field {names}")),
    }
}

fn bytes<'a>(name: &'static str, raw: &'a RawValue, kind: Kind) -> std::result::Result<Cow<'a, [u8]>, String> {
    Ok(match kind {
        Kind::Json => Cow::Borrowed(raw.get().as_bytes()),
        Kind::Text => match text(name, raw)? {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
        Kind::Base64 => {
            let decoded = read_base64(&text(name, raw)?);
            Cow::Owned(decoded.map_err(|error| format!("field '{name}' is no base64: {error}"))?)
        }
    })
}

/// The text of a field that is to be one.
fn text<'a>(name: &'static str, raw: &'a RawValue) -> Text<'a> {
    // As JSON it is checked already, so without a backslash it stands for itself.
    let inner = raw.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) if !inner.contains('\\') => Ok(Cow::Borrowed(inner)),
        Some(_) => serde_json::from_str(raw.get())
            .map(Cow::Owned)
            .map_err(|error| format!("field '{name}' is no text: {}", without_place(&error))),
        None => Err(format!("field '{name}' is no text")),
    }
}

fn in_line(error: varve_core::Error, line: u64) -> Failure {
    let failure = Failure::from(error);
    Failure { message: format!("line {line}: {}", failure.message), ..failure }
}

/// What serde_json says, with the line of the whole input.
fn syntax(error: &serde_json::Error, first_line: u64) -> Failure {
    let line = first_line + (error.line() as u64).saturating_sub(1);
    at_line(line, &format!("column {} of the entry: {}", error.column(), without_place(error)))
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text).to_owned()
}
