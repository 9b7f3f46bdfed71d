//! The options of the program.

use std::path::PathBuf;

/// The command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    pub(crate) part: String,
    /// The source of all randomness.
    pub(crate) seed: u64,
    /// The long form: hours instead of minutes.
    pub(crate) is_long: bool,
    /// The one case to run, as the part writes it.
    pub(crate) replay: Option<String>,
    /// The directory with recorded system calls.
    pub(crate) recordings: PathBuf,
}

/// The numbers of a case.
pub(crate) fn numbers(case: &str) -> Vec<u64> {
    case.split(':').filter_map(|part| part.parse().ok()).collect()
}

impl Order {
    pub(crate) fn from_args(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut order = Self { part: args.next().ok_or("name a part")?, ..Self::default() };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--long" => order.is_long = true,
                "--seed" => {
                    let text = args.next().ok_or("--seed needs a number")?;
                    order.seed = text
                        .parse()
                        .map_err(|_| format!("--seed is a whole number, not '{text}'"))?;
                }
                "--replay" => order.replay = Some(args.next().ok_or("--replay needs a case")?),
                "--recordings" => {
                    order.recordings = args.next().ok_or("--recordings needs a directory")?.into()
                }
                other => return Err(format!("unknown option '{other}'")),
            }
        }
        Ok(order)
    }
}
