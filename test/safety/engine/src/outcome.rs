//! The result of a part: figures, goals and violations, printed as one line of JSON.

use serde_json::{Map, Value, json};

/// The result that a part fills while it runs.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    figures: Map<String, Value>,
    goals: Map<String, Value>,
    violations: Vec<Value>,
}

impl Outcome {
    /// Adds a count.
    pub(crate) fn figure(&mut self, name: &str, value: u64) {
        self.figures.insert(name.to_owned(), value.into());
    }

    /// Adds a count and the least value that meets the goal.
    pub(crate) fn figure_at_least(&mut self, name: &str, value: u64, min: u64) {
        self.figure(name, value);
        self.goals.insert(name.to_owned(), json!({ "min": min }));
    }

    /// Adds a broken promise and the case that repeats it.
    pub(crate) fn violation(&mut self, what: &str, replay: &str) {
        self.violations.push(json!({ "what": what, "replay": replay }));
    }

    #[expect(clippy::print_stdout, reason = "the outcome is what the program is for")]
    pub(crate) fn print(&self) {
        println!(
            "{}",
            json!({ "figures": self.figures, "goals": self.goals, "violations": self.violations })
        );
    }
}
