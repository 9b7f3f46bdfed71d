//! Names in folders, as inputs have them. Left out are caches of Varve, which appear while what was read is being recorded.
//! In `node_modules`, these are among the hidden folders, where tools keep caches of their own.

use super::{Look, NoDigest, look_at, target_of};
use std::fs::{self, FileType};
use std::io;
use std::path::Path;

/// Folders that a tree leaves out: large, and covered by other inputs.
const LEFT_OUT: [&str; 2] = ["node_modules", ".git"];

/// The directory of the format in that of a cache; with a secret, a hyphen and 16 hex digits follow.
const FORMAT_FOLDER: &str = "v1";
const SECRET_DIGITS: usize = 16;

/// Deeper folders are left to JavaScript, because each takes room on the stack of a thread.
const DEPTH_MAX: usize = 100;

fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| name_of(&entry));
    fs::read_dir(folder)?.map(name).collect()
}

/// The names in a folder, each after a letter for its type.
pub(super) fn typed_names_in(folder: &Path) -> io::Result<Vec<String>> {
    let is_of_packages = folder.file_name().is_some_and(|name| name == "node_modules");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = name_of(&entry);
        let file_type = entry.file_type()?;
        let is_left_out = if is_of_packages {
            name.starts_with('.')
        } else {
            file_type.is_dir() && is_cache(&folder.join(&name))
        };
        if !is_left_out {
            names.push(format!("{}{name}", letter_of(file_type)));
        }
    }
    Ok(names)
}

/// The paths in a folder and in all below, each after a letter for its type. Links to folders are followed.
pub(super) fn names_below(folder: &Path) -> Result<Vec<String>, NoDigest> {
    let mut names = Vec::new();
    add_names_below(folder, "", &mut Vec::new(), &mut names)?;
    Ok(names)
}

/// `above`: the real paths of the folders that contain this one.
fn add_names_below(
    folder: &Path,
    prefix: &str,
    above: &mut Vec<String>,
    names: &mut Vec<String>,
) -> Result<(), NoDigest> {
    let real = target_of(folder)?;
    if above.contains(&real) {
        return Ok(());
    }
    if above.len() >= DEPTH_MAX {
        return Err(NoDigest::Undecided);
    }
    above.push(real);
    for name in typed_names_in(folder)? {
        let Some((letter, bare)) = name.split_at_checked(1) else { continue };
        if LEFT_OUT.contains(&bare) {
            continue;
        }
        let path = folder.join(bare);
        names.push(format!("{letter}{prefix}{bare}"));
        if letter == "d" || (letter == "o" && is_folder(&path)?) {
            add_names_below(&path, &format!("{prefix}{bare}/"), above, names)?;
        }
    }
    above.pop();
    Ok(())
}

fn is_folder(path: &Path) -> Result<bool, NoDigest> {
    let look = look_at(path).ok_or(NoDigest::Undecided)?;
    Ok(matches!(look, Look::There { is_folder: true, .. }))
}

/// Node.js has U+FFFD for what is not UTF-8, also where it opens a path with such a name.
fn name_of(entry: &fs::DirEntry) -> String {
    entry.file_name().to_string_lossy().into_owned()
}

fn letter_of(file_type: FileType) -> char {
    if file_type.is_dir() {
        'd'
    } else if file_type.is_file() {
        'f'
    } else {
        'o'
    }
}

/// Whether a folder is the directory of a cache, with or without a secret.
fn is_cache(folder: &Path) -> bool {
    let holds_files = |name: String| -> io::Result<bool> {
        Ok(names_in(&folder.join(name))?.iter().any(|name| is_format_file(name)))
    };
    let find = || -> io::Result<bool> {
        for name in names_in(folder)? {
            if is_format_folder(&name) && holds_files(name)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    find().unwrap_or(false)
}

fn is_format_folder(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    match name.strip_prefix(FORMAT_FOLDER).map(|rest| rest.strip_prefix('-').unwrap_or(rest)) {
        Some("") => name == FORMAT_FOLDER,
        Some(digits) => {
            name.len() == FORMAT_FOLDER.len() + 1 + SECRET_DIGITS
                && digits.len() == SECRET_DIGITS
                && digits.bytes().all(is_digit)
        }
        None => false,
    }
}

/// `manifest-1`, `1.log`, `1-2.taken` or `1-2.table`.
fn is_format_file(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_pair = |text: &str| {
        text.split_once('-').is_some_and(|(one, other)| is_number(one) && is_number(other))
    };
    name.strip_prefix("manifest-").is_some_and(is_number)
        || name.strip_suffix(".log").is_some_and(is_number)
        || name.strip_suffix(".taken").or_else(|| name.strip_suffix(".table")).is_some_and(is_pair)
}
