//! Parts of an export as JSON. Control characters never stand as they are, neither those that JSON forbids nor DEL and
//! U+0080 to U+009F, which JSON allows and terminals act on: an export may be looked at with `cat`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serializer as _;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use serde_json::value::RawValue;
use std::io::{self, Write};

/// First byte of U+0080 to U+009F, and of U+00A0 to U+00BF.
const C1_LEAD: u8 = 0xC2;

/// Adds a text in quotes.
pub(crate) fn add_text(out: &mut Vec<u8>, text: &str) {
    let written = Serializer::with_formatter(out, ForTerminals).serialize_str(text);
    debug_assert!(written.is_ok(), "writing to memory does not fail: {written:?}");
}

/// Adds bytes as base64 in quotes.
pub(crate) fn add_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, out.get_mut(start..).unwrap_or_default());
    debug_assert!(written.is_ok(), "the room was counted: {written:?}");
    out.push(b'"');
}

/// The bytes of a base64 text, or what is wrong with it.
pub(crate) fn read_base64(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| error.to_string())
}

/// Whether these bytes can stand in an export as they are: one JSON value, nothing before or after it, all on one line.
pub(crate) fn is_embeddable(bytes: &[u8]) -> bool {
    let is_value = serde_json::from_slice::<&RawValue>(bytes).is_ok_and(|raw| raw.get().len() == bytes.len());
    is_value && !has_controls(bytes)
}

/// Whether there is a control character in bytes that are UTF-8.
fn has_controls(bytes: &[u8]) -> bool {
    // Without an early end, so that the compiler looks at many bytes at once; the second look is rare.
    let may_have =
        bytes.iter().fold(false, |found, byte| found | (*byte < 0x20) | (*byte == 0x7F) | (*byte == C1_LEAD));
    let is_control = |pair: &[u8]| matches!(pair, [C1_LEAD, 0x80..=0x9F]);
    may_have && (bytes.iter().any(u8::is_ascii_control) || bytes.windows(2).any(is_control))
}

/// Plain JSON, but for the controls that it would let through.
struct ForTerminals;

impl Formatter for ForTerminals {
    #[inline]
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if !has_controls(fragment.as_bytes()) {
            return out.write_all(fragment.as_bytes());
        }
        for part in fragment.split_inclusive(char::is_control) {
            let control = part.chars().next_back().filter(|last| last.is_control());
            let plain = part.len() - control.map_or(0, char::len_utf8);
            out.write_all(part.as_bytes().get(..plain).unwrap_or_default())?;
            if let Some(control) = control {
                write!(out, "\\u{:04x}", u32::from(control))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_stands_as_it_is() {
        let mut text: String = (0..0x180).filter_map(char::from_u32).collect();
        text.push_str("\u{2028}\u{1F600}");
        let mut out = Vec::new();
        add_text(&mut out, &text);
        let json = String::from_utf8(out).expect("UTF-8");
        assert!(!json.chars().any(char::is_control), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
    }

    #[test]
    fn bytes_come_back_from_base64() {
        for length in 0..100usize {
            let bytes: Vec<u8> = (0..length).map(|index| (index * 89) as u8).collect();
            let mut out = Vec::new();
            add_base64(&mut out, &bytes);
            let text: String = serde_json::from_slice(&out).expect("JSON");
            assert_eq!(read_base64(&text), Ok(bytes));
        }
        for wrong in ["A", "AA", "AA=", "AAAA=", "A A=", "AB=="] {
            assert!(read_base64(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_json_on_one_line_is_embedded() {
        for good in ["null", "-1.50e9", r#""\ud800""#, r#"{"a":[1,{}],"a":2}"#, "[1, 2]", "\"\u{a0}\u{e9}\""] {
            assert!(is_embeddable(good.as_bytes()), "{good}");
        }
        let bad =
            ["", " 1", "1 ", "[1,\n2]", "[1,]", "01", "NaN", "{'a':1}", "1 2", "\"\u{7f}\"", "\"\u{85}\"", "\"\t\""];
        for bad in bad {
            assert!(!is_embeddable(bad.as_bytes()), "{bad}");
        }
        assert!(!is_embeddable(b"\"\xff\""));
    }
}
