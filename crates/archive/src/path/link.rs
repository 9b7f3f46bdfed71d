//! Targets of symbolic links that stay below the root.
//!
//! A target is `..` any number of times, then names. The first climb from the folder that the link stands in, which is
//! no link (`PathSet` sees to it), so they can be counted; the names only lead down, or through another link that obeys
//! the same rule. A `..` after a name is refused even where the text stays inside: the name may be a link to a
//! higher folder, and then `..` leaves the root.

use crate::path::{PathProblem, check};

/// The target of the link at `path`, without `.` and empty parts.
///
/// # Errors
/// `LinkOutside` for the root and what is above it, `LinkTarget` for one that breaks a rule of paths.
pub fn link_target(path: &str, target: &str) -> Result<String, PathProblem> {
    let broken = |problem| PathProblem::LinkTarget { target: target.to_owned(), problem: Box::new(problem) };
    crate::path::check_start(target).map_err(broken)?;
    let steps: Vec<&str> = target.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let climbs = steps.iter().take_while(|part| **part == "..").count();
    let names = steps.get(climbs..).unwrap_or_default();
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    let depth = folders.len().checked_sub(climbs);
    folders.truncate(depth.unwrap_or_default());
    folders.extend(names);
    if depth.is_none() || folders.is_empty() {
        return Err(PathProblem::LinkOutside { target: target.to_owned() });
    }
    check(&folders.join("/")).map_err(broken)?;
    Ok(if steps.is_empty() { ".".to_owned() } else { steps.join("/") })
}
