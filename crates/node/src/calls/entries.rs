//! Entries and namespaces. The key of a call for one entry is in the scratch buffer.

use crate::node_api::{Answer, Arguments, Call, Functions, Methods, Reply};
use crate::store::NodeStore;
use std::ffi::CStr;
use varve_bindings::{PackedKeys, PagePlace, Result};

/// The answer of `find` for a key that `get` has to look up.
const UNFIT: i32 = -4;

/// Adds the functions that run for each entry.
pub(crate) fn add_hot(functions: Functions<NodeStore>) -> Result<Functions<NodeStore>> {
    let functions =
        functions.add_hot::<Get>()?.add_hot::<Find>()?.add_hot::<Read>()?.add_hot::<Take>()?;
    functions.add_hot::<Has>()?.add_hot::<Put>()?.add_hot::<Delete>()
}

/// Adds the methods of this file.
pub(crate) fn add(methods: Methods<NodeStore>) -> Methods<NodeStore> {
    let methods =
        methods.add::<Namespace>().add::<SetTarget>().add::<PutWithBlobs>().add::<Revision>();
    let methods = methods.add::<GetMany>().add::<GetManyAtOnce>().add::<GetManyAsync>();
    methods.add::<Scan>().add::<ScanKeys>().add::<ScanFolders>()
}

struct Namespace;
struct Get;
struct Find;
struct SetTarget;
struct Read;
struct Take;
struct Has;
struct Put;
struct PutWithBlobs;
struct Delete;
struct GetMany;
struct GetManyAtOnce;
struct GetManyAsync;
struct Revision;
struct Scan;
struct ScanKeys;
struct ScanFolders;

impl Call<NodeStore> for Namespace {
    const NAME: &'static CStr = c"namespace";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (name, version) = (arguments.text(0)?, arguments.text(1)?);
        store
            .with(|handle| handle.namespace(&name, &version))
            .map(|number| Answer::Count(number.into()))
    }
}

impl Call<NodeStore> for Get {
    const NAME: &'static CStr = c"get";
    const ARGUMENTS: usize = 4;

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes, start) =
            (arguments.number(0)?, arguments.number(1)? as usize, arguments.number(3)?);
        store.with(|handle| {
            // The key is copied first, because the value may overwrite it: the target may be the scratch buffer.
            handle.choose(namespace, key_bytes)?;
            arguments.write_bytes(2, start, |target| handle.read(target))?.map(Answer::Number)
        })
    }
}

/// `get` of a string. The other numbers are in the cells: the namespace and where the value begins in the target, which
/// is the scratch buffer if that is below zero; then the answer.
impl Call<NodeStore> for Find {
    const NAME: &'static CStr = c"find";
    const ARGUMENTS: usize = 1;

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let [namespace, start, _] = store.cells.read();
        let found = store.with_target(|handle, target| {
            if !handle.choose_text(namespace as u32, |key| arguments.write_text(0, key))? {
                return Ok(UNFIT);
            }
            match (usize::try_from(start), target) {
                (Ok(start), Some(target)) => handle.read(target.room(start)),
                (Ok(_), None) => handle.read(&mut []),
                (Err(_), _) => handle.read_to_scratch(),
            }
        })?;
        store.cells.answer(found);
        Ok(Answer::Nothing)
    }
}

/// Names the memory into which `find` writes values.
impl Call<NodeStore> for SetTarget {
    const NAME: &'static CStr = c"setTarget";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        store.set_target(arguments.target(0)?)?;
        Ok(Answer::Nothing)
    }
}

/// Looks the key of the last call up again.
impl Call<NodeStore> for Read {
    const NAME: &'static CStr = c"read";
    const ARGUMENTS: usize = 1;

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        store
            .with(|handle| arguments.write_bytes(0, 0, |target| handle.read(target))?)
            .map(Answer::Number)
    }
}

impl Call<NodeStore> for Take {
    const NAME: &'static CStr = c"take";
    const ARGUMENTS: usize = 1;

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        store.with(|handle| arguments.write_bytes(0, 0, |target| handle.take(target))?)?;
        Ok(Answer::Nothing)
    }
}

