//! Maintenance that a user asks for: reading every byte, and repairing what is damaged.

pub(crate) mod repair;
pub(crate) mod verify;
