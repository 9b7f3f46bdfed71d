//! The MAC key of an authenticated cache and the name of its directory. Both are derived from the secret one-way, so
//! that neither reveals the secret or the other one.

use crate::error::{Error, Result};
use std::fmt;

/// Shortest secret in bytes. The name of the directory is a hash of the secret, so a short one could be guessed.
pub const SECRET_BYTES_MIN: usize = 32;

/// Directory of a cache without a secret, below the directory that the user named. Its name is the format, so formats
/// never meet.
const FORMAT_FOLDER: &str = "v1";

/// Contexts of the key derivation; they never change and are used for nothing else.
const FOR_CHECKSUMS: &str = "varve 2026-11 format 1: checksums of a keyed cache";
const FOR_FOLDER: &str = "varve 2026-11 format 1: folder of a keyed cache";

/// Derived from a secret, which is not stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MacKey {
    checksums: [u8; 32],
    id: [u8; 8],
}

impl MacKey {
    /// Derives the key from a secret of at least [`SECRET_BYTES_MIN`] bytes.
    pub fn new(secret: &[u8]) -> Result<Self> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(
                Error::ShortSecret { bytes: secret.len(), bytes_min: SECRET_BYTES_MIN }.boxed()
            );
        }
        let [a, b, c, d, e, f, g, h, ..] = blake3::derive_key(FOR_FOLDER, secret);
        Ok(Self {
            checksums: blake3::derive_key(FOR_CHECKSUMS, secret),
            id: [a, b, c, d, e, f, g, h],
        })
    }

    pub(crate) fn for_checksums(&self) -> &[u8; 32] {
        &self.checksums
    }
}

/// The directory of a cache below the directory that the user named. Caches with different secrets, and those without,
/// never meet.
pub fn folder_of(key: Option<&MacKey>) -> String {
    match key {
        None => FORMAT_FOLDER.to_owned(),
        Some(key) => {
            let hex = key.id.iter().map(|byte| format!("{byte:02x}"));
            format!("{FORMAT_FOLDER}-{}", hex.collect::<String>())
        }
    }
}

/// Never prints the key.
impl fmt::Debug for MacKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("MacKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Existing caches have these names.
    #[test]
    fn a_secret_always_gives_the_same_directory_and_is_never_printed() {
        let key = MacKey::new(b"0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(
            (folder_of(None), folder_of(Some(&key))),
            ("v1".to_owned(), "v1-19f48f872dacaeae".to_owned())
        );
        assert_eq!(format!("{key:?}"), "MacKey");
        assert_ne!(key, MacKey::new(b"0123456789abcdef0123456789abcdeg").unwrap());
        let refused = MacKey::new(b"0123456789abcdef0123456789abcde").unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT");
        assert!(!refused.to_string().contains("0123"), "{refused}");
    }
}
