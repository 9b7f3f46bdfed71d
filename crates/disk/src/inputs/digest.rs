//! Digests of files and of names, as `packages/varve/src/inputs/digest.ts` describes them: a letter for the type and the
//! first 22 characters of SHA-256 in base64url.

use crate::platform;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Characters of base64url that hold 128 bits.
const DIGEST_LENGTH: usize = 22;

/// Files are read in pieces of this many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The digest of a larger manifest has no version.
const VERSIONED_BYTES_MAX: u64 = 4 << 20;

/// Longest version that a digest has.
const VERSION_LENGTH_MAX: usize = 30;

/// Memory for pieces of files, which the inputs of a run share.
#[derive(Default)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    fn room(&mut self) -> &mut [u8] {
        self.0.resize(PIECE_BYTES, 0);
        &mut self.0
    }
}

/// The digest of a file that had `bytes` bytes when it was looked at.
pub(super) fn digest_of_file(
    path: &Path,
    bytes: u64,
    versioned: bool,
    buffer: &mut Buffer,
) -> io::Result<String> {
    let mut file = platform::open_followed(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let mut whole = Sha256::new();
    let mut manifest = Vec::new();
    let mut length = 0;
    loop {
        let piece = read_piece(&mut file, buffer.room())?;
        whole.update(piece);
        length += piece.len() as u64;
        if versioned && length <= VERSIONED_BYTES_MAX {
            manifest.extend_from_slice(piece);
        }
        // A piece may be short before the end of the file on some network file systems.
        if piece.is_empty() || (piece.len() < PIECE_BYTES && length >= metadata.len().max(1)) {
            break;
        }
    }
    let digest = text_of('b', whole);
    Ok(match version_in(&manifest) {
        Some(version) if bytes <= VERSIONED_BYTES_MAX => format!("{digest} {version}"),
        _ => digest,
    })
}

fn read_piece<'a>(file: &mut File, room: &'a mut [u8]) -> io::Result<&'a [u8]> {
    loop {
        match file.read(room) {
            Ok(count) => return Ok(room.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The digest of a folder that holds these names: of their JSON, in the order of their UTF-16.
pub(super) fn digest_of_names(mut names: Vec<String>) -> String {
    names.sort_unstable_by(|one, other| one.encode_utf16().cmp(other.encode_utf16()));
    let json = serde_json::to_vec(&names).unwrap_or_default(); // strings always have JSON
    text_of('d', Sha256::new_with_prefix(json))
}

fn text_of(letter: char, hash: Sha256) -> String {
    let mut text = String::from(letter);
    BASE64_URL_SAFE_NO_PAD.encode_string(hash.finalize(), &mut text);
    text.truncate(1 + DIGEST_LENGTH);
    text
}

/// The first match of `"version"\s*:\s*"([\w.+-]{1,30})"`.
fn version_in(manifest: &[u8]) -> Option<&str> {
    const FIELD: &[u8] = b"\"version\"";
    let mut fields = manifest.windows(FIELD.len()).enumerate().filter(|(_, name)| *name == FIELD);
    fields.find_map(|(at, _)| version_at(manifest.get(at + FIELD.len()..)?))
}

fn version_at(rest: &[u8]) -> Option<&str> {
    let rest = without_space(without_space(rest).strip_prefix(b":")?).strip_prefix(b"\"")?;
    let is_of_version = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(byte);
    let length = rest.iter().take_while(|byte| is_of_version(byte)).count();
    let (version, after) = rest.split_at_checked(length)?;
    let is_version = (1..=VERSION_LENGTH_MAX).contains(&length) && after.starts_with(b"\"");
    if is_version { str::from_utf8(version).ok() } else { None }
}

/// JavaScript's white space, as far as Latin-1 has it.
fn without_space(bytes: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ' | 0xa0);
    let count = bytes.iter().take_while(|byte| is_space(byte)).count();
    bytes.get(count..).unwrap_or_default()
}
