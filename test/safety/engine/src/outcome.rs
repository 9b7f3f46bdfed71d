//! What a part found: figures, goals and violations, printed as one line of JSON.

use serde_json::{Map, Value, json};

/// Filled by a part while it runs.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    figures: Map<String, Value>,
    goals: Map<String, Value>,
    violations: Vec<Value>,
}

impl Outcome {
    /// What was counted.
    pub(crate) fn figure(&mut self, name: &str, value: u64) {
        self.figures.insert(name.to_owned(), value.into());
    }

    /// The same, and the least that counts as done.
    pub(crate) fn figure_at_least(&mut self, name: &str, value: u64, min: u64) {
        self.figure(name, value);
        self.goals.insert(name.to_owned(), json!({ "min": min }));
    }

    /// A broken promise and the case to replay.
    pub(crate) fn violation(&mut self, what: &str, replay: &str) {
        self.violations.push(json!({ "what": what, "replay": replay }));
    }

    #[expect(clippy::print_stdout, reason = "the outcome is what the program is for")]
    pub(crate) fn print(&self) {
        println!("{}", json!({ "figures": self.figures, "goals": self.goals, "violations": self.violations }));
    }
}
