//! Which part of a cache's life an operation belongs to.

/// Those in which many crashes are due.
pub(crate) const PHASES_DUE: [&str; 12] =
    ["create", "attach", "fold", "compact", "sweep", "collect", "reset", "upgrade", "clear", "padded", "used", "evict"];

/// Kinds of histories of which many states are due.
pub(crate) const SHAPES_DUE: [&str; 4] = ["windows", "padded", "beside", "days"];

/// The phase of an operation in words, made during `step`.
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
