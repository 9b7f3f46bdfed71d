//! Reads blobs. Content is copied, and its digest verified, before it is used.

use super::Blobs;
use super::shard::{BlobName, path_of};
use crate::error::{Error, Result};
use crate::format::blob_refs::{BlobRefs, Form};
use crate::format::digest::{BlobRef, Digest};
use crate::format::order;
use crate::format::{VALUE_BYTES_MAX, lz4};
use crate::platform::failpoints;
use crate::platform::vfs::{Access, File, Vfs};
use crate::report::Damage;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::{Arc, PoisonError};

/// What was found of a blob.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Whole(Vec<u8>),
    /// No file has this name and length.
    Missing,
    /// Its content did not match its name. It was quarantined, unless it is too long to be verified.
    Damaged,
}

/// How often a blob is searched under its name and then among those about to be collected. Meanwhile it may be renamed
/// back, or taken over by another collection.
const LOOKS: u32 = 2;

/// Most bytes that are read to distinguish a damaged blob from a wrong length in an entry. A sparse file may have any
/// length.
const JUDGED_BYTES_MAX: u64 = VALUE_BYTES_MAX as u64;

/// Most blobs that are read to learn whether Varve wrote them.
const JUDGED_BLOBS_MAX: usize = 16;

impl Blobs {
    /// Reads a blob that an entry names.
    pub(crate) fn read(&self, file: &BlobRef) -> Result<Content> {
        failpoints::panics("read-file");
        let wrap = |source| {
            Error::io("read", &path_of(BlobName::Content(file.digest), file.digest.shard()), source)
        };
        let Some(open) = self.open(&file.digest)? else { return Ok(self.read_below(file)) };
        let Some(open) = open else { return self.damaged(file, "no regular file") };
        let bytes = open.len().map_err(wrap)?;
        if bytes != file.bytes {
            return match is_sound(&*open, bytes, &file.digest).map_err(wrap)? {
                Some(true) => Ok(Content::Missing),
                Some(false) => self.damaged(file, "length of a file"),
                None => {
                    self.report(file, "length of a file");
                    Ok(Content::Damaged)
                }
            };
        }
        let content = match open.read(0, bytes as usize) {
            Ok(content) => content.into_owned(),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return self.damaged(file, "length of a file");
            }
            Err(source) => return Err(wrap(source)),
        };
        if Digest::of(&content) == file.digest {
            return Ok(Content::Whole(content));
        }
        self.damaged(file, "content of a file")
    }

    /// Reads a blob of the layers. One that cannot be read there is a miss.
    fn read_below(&self, file: &BlobRef) -> Content {
        let read = self.below.iter().map(|layer| layer.read(file).unwrap_or(Content::Missing));
        read.into_iter()
            .find(|content| matches!(content, Content::Whole(_)))
            .unwrap_or(Content::Missing)
    }

    /// Whether the cache itself has the blob with its full length: other processes may not have the layers of this one.
    /// Called while it is pinned.
    pub(crate) fn is_stored(&self, file: &BlobRef) -> Result<bool> {
        let wrap = |source| {
            Error::io(
                "check",
                &path_of(BlobName::Content(file.digest), file.digest.shard()),
                source,
            )
        };
        match self
            .shard(file.digest.shard())?
            .open(&BlobName::Content(file.digest).to_string(), Access::Stream)
        {
            Ok(open) => Ok(open.len().map_err(wrap)? == file.bytes),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {
                Ok(false)
            }
            Err(source) => Err(wrap(source)),
        }
    }

    /// Whether the cache or a layer has the blob with its full length. Its content is not read.
    pub(crate) fn has(&self, file: &BlobRef) -> Result<bool> {
        if let Some(Some(open)) = self.open(&file.digest)? {
            let path = || path_of(BlobName::Content(file.digest), file.digest.shard());
            let bytes = open.len().map_err(|source| Error::io("check", &path(), source))?;
            if bytes == file.bytes {
                return Ok(true);
            }
        }
        Ok(self.below.iter().any(|layer| layer.has(file).unwrap_or(false)))
    }

    /// The value of an entry whose stored value is `stored`.
    pub(crate) fn value(&self, refs: &[u8]) -> Result<Content> {
        let Some(parsed) = BlobRefs::parse(refs) else { return Ok(Content::Damaged) };
        let content = match (parsed.form, parsed.blobs().next()) {
            (Form::Beside(value), _) => return Ok(Content::Whole(value.to_vec())),
            // No value is longer, so this is forged; reading it could exhaust the memory.
            (_, Some(file)) if file.bytes > VALUE_BYTES_MAX as u64 => {
                self.damaged(&file, "length of a file")?
            }
            (_, Some(file)) => self.read(&file)?,
            (_, None) => return Ok(Content::Damaged),
        };
        Ok(match (parsed.form, content) {
            (Form::Packed { raw_bytes }, Content::Whole(packed)) => {
                lz4::unpack(&packed, raw_bytes as usize).map_or(Content::Damaged, Content::Whole)
            }
            (_, content) => content,
        })
    }

    /// `None` = missing; `Some(None)` = not a regular file. A blob that is about to be collected counts.
    fn open(&self, digest: &Digest) -> Result<Option<Option<Arc<dyn File>>>> {
        let shard = self.shard(digest.shard())?;
        let content = BlobName::Content(*digest);
        for _ in 0..LOOKS {
            if let Some(found) = open_named(shard, content, digest)? {
                return Ok(Some(found));
            }
            let folder = || format!("files/{:02x}", digest.shard());
            let names = shard.list().map_err(|source| Error::io("list", &folder(), source))?;
            let gone = names.iter().filter_map(|name| BlobName::parse(name));
            for name in gone.filter(
                |name| matches!(name, BlobName::Gone { digest: gone, .. } if gone == digest),
            ) {
                if let Some(found) = open_named(shard, name, digest)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// All stored blobs, sorted by digest.
    pub(crate) fn list(&self) -> Result<Vec<BlobRef>> {
        let mut found = Vec::new();
        for (index, name) in self.names()? {
            let BlobName::Content(digest) = name else { continue };
            match self
                .shard(index)?
                .open(&name.to_string(), Access::Stream)
                .and_then(|file| file.len())
            {
                Ok(bytes) => found.push(BlobRef { digest, bytes }),
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {}
                Err(source) => return Err(Error::io("open", &path_of(name, index), source)),
            }
        }
        order::sort_by(&mut found, Ord::cmp);
        Ok(found)
    }

    /// A file that Varve may not have written: there are blobs, and none of the first ones has the content that its name
    /// requires. Temporary files do not count: a crash leaves them alone if it comes before the first log.
    pub(crate) fn foreign(&self) -> Result<Option<String>> {
        let mut found = None;
        for (shard, name) in self.names()?.iter().take(JUDGED_BLOBS_MAX) {
            let (BlobName::Content(digest) | BlobName::Gone { digest, .. }) = name else {
                continue;
            };
            let wrap = |source| Error::io("read", &path_of(*name, *shard), source);
            let Some(Some(file)) = open_named(self.shard(*shard)?, *name, digest)? else {
                continue;
            };
            let bytes = file.len().map_err(wrap)?;
            if is_sound(&*file, bytes, digest).map_err(wrap)? == Some(true) {
                return Ok(None);
            }
            found.get_or_insert_with(|| path_of(*name, *shard));
        }
        Ok(found)
    }

    fn damaged(&self, file: &BlobRef, what: &str) -> Result<Content> {
        self.report(file, what);
        if self.may_write {
            // If it cannot be renamed it stays a miss, and the next write reports the error.
            let _ = self.quarantine(self.shard(file.digest.shard())?, &file.digest);
        }
        Ok(Content::Damaged)
    }

    /// The blobs found damaged or missing that are still missing; entries that name them have no value.
    pub(crate) fn missing(&self) -> Result<BTreeSet<BlobRef>> {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut still = BTreeSet::new();
        for file in missing.iter() {
            let wrap = |source| {
                Error::io(
                    "check",
                    &path_of(BlobName::Content(file.digest), file.digest.shard()),
                    source,
                )
            };
            let there = self.open(&file.digest)?.flatten();
            let bytes = there.map(|open| open.len()).transpose().map_err(wrap)?;
            if bytes != Some(file.bytes) {
                still.insert(*file);
            }
        }
        missing.clone_from(&still);
        Ok(still)
    }

    /// Records that blobs named by an entry are missing.
    pub(crate) fn report_missing(&self, refs: &[u8]) {
        BlobRefs::parse(refs)
            .iter()
            .flat_map(BlobRefs::blobs)
            .for_each(|file| self.report(&file, "missing file"));
    }

    /// Reports a damaged blob, once until it is stored again.
    pub(crate) fn report(&self, file: &BlobRef, what: &str) {
        let is_new = self.missing.lock().unwrap_or_else(PoisonError::into_inner).insert(*file);
        if is_new {
            let path = path_of(BlobName::Content(file.digest), file.digest.shard());
            let path = if self.layer.is_empty() { path } else { format!("{}/{path}", self.layer) };
            self.damage.add(Damage::new(path, 0, what).in_layer(&self.layer));
        }
    }
}

/// Whether a file of an unexpected length matches its digest. If it does, it stays, because the reference is wrong.
/// `None` = it is too long to verify; the next write under this name replaces it.
fn is_sound(file: &dyn File, bytes: u64, digest: &Digest) -> io::Result<Option<bool>> {
    if bytes > JUDGED_BYTES_MAX {
        return Ok(None);
    }
    match file.read(0, bytes as usize) {
        Ok(content) => Ok(Some(Digest::of(&content) == *digest)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

/// `None` = missing; `Some(None)` = not a regular file.
fn open_named(
    shard: &dyn Vfs,
    name: BlobName,
    digest: &Digest,
) -> Result<Option<Option<Arc<dyn File>>>> {
    match shard.open(&name.to_string(), Access::Stream) {
        Ok(file) => Ok(Some(Some(file))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(Some(None)),
        Err(source) => Err(Error::io("open", &path_of(name, digest.shard()), source)),
    }
}
