/** Codes of errors that are none of Varve. */
import { VarveError } from 'varve'

/** The code of an error. In a `vm` context, as Jest makes one, errors of Node are no instances of the context's `Error`. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** What did not happen in time, as the `cause` of an error: waiting longer may help, unlike after other failures. */
export class Timeout extends Error {
  override readonly name = 'TimeoutError'
}

/** The system's code of a failed connection: messages of other layers may contain the address with its query. */
export function transportCode(error: unknown): string {
  for (
    let at = error, depth = 0;
    typeof at === 'object' && at !== null && depth < 5;
    at = Reflect.get(at, 'cause'), depth++
  ) {
    const code = codeOf(at)
    if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return code
  }
  return 'the connection failed'
}

const PROTOCOL = 'check http or https, and the port, in VARVE_REMOTE'
const CERTIFICATE =
  'this machine does not trust the certificate of the server; set NODE_EXTRA_CA_CERTS to that of its issuer'

/** What failed connections mean for a user. */
const TRANSPORT: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server answers at this address and port',
  ENOTFOUND: 'there is no server of this name; check the address in VARVE_REMOTE, and the network',
  EAI_AGAIN: 'the name of the server cannot be looked up; check the network',
  ENETUNREACH: 'there is no way to this address; check the network',
  EHOSTUNREACH: 'there is no way to this address; check the network',
  EPROTO: `the server does not answer with TLS; ${PROTOCOL}`,
  HPE_INVALID_CONSTANT: `the server does not answer with HTTP; ${PROTOCOL}`,
  CERT_HAS_EXPIRED: 'the certificate of the server has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CERTIFICATE,
}

/** A code of a failed connection with its meaning, if that is known. */
export function explainTransport(code: string): string {
  const meaning = Object.hasOwn(TRANSPORT, code) ? TRANSPORT[code] : undefined
  return meaning === undefined ? code : `${code}: ${meaning}`
}

/** A failed file operation in `dir` as a VarveError. */
export function ioError(error: unknown, dir: string): unknown {
  if (
    error instanceof VarveError ||
    typeof error !== 'object' ||
    error === null ||
    !('syscall' in error && 'message' in error)
  )
    return error
  const code = codeOf(error)
  const kind =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'DISK_FULL'
      : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? 'PERMISSION'
        : 'IO'
  return new VarveError(kind, `cannot write layers to '${dir}': ${String(error.message)}`, { cause: error })
}
