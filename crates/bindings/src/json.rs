//! Parts of an export as JSON. All control characters are escaped: those that JSON forbids, and also DEL and U+0080 to
//! U+009F, which JSON allows but terminals interpret. So an export can be printed with `cat`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

/// The first byte of U+0080 to U+009F, and of U+00A0 to U+00BF.
const C1_LEAD: u8 = 0xC2;

/// Adds a string in quotes. It copies eight bytes, then checks them; if one is special, it removes what follows that
/// byte again. serde_json checks one byte after another, and takes 144 ns for 128 bytes of code and 25 ns for a key of
/// 50 bytes; this function takes 105 and 13. Crates with vector instructions take 92 and 21 and do not escape DEL and
/// C1.
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

/// Adds the first byte, or the escape of the character that begins with it. Returns the rest.
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

/// Sets the highest bit of every special byte of a word. Only the lowest such bit is reliable.
#[inline]
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGHS: u64 = ONES << 7;
    // A subtraction borrows from the highest bit of a byte if the byte is smaller.
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
            return out.extend_from_slice(&[
                b'\\',
                b'u',
                b'0',
                b'0',
                digit(code >> 4),
                digit(code & 15),
            ]);
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
    debug_assert!(written.is_ok(), "the buffer has the computed size: {written:?}");
    out.push(b'"');
}

/// Decodes base64, or returns the error as text.
pub(crate) fn read_base64(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| error.to_string())
}

/// Returns whether these bytes can be embedded in an export unchanged: one JSON value on one line, with nothing around
/// it.
pub(crate) fn is_embeddable(bytes: &[u8]) -> bool {
    let is_value =
        serde_json::from_slice::<&RawValue>(bytes).is_ok_and(|raw| raw.get().len() == bytes.len());
    is_value && !has_controls(bytes)
}

/// Returns whether UTF-8 bytes contain a control character.
fn has_controls(bytes: &[u8]) -> bool {
    // Checks all bytes without an early return, so that the compiler can vectorize it. The exact check is rare.
    let may_have = bytes
        .iter()
        .fold(false, |found, byte| found | (*byte < 0x20) | (*byte == 0x7F) | (*byte == C1_LEAD));
    let is_control = |pair: &[u8]| matches!(pair, [C1_LEAD, 0x80..=0x9F]);
    may_have && (bytes.iter().any(u8::is_ascii_control) || bytes.windows(2).any(is_control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn every_control_character_of_an_export_is_escaped() -> Result<(), Box<dyn Error>> {
        let mut all: String = (0..0x180).filter_map(char::from_u32).collect();
        all.push_str("\u{2028}\u{1F600}");
        // The character is tested at every position within a word.
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
    fn base64_decodes_to_the_encoded_bytes() -> Result<(), Box<dyn Error>> {
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
    fn only_json_values_on_one_line_are_embedded() {
        for good in [
            "null",
            "-1.50e9",
            r#""\ud800""#,
            r#"{"a":[1,{}],"a":2}"#,
            "[1, 2]",
            "\"\u{a0}\u{e9}\"",
        ] {
            assert!(is_embeddable(good.as_bytes()), "{good}");
        }
        let bad = [
            "",
            " 1",
            "1 ",
            "[1,\n2]",
            "[1,]",
            "01",
            "NaN",
            "{'a':1}",
            "1 2",
            "\"\u{7f}\"",
            "\"\u{85}\"",
            "\"\t\"",
        ];
        for bad in bad {
            assert!(!is_embeddable(bad.as_bytes()), "{bad}");
        }
        assert!(!is_embeddable(b"\"\xff\""));
    }
}
