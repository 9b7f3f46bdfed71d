//! Damage of the rows of a table, which are read and verified in pages.

use crate::damage::{check_answers, check_damaged, last_row};
use crate::history::{Expected, commit, compact, open};
use std::ops::ControlFlow;
use varve_core::Durability;
use varve_core::testing::sim::{Call, SimVfs};
use varve_core::vfs::Vfs;

/// A lookup reads only the page of rows that has the block of its key.
#[test]
fn a_damaged_page_of_rows_hides_only_the_entries_of_its_blocks() {
    const PAGE_BYTES: usize = 128 * 24;
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let content: Expected =
        (0..6_000u32).map(|number| (format!("{number:0100}").into_bytes(), vec![7; 100])).collect();
    for (key, value) in &content {
        handle.put(id, key, value).expect("put");
    }
    commit(&mut handle, Durability::Durable).expect("commit");
    compact(&handle, true).expect("compact");
    drop(handle);
    let table =
        vfs.list().expect("list").into_iter().find(|name| name.ends_with(".table")).expect("table");
    let bytes = vfs.contents(&table);
    let blocks = |at: usize| {
        u32::from_le_bytes(*bytes[bytes.len() - 96 + at..].first_chunk().expect("a footer"))
            as usize
    };
    let (key_blocks, value_blocks) = (blocks(12), blocks(16));
    assert!(
        key_blocks > 128 && value_blocks <= 128,
        "{key_blocks} and {value_blocks} blocks: three pages"
    );
    let rows = last_row(&bytes) + 24 - (key_blocks + value_blocks) * 24;
    let answers = |page_at: usize| {
        let vfs = vfs.fork();
        vfs.flip(&table, page_at as u64 + 10, 3);
        let mut handle = open(&vfs).expect("open");
        let id = handle.namespace("n", "1").expect("namespace");
        let found = check_answers(&handle, id, &content, "damaged rows");
        let damage = handle.store().status().damage;
        assert!(
            damage.iter().any(|place| place.offset == page_at as u64 && place.file == table),
            "{damage:?}"
        );
        drop(handle);
        check_damaged(&vfs, &content, "damaged rows");
        found
    };
    let (first, second) = (answers(rows), answers(rows + PAGE_BYTES));
    assert_eq!(first + second, content.len());
    assert!(second > first && first > 0, "{first} and {second} entries stay");
    assert_eq!(answers(rows + key_blocks * 24), 0, "no value has its place");
    // The page was read again for each of its 128 blocks.
    let reads = |damaged: Option<usize>| {
        let vfs = vfs.fork();
        damaged.into_iter().for_each(|page_at| vfs.flip(&table, page_at as u64 + 10, 3));
        let handle = open(&vfs).expect("open");
        let report = handle.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify");
        assert_eq!(report.sound, damaged.is_none());
        vfs.call_count(Some(Call::Read))
    };
    assert!(reads(Some(rows)) + 100 < reads(None));
}
