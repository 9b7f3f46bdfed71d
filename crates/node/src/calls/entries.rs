//! Calls for single entries, and `getMany`. The key is in the scratch buffer; see `engine.ts` for what each promises.

use crate::context::Context;
use crate::raw::{Answer, Arguments, Call};
use varve_bindings::Result;

pub(crate) struct Get;
pub(crate) struct Take;
pub(crate) struct Has;
pub(crate) struct Put;
pub(crate) struct Delete;
pub(crate) struct GetMany;

impl Call for Get {
    const NAME: &'static str = "get";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        context.with(|desk| desk.session.get(namespace, desk.scratch.bytes_mut(), key_bytes)).map(Answer::Number)
    }
}

impl Call for Take {
    const NAME: &'static str = "take";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        context.with(|desk| arguments.write_bytes(0, |target| desk.session.take(target))?)?;
        Ok(Answer::Nothing)
    }
}

impl Call for Has {
    const NAME: &'static str = "has";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        context.with(|desk| desk.session.has(namespace, desk.scratch.bytes(), key_bytes)).map(Answer::Flag)
    }
}

impl Call for Put {
    const NAME: &'static str = "put";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        let value = arguments.bytes(2)?;
        context.with(|desk| desk.session.put(namespace, desk.scratch.bytes(), key_bytes, value))?;
        Ok(Answer::Nothing)
    }
}

impl Call for Delete {
    const NAME: &'static str = "delete";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        context.with(|desk| desk.session.delete(namespace, desk.scratch.bytes(), key_bytes))?;
        Ok(Answer::Nothing)
    }
}

/// The answer is held; returns its length.
impl Call for GetMany {
    const NAME: &'static str = "getMany";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (namespace, keys, key_ends) = (arguments.number(0)?, arguments.bytes(1)?, arguments.words(2)?);
        context.with(|desk| desk.session.get_many(namespace, keys, key_ends)).map(Answer::Number)
    }
}
