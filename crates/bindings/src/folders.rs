//! Keys that are paths, by folder: sums over pages of entries, and which entries a page has.

use crate::failure::Result;
use crate::packed::Page;
use crate::reads::PackedKeys;
use std::collections::BTreeMap;

/// The folder of a key: up to and with the last `/` or `\` before a query. Empty if there is none, or if the key is not
/// text.
fn folder_of(key: &[u8]) -> &[u8] {
    let path = key.split(|byte| *byte == b'?').next().unwrap_or_default();
    let end = path.iter().rposition(|byte| matches!(byte, b'/' | b'\\')).map_or(0, |last| last + 1);
    path.get(..end).filter(|_| std::str::from_utf8(key).is_ok()).unwrap_or_default()
}

/// Entries, and bytes of keys and values, by folder.
#[derive(Debug, Default)]
pub(crate) struct Sums(BTreeMap<Box<[u8]>, (u64, u64)>);

impl Sums {
    pub(crate) fn add(&mut self, key: &[u8], value_bytes: usize) {
        let folder = folder_of(key);
        let bytes = (key.len() + value_bytes) as u64;
        if let Some(sum) = self.0.get_mut(folder) {
            *sum = (sum.0 + 1, sum.1 + bytes);
        } else {
            self.0.insert(folder.into(), (1, bytes));
        }
    }

    /// A page with the folders as keys, and both sums of each as its value.
    pub(crate) fn page(&self) -> Result<Page> {
        let mut page = Page::default();
        for (folder, (entries, bytes)) in &self.0 {
            let sums = [*entries as f64, *bytes as f64].map(f64::to_le_bytes);
            page.add(folder, sums.as_flattened())?;
        }
        Ok(page)
    }
}

/// The folders whose entries a page has.
#[derive(Debug)]
pub(crate) struct Folders<'f>(Vec<&'f [u8]>);

impl<'f> Folders<'f> {
    /// If there are none, the page has all entries.
    pub(crate) fn new(folders: PackedKeys<'f>) -> Result<Self> {
        let mut listed = folders.all()?;
        listed.sort_unstable();
        Ok(Self(listed))
    }

    #[inline]
    pub(crate) fn have(&self, key: &[u8]) -> bool {
        self.0.is_empty() || self.0.binary_search(&folder_of(key)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::folder_of;

    #[test]
    fn the_folder_of_a_key_ends_before_its_name_and_its_query() {
        for (key, folder) in [
            ("src/a.js", "src/"),
            ("src/pages/a.js?raw=/x/y", "src/pages/"),
            ("C:\\app\\a.js", "C:\\app\\"),
            ("a.js", ""),
            ("?/x", ""),
            ("", ""),
            ("/", "/"),
            ("src/ä/日.js\0digest", "src/ä/"),
        ] {
            assert_eq!(folder_of(key.as_bytes()), folder.as_bytes(), "{key}");
        }
        assert_eq!(folder_of(b"src/\xff"), b"");
    }
}
