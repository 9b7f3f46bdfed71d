//! Paths that are safe to write below a folder on every system: in manifests, in folders that are stored, in archives.
//!
//! ```text
//! path = part ("/" part)*     relative, UTF-8, at most PATH_BYTES_MAX bytes and PARTS_MAX parts
//! part = 1 to PART_BYTES_MAX bytes without "\", ":" and control characters; not "." nor "..";
//!        no dot or space at its end; no device of Windows (CON, aux.js)
//! ```
//!
//! A set of paths has two rules more (`PathSet`): no two names that some file system takes for one, and nothing is
//! both a file and a folder. What Windows cannot name but does not reinterpret either (`?`, `*`, `"`, `<`, `>`, `|`)
//! is allowed: writing it fails there, and harms nobody.

mod link;
mod set;
#[cfg(test)]
mod tests;

use varve_core::failpoints;

pub use link::link_target;
pub use set::{PathSet, Role};
pub use varve_core::PathProblem;

/// Bytes of a part. File systems take 255; the rest is for the ending of a temporary name.
pub const PART_BYTES_MAX: usize = 240;

/// Bytes of a path: what macOS, the narrowest, takes.
pub const PATH_BYTES_MAX: usize = 1024;

/// Parts of a path; node_modules in node_modules come to a third of it.
pub const PARTS_MAX: usize = 128;

/// Devices that Windows sees in every folder, beside COM and LPT with a digit.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// What these digits do to COM and LPT on Windows, the superscripts do too.
const PORTS: &str = "0123456789\u{b9}\u{b2}\u{b3}";

/// Tells whether a path is safe on its own.
///
/// # Errors
/// The first rule that it breaks.
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

/// What makes a path mean something else than a way down from its root.
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
        ".." if failpoints::bug("dot-dot-in-restore") => return Ok(()),
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

/// Windows looks at what stands before the first dot, without spaces at its end.
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
