//! The phase of a cache's life that an operation belongs to.

/// Phases with a goal for their number of crashes.
pub(crate) const PHASES_DUE: [&str; 12] = [
    "create",
    "attach",
    "checkpoint",
    "compact",
    "sweep",
    "collect",
    "reset",
    "upgrade",
    "clear",
    "padded",
    "used",
    "evict",
];

/// Kinds of histories with a goal for their number of states.
pub(crate) const SHAPES_DUE: [&str; 4] = ["windows", "padded", "beside", "days"];

/// The name of an operation's phase, during `step`.
pub(crate) fn phase_of<'a>(operation: &str, step: &'a str) -> &'a str {
    if operation.contains("used/") {
        "used"
    } else if operation.contains(".bad") {
        "reset"
    } else if operation.contains(".gone") {
        "collect"
    } else if operation.starts_with("rename") && operation.ends_with(".taken") {
        "take"
    } else if operation.starts_with("remove") && !operation.ends_with(".tmp") && step != "reset" {
        "sweep"
    } else {
        step
    }
}
