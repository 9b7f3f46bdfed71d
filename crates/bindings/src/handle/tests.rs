//! Commits of one handle.

use super::JsHandle;
use crate::commit::{Begun, Commit};
use crate::failure::Result;
use std::sync::Arc;
use varve_core::vfs::MemVfs;
use varve_core::{Durability, Options, SerialPool, Store};

type Handle = JsHandle<Box<[u8]>>;

fn opened() -> Result<(Handle, u32)> {
    let store = Store::open(Arc::new(MemVfs::default()), Arc::new(SerialPool), Options::default())?;
    let mut handle = JsHandle::new(&store, vec![0; 1 << 10].into_boxed_slice());
    let namespace = handle.namespace("n", "1")?;
    Ok((handle, namespace))
}

fn put(handle: &mut Handle, namespace: u32, value: &[u8]) -> Result<()> {
    handle.scratch[..3].copy_from_slice(b"key");
    handle.put(namespace, 3, value)
}

fn ready(handle: &mut Handle, durability: Durability) -> Result<Commit> {
    match handle.begin_commit(durability)? {
        Begun::Ready(commit) => Ok(commit),
        other => panic!("{other:?}"),
    }
}

fn value(handle: &mut Handle, namespace: u32) -> Result<Vec<u8>> {
    handle.scratch[..3].copy_from_slice(b"key");
    handle.choose(namespace, 3)?;
    let length = handle.read_to_scratch()?;
    Ok(handle.scratch[..length as usize].to_vec())
}

#[test]
fn a_commit_that_begins_while_another_runs_waits_and_follows_it() -> Result<()> {
    let (mut handle, namespace) = opened()?;
    put(&mut handle, namespace, b"first")?;
    let first = ready(&mut handle, Durability::Relaxed)?;
    for later in [b"second", b"third!"] {
        put(&mut handle, namespace, later)?;
        assert!(matches!(handle.begin_commit(Durability::Relaxed)?, Begun::Waits));
    }
    assert_eq!(
        (handle.pending_entries()?, value(&mut handle, namespace)?),
        (0, b"third!".to_vec())
    );
    first.run(1)?;
    let committed = |handle: &Handle| -> Result<Vec<u8>> {
        let mut reader = JsHandle::new(handle.store()?, vec![0; 1 << 10].into_boxed_slice());
        let namespace = reader.namespace("n", "1")?;
        value(&mut reader, namespace)
    };
    assert_eq!(committed(&handle)?, b"first");
    handle.next_commit(Durability::Relaxed)?.run(2)?;
    assert_eq!(committed(&handle)?, b"second");
    handle.next_commit(Durability::Relaxed)?.run(3)?;
    assert_eq!(committed(&handle)?, b"third!");
    assert!(handle.next_commit(Durability::Relaxed).is_err());
    Ok(())
}

#[test]
fn a_commit_that_fails_is_part_of_the_next_one() -> Result<()> {
    let (mut handle, namespace) = opened()?;
    put(&mut handle, namespace, b"first")?;
    drop(handle.begin_commit(Durability::Relaxed)?);
    assert_eq!(handle.pending_entries()?, 1);
    assert_eq!(ready(&mut handle, Durability::Relaxed)?.run(1)?.report.entries, 1);
    assert_eq!(handle.pending_entries()?, 0);
    Ok(())
}

#[test]
fn only_a_small_relaxed_commit_runs_on_the_thread_that_asks_for_it() -> Result<()> {
    let (mut handle, namespace) = opened()?;
    assert!(matches!(handle.begin_commit(Durability::Relaxed)?, Begun::Empty));
    put(&mut handle, namespace, b"small")?;
    let small = ready(&mut handle, Durability::Relaxed)?;
    assert!(small.is_short());
    drop(small);
    let durable = ready(&mut handle, Durability::Durable)?;
    assert!(!durable.is_short());
    drop(durable);
    put(&mut handle, namespace, &vec![0; 256 << 10])?;
    assert!(!ready(&mut handle, Durability::Relaxed)?.is_short());
    Ok(())
}