impl Call<NodeStore> for Has {
    const NAME: &'static CStr = c"has";
    const ARGUMENTS: usize = 2;

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        store.with(|handle| handle.has(namespace, key_bytes)).map(Answer::Flag)
    }
}

impl Call<NodeStore> for Put {
    const NAME: &'static CStr = c"put";
    const ARGUMENTS: usize = 3;

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        let value = arguments.bytes(2)?;
        store.with(|handle| handle.put(namespace, key_bytes, value))?;
        Ok(Answer::Nothing)
    }
}

impl Call<NodeStore> for PutWithBlobs {
    const NAME: &'static CStr = c"putWithBlobs";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        let packed = arguments.bytes(2)?;
        store.with(|handle| handle.put_with_blobs(namespace, key_bytes, packed))?;
        Ok(Answer::Nothing)
    }
}

impl Call<NodeStore> for Delete {
    const NAME: &'static CStr = c"delete";
    const ARGUMENTS: usize = 2;

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        store.with(|handle| handle.delete(namespace, key_bytes))?;
        Ok(Answer::Nothing)
    }
}

impl Call<NodeStore> for GetMany {
    const NAME: &'static CStr = c"getMany";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let keys = PackedKeys { packed: arguments.bytes(1)?, ends: arguments.words(2)? };
        let (namespace, first, start) =
            (arguments.number(0)?, arguments.number(3)? as usize, arguments.number(5)?);
        let read = |target: &mut [u8], lengths: &mut [i32]| {
            store.with(|handle| handle.get_many(namespace, keys, first, target, lengths))
        };
        let answered = arguments.write_lengths(6, |lengths| {
            arguments.write_bytes(4, start, |target| read(target, lengths))
        })??;
        Ok(Answer::Count(answered? as u64))
    }
}

/// The answer is held; returns its length.
impl Call<NodeStore> for GetManyAtOnce {
    const NAME: &'static CStr = c"getManyAtOnce";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let keys = PackedKeys { packed: arguments.bytes(1)?, ends: arguments.words(2)? };
        let namespace = arguments.number(0)?;
        store.with(|handle| handle.get_many_at_once(namespace, keys)).map(Answer::Number)
    }
}

impl Call<NodeStore> for Revision {
    const NAME: &'static CStr = c"revision";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        store.with(|handle| handle.revision()).map(Answer::Count)
    }
}

/// The answer of `getManyAtOnce` as a promise of its bytes.
impl Call<NodeStore> for GetManyAsync {
    const NAME: &'static CStr = c"getManyAsync";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let keys = PackedKeys { packed: arguments.bytes(1)?, ends: arguments.words(2)? };
        let namespace = arguments.number(0)?;
        let reads = store.with(|handle| handle.begin_reads(namespace, keys))?;
        Ok(store.promise_reply(move || Ok(Reply::Bytes(reads.run()?))))
    }
}

/// The answer is held; returns its length.
impl Call<NodeStore> for Scan {
    const NAME: &'static CStr = c"scan";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let page = page_in(arguments)?;
        let folders = folders_in(arguments)?;
        store.with(|handle| handle.scan(page, folders)).map(Answer::Number)
    }
}

/// The answer is held; returns its length.
impl Call<NodeStore> for ScanKeys {
    const NAME: &'static CStr = c"scanKeys";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let page = page_in(arguments)?;
        let folders = folders_in(arguments)?;
        store.with(|handle| handle.scan_keys(page, folders)).map(Answer::Number)
    }
}

/// The answer is held; returns its length.
impl Call<NodeStore> for ScanFolders {
    const NAME: &'static CStr = c"scanFolders";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let page = page_in(arguments)?;
        store.with(|handle| handle.scan_folders(page)).map(Answer::Number)
    }
}

fn page_in(arguments: &Arguments) -> Result<PagePlace> {
    Ok((arguments.number(0)?, arguments.big(1)?, arguments.count(2)?))
}

/// The folders whose entries are wanted.
fn folders_in(arguments: &Arguments) -> Result<PackedKeys<'_>> {
    Ok(PackedKeys { packed: arguments.bytes(3)?, ends: arguments.words(4)? })
}
