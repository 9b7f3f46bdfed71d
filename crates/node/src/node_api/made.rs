//! What a promise resolves to, as a value of JavaScript.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use napi::bindgen_prelude::{ToNapiValue, TypeName, Uint8Array};
use napi::{ValueType, sys};

/// What a promise resolves to.
pub(crate) enum Made {
    /// The functions of a session.
    Object(sys::napi_value),
    /// JSON, such as a failure.
    Text(String),
    /// A Uint8Array over these very bytes; a copy if the host does not accept foreign memory.
    Bytes(Vec<u8>),
}

impl TypeName for Made {
    fn type_name() -> &'static str {
        "Made"
    }

    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl ToNapiValue for Made {
    // SAFETY: the caller promises that `env` is the current environment.
    unsafe fn to_napi_value(env: sys::napi_env, made: Self) -> napi::Result<sys::napi_value> {
        match made {
            Self::Object(object) => Ok(object),
            // SAFETY: `env` is the current environment, as the caller promises.
            Self::Text(text) => unsafe { String::to_napi_value(env, text) },
            // SAFETY: as above.
            Self::Bytes(bytes) => unsafe { Uint8Array::to_napi_value(env, bytes.into()) },
        }
    }
}
