//! Parts of an export as JSON. Control characters never stand as they are, neither those that JSON forbids nor DEL and
//! U+0080 to U+009F, which JSON allows and terminals act on: an export may be looked at with `cat`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

/// First byte of U+0080 to U+009F, and of U+00A0 to U+00BF.
const C1_LEAD: u8 = 0xC2;

/// Adds a text in quotes: eight bytes are copied, then looked at, and where one is special what follows it is taken
/// back. By hand: serde_json looks at one byte after another and takes 144 ns for 128 bytes of code and 25 ns for a key
/// of 50, this 105 and 13; crates with vector instructions take 92 and 21 and know nothing of DEL and C1.
pub(crate) fn add_text(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + rest.len() / 8 + 16);
    out.push(b'"');
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        out.extend_from_slice(word);
        let found = specials(u64::from_le_bytes(*word));
        if found == 0 {
            rest = after;
        } else {
            let plain = found.trailing_zeros() as usize / 8;
            out.truncate(out.len() - word.len() + plain);
            rest = add_first(out, rest.get(plain..).unwrap_or_default());
        }
    }
    while !rest.is_empty() {
        rest = add_first(out, rest);
    }
    out.push(b'"');
}

/// Adds the first byte, or the escape of the character that begins with it. Returns what follows.
#[inline]
fn add_first<'a>(out: &mut Vec<u8>, text: &'a [u8]) -> &'a [u8] {
    match text {
        [C1_LEAD, low @ 0x80..=0x9F, rest @ ..] => {
            add_escape(out, *low);
            rest
        }
        [byte @ (0..0x20 | b'"' | b'\\' | 0x7F), rest @ ..] => {
            add_escape(out, *byte);
            rest
        }
        [byte, rest @ ..] => {
            out.push(*byte);
            rest
        }
        [] => text,
    }
}

/// The highest bit of every special byte of a word, from its lowest byte on; above the first one there may be others.
#[inline]
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGHS: u64 = ONES << 7;
    // Subtracting borrows from the highest bit of a byte where the byte is smaller.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\') | equal(0x7F) | equal(C1_LEAD)) & HIGHS
}

/// Adds the escape of a character up to U+00FF.
fn add_escape(out: &mut Vec<u8>, code: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match code {
        b'"' | b'\\' => code,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => {
            let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or_default();
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(code >> 4), digit(code & 15)]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn no_control_character_stands_as_it_is() -> Result<(), Box<dyn Error>> {
        let mut all: String = (0..0x180).filter_map(char::from_u32).collect();
        all.push_str("\u{2028}\u{1F600}");
        // Wherever a character stands among those that are looked at together.
        for plain in 0..16 {
            let text = format!("{}{all}{}", "x".repeat(plain), "y".repeat(plain % 3));
            let mut out = Vec::new();
            add_text(&mut out, &text);
            let json = String::from_utf8(out)?;
            assert!(!json.chars().any(char::is_control), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json)?, text);
        }
        for short in ["", "a", "\"", "\u{85}", "0123456789abcdef", "0123456789abcde\u{85}"] {
            let mut out = Vec::new();
            add_text(&mut out, short);
            assert_eq!(serde_json::from_slice::<String>(&out)?, short);
        }
        Ok(())
    }

    #[test]
    fn bytes_come_back_from_base64() -> Result<(), Box<dyn Error>> {
        for length in 0..100usize {
            let bytes: Vec<u8> = (0..length).map(|index| (index * 89) as u8).collect();
            let mut out = Vec::new();
            add_base64(&mut out, &bytes);
            let text: String = serde_json::from_slice(&out)?;
            assert_eq!(read_base64(&text), Ok(bytes));
        }
        for wrong in ["A", "AA", "AA=", "AAAA=", "A A=", "AB=="] {
            assert!(read_base64(wrong).is_err(), "{wrong}");
        }
        Ok(())
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
