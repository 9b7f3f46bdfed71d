//! Reads numbers from untrusted bytes: every read checks its length first.

/// Highest valid length or count. A sum of many of them still fits into 64 bits.
const AMOUNT_MAX: u64 = 1 << 48;

/// A cursor over untrusted bytes. `None` = too few bytes are left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next `count` bytes.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.bytes.split_at_checked(count)?;
        self.bytes = tail;
        Some(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = tail;
        Some(*head)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length or a count; `None` if no cache could have that many.
    pub(crate) fn amount(&mut self) -> Option<u64> {
        self.u64().filter(|amount| *amount <= AMOUNT_MAX)
    }

    /// Text with its length before it as u16.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let length = self.u16()?;
        std::str::from_utf8(self.take(usize::from(length))?).ok()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Appends bytes. Short ones of usual lengths are moved in one step, because a call would take longer.
#[inline(always)]
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        4 => put_array::<4>(out, bytes),
        8 => put_array::<8>(out, bytes),
        16 => put_array::<16>(out, bytes),
        _ => out.extend_from_slice(bytes),
    }
}

#[inline(always)]
fn put_array<const N: usize>(out: &mut Vec<u8>, bytes: &[u8]) {
    if let Some(array) = bytes.first_chunk::<N>() {
        out.extend_from_slice(array);
    }
}

/// Writes text with its length before it as u16. The API has refused longer text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    debug_assert!(
        text.len() <= super::NAME_BYTES_MAX,
        "names are checked when a namespace is opened"
    );
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// The u32 at `index` of an array.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], index: usize) -> Option<u32> {
    let start = index.checked_mul(4)?;
    bytes.get(start..)?.first_chunk().copied().map(u32::from_le_bytes)
}
