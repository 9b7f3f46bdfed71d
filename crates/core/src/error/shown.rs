//! Names from outside in a message: escaped for terminals, quoted so that their end is visible, and limited in length.

use std::fmt::{self, Write};

/// Most characters of a name that a message shows.
const CHARS_MAX: usize = 200;

/// A quoted name: characters that do not print are escaped, and a long name is cut.
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_char('\'')?;
        for character in self.0.chars().take(CHARS_MAX) {
            match character {
                '\'' | '"' | '\\' => out.write_char(character)?,
                _ => write!(out, "{}", character.escape_debug())?,
            }
        }
        out.write_str(if self.0.chars().nth(CHARS_MAX).is_some() { "'..." } else { "'" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_shown_name_are_escaped() {
        assert_eq!(
            Shown("a\u{1b}[2J\n\0\u{9b}\u{202e}b").to_string(),
            r"'a\u{1b}[2J\n\0\u{9b}\u{202e}b'"
        );
        assert_eq!(
            Shown(r"C:\Users\a").to_string(),
            r"'C:\Users\a'",
            "a path of Windows can be copied"
        );
        assert_eq!(Shown("it's \"p\u{e9}\"").to_string(), "'it's \"p\u{e9}\"'");
    }

    #[test]
    fn a_shown_name_that_is_too_long_is_cut() {
        assert_eq!(Shown(&"\u{e9}".repeat(CHARS_MAX)).to_string().chars().count(), CHARS_MAX + 2);
        assert!(Shown(&"x".repeat(1 << 20)).to_string().ends_with("x'..."));
    }
}
