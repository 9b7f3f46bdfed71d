//! The key of a keyed cache, as far as anybody sees it: a key for the checksums, and the name of the folder that the
//! cache lives in. Both are derived one-way, so that neither tells the secret, nor one of them the other.

use crate::error::{Error, Result};
use std::fmt;

/// Shortest secret in bytes: the name of the folder is a hash of the secret, so that a short one could be guessed.
pub const SECRET_BYTES_MIN: usize = 32;

/// Folder of a cache without a key, below the cache's own: the format is in the name, so formats never meet.
const FORMAT_FOLDER: &str = "v1";

/// What BLAKE3 derives for; never to be changed, never to be used for anything else.
const FOR_CHECKSUMS: &str = "varve 2026-11 format 1: checksums of a keyed cache";
const FOR_FOLDER: &str = "varve 2026-11 format 1: folder of a keyed cache";

/// Made from a secret, which is not kept.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    checksums: [u8; 32],
    id: [u8; 8],
}

impl Key {
    /// From a secret of at least [`SECRET_BYTES_MIN`] bytes.
    pub fn new(secret: &[u8]) -> Result<Self> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(Error::ShortKey { bytes: secret.len(), bytes_min: SECRET_BYTES_MIN });
        }
        let [a, b, c, d, e, f, g, h, ..] = blake3::derive_key(FOR_FOLDER, secret);
        Ok(Self { checksums: blake3::derive_key(FOR_CHECKSUMS, secret), id: [a, b, c, d, e, f, g, h] })
    }

    pub(crate) fn for_checksums(&self) -> &[u8; 32] {
        &self.checksums
    }
}

/// The folder of a cache within the folder that its user named. Caches of different keys, and those without, never
/// meet.
pub fn folder_of(key: Option<&Key>) -> String {
    match key {
        None => FORMAT_FOLDER.to_owned(),
        Some(key) => {
            let hex = key.id.iter().map(|byte| format!("{byte:02x}"));
            format!("{FORMAT_FOLDER}-{}", hex.collect::<String>())
        }
    }
}

/// The key is in no message.
impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caches out there have these names.
    #[test]
    fn a_key_gives_the_same_folder_for_ever_and_shows_nothing_of_itself() {
        let key = Key::new(b"0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!((folder_of(None), folder_of(Some(&key))), ("v1".to_owned(), "v1-19f48f872dacaeae".to_owned()));
        assert_eq!(format!("{key:?}"), "Key");
        assert_ne!(key, Key::new(b"0123456789abcdef0123456789abcdeg").unwrap());
        let refused = Key::new(b"0123456789abcdef0123456789abcde").unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT");
        assert!(!refused.to_string().contains("0123"), "{refused}");
    }
}
