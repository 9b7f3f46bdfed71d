//! Cuts a stream of bytes into the JSON objects that it is made of, however it was cut before: objects one after
//! another (lines, pretty-printed or not), or one array of them. Looks only for where an object ends; whether it is
//! JSON is for who reads it.

use crate::failure::{Failure, Result};

/// Longest object: a value of 64 MiB, each byte of it escaped as `\u0000`, a key likewise, and what is around them.
const OBJECT_BYTES_MAX: usize = 6 * (varve_core::VALUE_BYTES_MAX + varve_core::KEY_BYTES_MAX) + (1 << 20);

/// What may come between objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    /// An object, or `[`.
    #[default]
    Anything,
    /// In lines: an object.
    Object,
    /// In an array: an object or `]`, right behind its beginning.
    First,
    /// In an array: an object, behind a comma.
    Next,
    /// In an array: a comma or `]`.
    Comma,
    /// Nothing: the array is over.
    Nothing,
}

/// The state between two pieces of the stream.
#[derive(Debug)]
pub(crate) struct Objects {
    expected: Expected,
    /// Brackets of the present object that are open; 0 = between objects.
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// The line that comes next, from 1, and the one the present object began in.
    line: u64,
    object_line: u64,
    /// What came of the present object with earlier pieces.
    rest: Vec<u8>,
}

impl Objects {
    pub(crate) fn new() -> Self {
        let (expected, in_string, is_escaped) = (Expected::default(), false, false);
        Self { expected, depth: 0, in_string, is_escaped, line: 1, object_line: 1, rest: Vec::new() }
    }

    /// Takes the next piece; calls `each` with every object that ends in it and the line it began in.
    pub(crate) fn push(&mut self, piece: &[u8], each: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        let mut start = 0;
        for (at, byte) in piece.iter().enumerate() {
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
                let text = format!("an entry of more than {OBJECT_BYTES_MAX} bytes, which none can have");
                return Err(at_line(self.object_line, &text));
            }
            self.rest.extend_from_slice(begun);
        }
        Ok(())
    }

    /// Whether the stream may end here.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.depth > 0 {
            return Err(at_line(self.object_line, "the input ends within the entry that begins here"));
        }
        match self.expected {
            Expected::Anything | Expected::Object | Expected::Nothing => Ok(()),
            Expected::First | Expected::Next | Expected::Comma => {
                Err(at_line(self.line, "the input ends within the array; its ']' is missing"))
            }
        }
    }

    /// A byte between objects.
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
                    Nothing => "nothing more",
                };
                let found = char::from(byte).escape_default();
                return Err(at_line(self.line, &format!("expected {expected}, found '{found}'")));
            }
        };
        Ok(())
    }

    /// A byte of an object: whether it ends there.
    #[inline]
    fn ends(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }
}

/// What is wrong, and where.
pub(crate) fn at_line(line: u64, text: &str) -> Failure {
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
    fn objects_are_found_wherever_the_stream_is_cut() {
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
    fn what_is_neither_is_refused_with_its_line() {
        let wrong = [
            ("\n1", "line 2: expected '{' or '[', found '1'"),
            ("{}\n,{}", "line 2: expected '{', found ','"),
            ("[,", "line 1: expected '{' or ']', found ','"),
            ("[{}\n{}", "line 2: expected ',' or ']', found '{'"),
            ("[{},]", "line 1: expected '{', found ']'"),
            ("[]\n\u{1b}", "line 2: expected nothing more, found '\\u{1b}'"),
            ("{}\n{\"a\":", "line 2: the input ends within the entry that begins here"),
            ("[{},\n", "line 2: the input ends within the array; its ']' is missing"),
        ];
        for (text, message) in wrong {
            assert_eq!(cut(&[text.as_bytes()]), Err(message.to_owned()), "{text:?}");
        }
    }
}
