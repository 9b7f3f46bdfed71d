//! Targets of symbolic links, which must stay below the root.
//!
//! A target is any number of `..`, then names. The `..` start from the directory of the link, which `PathSet` keeps
//! from being a link itself, so counting them is enough. The names only lead down, or through another link that follows
//! the same rule. A `..` after a name is rejected even if the text stays below the root: the name may be a link to a
//! directory further up, and `..` would then leave the root.

use crate::path::{PathProblem, check};

/// Returns the target of the link at `path`, without `.` and empty parts.
///
/// # Errors
/// `LinkOutside` if the target is the root or above it, `LinkTarget` if it breaks a rule of paths.
pub fn link_target(path: &str, target: &str) -> Result<String, PathProblem> {
    let broken =
        |problem| PathProblem::LinkTarget { target: target.to_owned(), problem: Box::new(problem) };
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
