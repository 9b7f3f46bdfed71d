//! Node-API: functions, arguments, answers and tasks. Nothing in here knows what a cache is, and all unsafe code of the
//! crate is here.

mod answer;
mod arguments;
mod bytes;
mod class;
mod env;
mod functions;
mod scratch;
mod status;
mod task;

pub(crate) use answer::Answer;
pub(crate) use arguments::Arguments;
pub(crate) use class::{Instance, Methods};
pub(crate) use env::{Env, Value};
pub(crate) use functions::{Call, Callee, Functions};
pub(crate) use scratch::{Cells, Scratch, Target};
pub(crate) use task::{Reply, Task};
