//! Files: paths that are safe everywhere, archives.

pub mod path;
