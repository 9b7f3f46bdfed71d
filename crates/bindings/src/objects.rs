//! Splits a stream of bytes into JSON objects, in whatever pieces it arrives: objects one after another (one per line
//! or pretty-printed), or one array of them. It only finds where an object ends; the caller parses the JSON.

use crate::failure::{Failure, Result};
use memchr::memchr2;

/// The longest object: a value of 64 MiB and a key with each byte escaped as `\u0000`, and the text around them.
const OBJECT_BYTES_MAX: usize =
    6 * (varve_core::VALUE_BYTES_MAX + varve_core::KEY_BYTES_MAX) + (1 << 20);

/// What may come between objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    /// An object or `[`.
    #[default]
    Anything,
    /// In lines: an object.
    Object,
    /// In an array, right after `[`: an object or `]`.
    First,
    /// In an array, after a comma: an object.
    Next,
    /// In an array: a comma or `]`.
    Comma,
    /// Nothing: the array is closed.
    Nothing,
}

/// The state between two pieces of the stream.
#[derive(Debug)]
pub(crate) struct Objects {
    expected: Expected,
    /// The open brackets of the current object; 0 between objects.
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// The current line, from 1, and the line in which the current object began.
    line: u64,
    object_line: u64,
    /// The part of the current object that earlier pieces contained.
    rest: Vec<u8>,
}

impl Objects {
    pub(crate) fn new() -> Self {
        let (expected, in_string, is_escaped) = (Expected::default(), false, false);
        Self {
            expected,
            depth: 0,
            in_string,
            is_escaped,
            line: 1,
            object_line: 1,
            rest: Vec::new(),
        }
    }

    /// Reads the next piece. Calls `each` with every object that ends in it, and with the line in which the object
    /// began.
    pub(crate) fn push(
        &mut self,
        piece: &[u8],
        each: &mut dyn FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        let (mut start, mut next) = (0, 0);
        while let Some(byte) = piece.get(next) {
            if self.in_string && !self.is_escaped {
                // Most bytes of an import are inside of strings, which only these two bytes end or continue.
                let inside = piece.get(next..).unwrap_or_default();
                let Some(skipped) = memchr2(b'"', b'\\', inside) else { break };
                self.is_escaped = inside.get(skipped) == Some(&b'\\');
                self.in_string = self.is_escaped;
                next += skipped + 1;
                continue;
            }
            let at = next;
            next += 1;
            self.line += u64::from(*byte == b'\n');
            if self.depth == 0 {
                self.between(*byte)?;
                start = at;
            } else if self.ends(*byte) {
                let end = piece.get(start..=at).unwrap_or_default();
                if self.rest.is_empty() {
                    each(end, self.object_line)?;
                } else {
                    self.rest.extend_from_slice(end);
                    each(&self.rest, self.object_line)?;
                    self.rest = Vec::new();
                }
            }
        }
        if self.depth > 0 {
            let begun = piece.get(start..).unwrap_or_default();
            if self.rest.len() + begun.len() > OBJECT_BYTES_MAX {
                let text = format!("an entry has more than {OBJECT_BYTES_MAX} bytes");
                return Err(at_line(self.object_line, &text));
            }
            self.rest.extend_from_slice(begun);
        }
        Ok(())
    }

    /// Checks that the stream may end here.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.depth > 0 {
            return Err(at_line(
                self.object_line,
                "the input ends within the entry that begins on this line",
            ));
        }
        match self.expected {
            Expected::Anything | Expected::Object | Expected::Nothing => Ok(()),
            Expected::First | Expected::Next | Expected::Comma => {
                Err(at_line(self.line, "the input ends within the array: ']' is missing"))
            }
        }
    }

    /// Reads a byte between objects.
    fn between(&mut self, byte: u8) -> Result<()> {
        use Expected::{Anything, Comma, First, Next, Nothing, Object};
        self.expected = match (byte, self.expected) {
            (b' ' | b'\t' | b'\r' | b'\n', expected) => expected,
            (b'{', Anything | Object | First | Next) => {
                self.depth = 1;
                self.object_line = self.line;
                if matches!(self.expected, Anything | Object) { Object } else { Comma }
            }
            (b'[', Anything) => First,
            (b',', Comma) => Next,
            (b']', First | Comma) => Nothing,
            (_, expected) => {
                let expected = match expected {
                    Anything => "'{' or '['",
                    Object | Next => "'{'",
                    First => "'{' or ']'",
                    Comma => "',' or ']'",
                    Nothing => "the end of the input",
                };
                let found = char::from(byte).escape_default();
                return Err(at_line(self.line, &format!("expected {expected}, found '{found}'")));
            }
        };
        Ok(())
    }

    /// Reads a byte of an object, after a backslash or outside of strings. Returns whether the object ends there.
    #[inline]
    fn ends(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }
}

/// An error with its line.
pub(crate) fn at_line(line: u64, text: &str) -> Box<Failure> {
    Failure::argument(format!("line {line}: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> std::result::Result<Vec<(String, u64)>, String> {
        let (mut objects, mut found) = (Objects::new(), Vec::new());
        let mut add = |object: &[u8], line| {
            found.push((String::from_utf8_lossy(object).into_owned(), line));
            Ok(())
        };
        for piece in pieces {
            objects.push(piece, &mut add).map_err(|failure| failure.message)?;
        }
        objects.finish().map_err(|failure| failure.message)?;
        Ok(found)
    }

    #[test]
    fn json_objects_are_found_in_pieces_of_any_size() {
        let lines = "{\"a\":\"}\\\"]\\\\\"}\n\n {\n\"b\":[{\"c\":1}]}\r\n{}{}";
        let list = "\n[ {\"a\":\"}\\\"]\\\\\"},\n {\n\"b\":[{\"c\":1}]}\n,{} ,\n{}]\n ";
        let wanted = ["{\"a\":\"}\\\"]\\\\\"}", "{\n\"b\":[{\"c\":1}]}", "{}", "{}"];
        for (text, at) in [(lines, [1, 3, 5, 5]), (list, [2, 3, 5, 6])] {
            let wanted: Vec<_> = wanted.iter().map(|object| (*object).to_owned()).zip(at).collect();
            assert_eq!(cut(&[text.as_bytes()]), Ok(wanted.clone()));
            let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(cut(&single), Ok(wanted.clone()));
            let triple: Vec<&[u8]> = text.as_bytes().chunks(3).collect();
            assert_eq!(cut(&triple), Ok(wanted));
        }
        for nothing in ["", " \n", "[]", "[\n]\n"] {
            assert_eq!(cut(&[nothing.as_bytes()]), Ok(Vec::new()));
        }
    }

    #[test]
    fn malformed_input_is_rejected_with_its_line() {
        let wrong = [
            ("\n1", "line 2: expected '{' or '[', found '1'"),
            ("{}\n,{}", "line 2: expected '{', found ','"),
            ("[,", "line 1: expected '{' or ']', found ','"),
            ("[{}\n{}", "line 2: expected ',' or ']', found '{'"),
            ("[{},]", "line 1: expected '{', found ']'"),
            ("[]\n\u{1b}", "line 2: expected the end of the input, found '\\u{1b}'"),
            ("{}\n{\"a\":", "line 2: the input ends within the entry that begins on this line"),
            ("[{},\n", "line 2: the input ends within the array: ']' is missing"),
        ];
        for (text, message) in wrong {
            assert_eq!(cut(&[text.as_bytes()]), Err(message.to_owned()), "{text:?}");
        }
    }
}
