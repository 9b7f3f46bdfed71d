//! The blocks of one kind: their rows, which are read and verified page by page, and the blocks that are cached. A
//! first lookup in a large table reads two pages instead of the rows of all blocks.

use super::directory::{BlockRow, PAGE_ROWS};
use std::sync::OnceLock;

/// Row of a block, and the block itself once it is cached. They are used together, so they stand together.
#[derive(Debug)]
pub(super) struct Slot<T> {
    pub(super) row: BlockRow,
    pub(super) block: OnceLock<T>,
}

type Page<T> = Box<[Slot<T>]>;

/// Every block of one kind in a table.
#[derive(Debug)]
pub(super) struct Pages<T> {
    pages: Box<[OnceLock<Page<T>>]>,
}

impl<T> Pages<T> {
    /// Room for this many blocks.
    pub(super) fn new(blocks: usize) -> Self {
        Self { pages: (0..blocks.div_ceil(PAGE_ROWS)).map(|_| OnceLock::new()).collect() }
    }

    /// The slot of a block; `None` = its page cannot be read. `load` reads the rows of the page with this number.
    #[inline]
    pub(super) fn slot(
        &self,
        index: usize,
        load: impl FnOnce(usize) -> Option<Vec<BlockRow>>,
    ) -> Option<&Slot<T>> {
        let number = index / PAGE_ROWS;
        let place = self.pages.get(number)?;
        let page = match place.get() {
            Some(page) => page,
            None => {
                let rows = load(number)?;
                place.get_or_init(|| {
                    rows.into_iter().map(|row| Slot { row, block: OnceLock::new() }).collect()
                })
            }
        };
        page.get(index % PAGE_ROWS)
    }

    /// The block, if it is cached.
    #[inline]
    pub(super) fn cached(&self, index: usize) -> Option<&T> {
        self.pages.get(index / PAGE_ROWS)?.get()?.get(index % PAGE_ROWS)?.block.get()
    }
}
