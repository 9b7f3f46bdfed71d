//! Reading the newest manifest.

use crate::error::{Error, Result};
use crate::format::FORMAT;
use crate::format::checksum::Checksum;
use crate::format::file_names::FileName;
use crate::format::frame::{Found, FrameKind, FrameReader};
use crate::format::order;
use crate::manifest::{Manifest, ManifestFile};
use crate::platform::failpoints;
use crate::platform::vfs::{Access, Vfs};
use std::io;

/// The newest manifest in a list of names.
pub(crate) enum NewestManifest {
    Found(Manifest, ManifestFile),
    /// No manifest is whole.
    None,
    /// A manifest was removed meanwhile.
    Vanished,
    Damaged(ManifestFile),
}

/// Reads the newest manifest that is whole. One that is not, which only happens without hard links, does not count.
pub(crate) fn newest_manifest(
    vfs: &dyn Vfs,
    checksum: &Checksum,
    names: &[FileName],
) -> Result<NewestManifest> {
    failpoints::panics("read-manifest");
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| name.manifest()).collect();
    order::sort_by(&mut numbers, |left, right| right.cmp(left));
    for number in numbers {
        let name = FileName::Manifest(number).to_string();
        let wrap = |source| Error::io("read", &name, source);
        let Some(stat) = vfs.stat(&name).map_err(wrap)? else {
            return Ok(NewestManifest::Vanished);
        };
        let found = ManifestFile { number, stat };
        let file = match vfs.open(&name, Access::Stream) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(NewestManifest::Vanished);
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Ok(NewestManifest::Damaged(found));
            }
            Err(source) => return Err(Error::io("open", &name, source)),
        };
        let mut frames = FrameReader::new(&*file, checksum, number).map_err(wrap)?;
        match frames.at(0).map_err(wrap)? {
            Found::Frame { kind: FrameKind::Manifest, tag, body, .. } => {
                if tag != u64::from(FORMAT) {
                    return Err(
                        Error::NewerFormat { name, found: tag as u32, supported: FORMAT }.boxed()
                    );
                }
                return Ok(match Manifest::read(number, body) {
                    Some(manifest) => NewestManifest::Found(manifest, found),
                    None => NewestManifest::Damaged(found),
                });
            }
            Found::End | Found::Torn => {}
            Found::Frame { .. } | Found::Damaged(_) => return Ok(NewestManifest::Damaged(found)),
        }
    }
    Ok(NewestManifest::None)
}
