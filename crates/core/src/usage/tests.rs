//! Marks, their encoding and their directory.

use super::*;
use crate::format::checksum::Checksum;
use crate::testing::sim::SimVfs;
use std::sync::Arc;

fn space(name: &str) -> Space {
    (name.to_owned(), "1".to_owned())
}

fn marks(of: &[(u32, Day, bool)]) -> Marks {
    let mut marks = Marks::default();
    marks.add(
        space("n"),
        of.iter().map(|(hash, day, is_read)| Mark::new(*hash, *day, *is_read)).collect(),
    );
    marks
}

fn found(marks: &Marks) -> Vec<(u32, Day, bool)> {
    marks.of(&space("n")).iter().map(|mark| (mark.hash(), mark.day(), mark.is_read())).collect()
}

/// Id of the cache.
const ID: u64 = 77;

fn folder(vfs: &SimVfs) -> UsageFolder {
    UsageFolder::new(Arc::new(vfs.clone()), Checksum::Open)
}

#[test]
fn the_newest_mark_of_a_hash_counts() {
    let mut all =
        marks(&[(7, 3, false), (1, 9, true), (7, 5, true), (7, 5, false), (u32::MAX, 1, false)]);
    all.absorb(marks(&[(1, 8, true), (7, 4, true)]));
    assert_eq!(found(&all), [(1, 9, true), (7, 5, true), (u32::MAX, 1, false)]);
}

#[test]
fn a_usage_record_reads_back_as_written_and_every_cut_is_refused() {
    let mut random = fastrand::Rng::with_seed(5);
    for count in [0, 1, 2, 1_000] {
        let mut all = Marks::default();
        for name in ["n", "other", "\u{20AC}"] {
            let any = |_| Mark::new(random.u32(..), random.u16(..5), random.bool());
            all.add(space(name), (0..count).map(any).collect());
        }
        let body = record::write(ID, &all);
        assert!(body.len() <= 12 + 3 * 10 * 40 + count * 3 * 5, "{} bytes", body.len());
        let (id, read) = record::read(&body).unwrap();
        assert_eq!((id, read.spaces), (ID, all.spaces));
        // Every cut is refused without a panic.
        for length in 0..body.len() {
            assert!(record::read(&body[..length]).is_none(), "{length} of {}", body.len());
        }
    }
}

#[test]
fn forged_usage_records_are_refused_without_much_memory() {
    let mut random = fastrand::Rng::with_seed(6);
    let good = record::write(
        ID,
        &marks(&(0..200).map(|at| (at * 977, (at % 3) as Day, at % 2 == 0)).collect::<Vec<_>>()),
    );
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = *random.choice(&[0, 1, 0x7F, 0x80, 0xFF]).unwrap();
        }
        let _any = record::read(&bytes);
    }
    // A count larger than the bytes allow.
    let mut bytes = [&ID.to_le_bytes()[..], &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]].concat();
    bytes.extend_from_slice(&u32::MAX.to_le_bytes());
    assert!(record::read(&bytes).is_none());
}

#[test]
fn a_thousand_usage_records_become_few_files_and_no_mark_is_lost() {
    let vfs = SimVfs::new();
    let usage = folder(&vfs);
    let mut expected = Marks::default();
    for build in 0..1_000u32 {
        let day = 100 + (build / 20) as Day;
        let new =
            marks(&(0..20).map(|at| ((build % 300) * 20 + at, day, true)).collect::<Vec<_>>());
        expected.absorb(new.clone());
        usage.add(ID, new, day);
        assert!(usage.list().len() <= 9, "{:?}", usage.list());
    }
    assert_eq!(found(&usage.read_all(ID)), found(&expected));
    let bytes: u64 = usage.list().iter().map(|(_, bytes)| bytes).sum();
    assert!(bytes < 3 * 5 * 6_000, "{bytes} bytes");
}

#[test]
fn old_marks_are_dropped_and_future_marks_count_as_today() {
    let mut all = marks(&[
        (1, 100, true),
        (2, 189, false),
        (3, 190, true),
        (4, 300, true),
        (5, 4_000, false),
    ]);
    all.settle_at(280);
    assert_eq!(found(&all), [(3, 190, true), (4, 280, true), (5, 280, false)]);
    // Ten years back: all entries count as used just now.
    all.settle_at(10);
    assert_eq!(found(&all), [(3, 10, true), (4, 10, true), (5, 10, false)]);
    // Ten years on: every mark is too old.
    all.settle_at(4_000);
    assert!(all.is_empty());
}

#[test]
fn excess_marks_of_the_oldest_days_are_dropped() {
    let mut all = marks(&(0..100).map(|at| (at, (at % 10) as Day, true)).collect::<Vec<_>>());
    all.bound_to(35);
    assert_eq!(all.len(), 30);
    assert!(found(&all).iter().all(|(_, day, _)| *day >= 7));
    all.bound_to(4);
    assert!(all.len() <= 4);
}

#[test]
fn torn_and_damaged_usage_records_are_ignored_and_then_removed() {
    let good = {
        let vfs = SimVfs::new();
        folder(&vfs).add(ID, marks(&[(1, 50, true), (90_000, 50, true)]), 50);
        let name = folder(&vfs).list()[0].0.clone();
        let bytes = crate::platform::vfs::Vfs::folder(&vfs, "used").unwrap();
        let file = bytes.open(&name, crate::platform::vfs::Access::Stream).unwrap();
        let bytes = file.read(0, file.len().unwrap() as usize).unwrap().into_owned();
        (name, bytes)
    };
    let (name, bytes) = good;
    let with = |content: &[u8]| {
        let vfs = SimVfs::new();
        let folder = crate::platform::vfs::Vfs::folder(&vfs, "used").unwrap();
        folder.create_new(&name).unwrap().append(&[content]).unwrap();
        vfs
    };
    assert_eq!(folder(&with(&bytes)).read_all(ID).len(), 2);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let vfs = with(&flipped);
        assert!(folder(&vfs).read_all(ID).is_empty(), "bit {bit}");
        let mut damage = Vec::new();
        folder(&vfs).verify(ID, |name, what| damage.push((name, what)));
        assert_eq!(damage.len(), 1, "bit {bit}: {damage:?}");
    }
    for length in 0..bytes.len() {
        let vfs = with(&bytes[..length]);
        let usage = folder(&vfs);
        assert!(usage.read_all(ID).is_empty(), "length {length}");
        // The same marks again, although their name is taken by the torn rest.
        usage.add(ID, marks(&[(1, 50, true), (90_000, 50, true)]), 50);
        assert_eq!(usage.read_all(ID).len(), 2);
        usage.prune(ID, Marks::default(), 50, &mut |_| {});
        assert_eq!((usage.list().len(), usage.read_all(ID).len()), (1, 2), "length {length}");
    }
}
