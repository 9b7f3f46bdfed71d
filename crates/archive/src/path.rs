//! Paths that are safe to write below a directory on every system: in manifests, stored directories and archives.
//!
//! ```text
//! path = part ("/" part)*     relative, UTF-8, at most PATH_BYTES_MAX bytes and PARTS_MAX parts
//! part = 1 to PART_BYTES_MAX bytes without "\", ":" and control characters; not "." nor "..";
//!        no dot or space at its end; no device of Windows (CON, aux.js)
//! ```
//!
//! A set of paths has two more rules (`PathSet`): no two names are equal on some file system, and no path is both a
//! file and a directory. Names that Windows rejects without reinterpreting them (`?`, `*`, `"`, `<`, `>`, `|`) are
//! allowed: writing them there fails safely.

mod link;
mod set;
#[cfg(test)]
mod tests;

pub use link::link_target;
pub use set::{PathSet, Role};
pub use varve_core::PathProblem;

/// The most bytes in a part. File systems allow 255; the rest is for the suffix of a temporary name.
pub const PART_BYTES_MAX: usize = 240;

/// The most bytes in a path: the limit of macOS, which is the lowest.
pub const PATH_BYTES_MAX: usize = 1024;

/// The most parts in a path. Nested `node_modules` need a third of them.
pub const PARTS_MAX: usize = 128;

/// Device names that Windows reserves in every directory, besides COM and LPT followed by a digit.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Digits that make COM and LPT device names on Windows, superscripts included.
const PORTS: &str = "0123456789\u{b9}\u{b2}\u{b3}";

/// Checks whether a path is safe on its own.
///
/// # Errors
/// The first rule that the path breaks.
///
/// ```
/// use varve_archive::path::{PathProblem, check};
/// assert_eq!(check("dist/types/index.d.ts"), Ok(()));
/// assert_eq!(check("../index.js"), Err(PathProblem::DotDot));
/// ```
pub fn check(path: &str) -> Result<(), PathProblem> {
    check_start(path)?;
    if path.len() > PATH_BYTES_MAX {
        return Err(PathProblem::TooLong { bytes: path.len(), bytes_max: PATH_BYTES_MAX });
    }
    for character in path.chars() {
        match character {
            '\\' => return Err(PathProblem::Backslash),
            ':' => return Err(PathProblem::Colon),
            _ if character.is_control() => return Err(PathProblem::Control { character }),
            _ => {}
        }
    }
    let mut parts = 0;
    for part in path.split('/') {
        check_part(part)?;
        parts += 1;
    }
    if parts > PARTS_MAX {
        return Err(PathProblem::TooManyParts { parts, parts_max: PARTS_MAX });
    }
    Ok(())
}

/// Rejects a path that does not lead down from its root.
fn check_start(path: &str) -> Result<(), PathProblem> {
    match path.as_bytes() {
        [] => Err(PathProblem::Empty),
        [b'/' | b'\\', b'/' | b'\\', ..] => Err(PathProblem::NetworkPath),
        [b'/', ..] => Err(PathProblem::Absolute),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => Err(PathProblem::Drive),
        _ => Ok(()),
    }
}

fn check_part(part: &str) -> Result<(), PathProblem> {
    match part {
        "" => return Err(PathProblem::EmptyPart),
        "." => return Err(PathProblem::Dot),
        ".." => return Err(PathProblem::DotDot),
        _ => {}
    }
    if part.len() > PART_BYTES_MAX {
        return Err(PathProblem::PartTooLong { part: part.to_owned(), bytes_max: PART_BYTES_MAX });
    }
    if part.ends_with(['.', ' ']) {
        return Err(PathProblem::TrailingDotOrSpace { part: part.to_owned() });
    }
    if is_device(part) {
        return Err(PathProblem::Reserved { part: part.to_owned() });
    }
    Ok(())
}

/// Windows compares the part before the first dot, without trailing spaces.
fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end_matches(' ');
    if DEVICES.iter().any(|device| device.eq_ignore_ascii_case(stem)) {
        return true;
    }
    let Some((port, digit)) = stem.split_at_checked(3) else { return false };
    let mut digits = digit.chars();
    let is_port = port.eq_ignore_ascii_case("com") || port.eq_ignore_ascii_case("lpt");
    is_port && digits.next().is_some_and(|digit| PORTS.contains(digit)) && digits.next().is_none()
}
