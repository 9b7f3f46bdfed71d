/**
 * What the errors of S3 mean for a user. The service names each in one word, with any status: a bucket that does not exist is a 404, as an object
 * that does not exist is.
 */
import type { Explained, ServerError } from './http.ts'

const ACCESS = 'the credentials do not allow this request. Allow reading, writing and listing for the bucket and prefix'
const KEY = 'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
const TOKEN = 'get new credentials, and set AWS_SESSION_TOKEN with the other two'
const CLOSED = 'the account or the bucket is not in use. Ask its owner'
const OTHER_SERVICE = 'the answer is not that of S3. Check the endpoint in VARVE_REMOTE'
const LATER = 'the service has a problem of its own. Try again later'

/** Refused credentials. Everything else is an address that is wrong, or a service that does not work. */
const DENIED: Readonly<Record<string, string>> = {
  AccessDenied: ACCESS,
  UnauthorizedAccess: ACCESS,
  AllAccessDisabled: CLOSED,
  AccountProblem: CLOSED,
  NotSignedUp: CLOSED,
  InvalidAccessKeyId: `the access key does not exist; ${KEY}`,
  SignatureDoesNotMatch: `the secret key does not belong to the access key; ${KEY}`,
  ExpiredToken: `the credentials have expired; ${TOKEN}`,
  TokenRefreshRequired: `the credentials have expired; ${TOKEN}`,
  InvalidToken: `the session token is not valid; ${TOKEN}`,
  InvalidSecurity: `the credentials are not valid; ${KEY}`,
  RequestExpired: 'set the clock of this machine',
  RequestTimeTooSkewed: 'set the clock of this machine',
  AuthorizationHeaderMalformed: 'the signature names another region',
}

const UNAVAILABLE: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket does not exist there. Create it, or correct its name, region or endpoint in VARVE_REMOTE',
  InvalidBucketName: 'the service does not allow this name of a bucket. Correct it in VARVE_REMOTE',
  PermanentRedirect: 'the bucket is in another region',
  TemporaryRedirect: 'the bucket was made a short time ago, or is in another region',
  IllegalLocationConstraintException: 'the bucket is in another region',
  InvalidRegion: 'the bucket is in another region',
  NotImplemented: 'the service lacks what a remote needs, such as conditional writes. Use another store',
  QuotaExceeded: "the storage is full. Run 'npx varve remote gc', or extend it",
  XMinioStorageFull: "the storage is full. Run 'npx varve remote gc', or extend it",
  RequestTimeout: LATER,
  SlowDown: 'the service gets too many requests. Try again later',
  ServiceUnavailable: LATER,
  InternalError: LATER,
}

/** An object that does not exist: the one 404 that is no error. */
const ABSENT: ReadonlySet<string> = new Set(['NoSuchKey', 'NoSuchVersion', 'NoSuchObject', 'NotFound'])

const UNKNOWN = 'it is not known what that means. Check the address in VARVE_REMOTE, and the service'

const REGION = 'set region=<its region> in VARVE_REMOTE, or AWS_REGION'

/** The words after which the region of the bucket helps. */
const OF_REGION = new Set([
  'PermanentRedirect',
  'TemporaryRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'InvalidRegion',
])

/** The code and advice of an answer; undefined if the caller knows what it means. */
export function explainS3({ status, word, hasText, headers, aheadMs }: ServerError): Explained | undefined {
  // A web server or a proxy: S3 says with a word that an object does not exist.
  if (status === 404 && hasText && word === undefined) return { code: 'REMOTE_UNAVAILABLE', advice: OTHER_SERVICE }
  // An answer to HEAD has no text. Of a redirect, S3 sends the region.
  const name = word ?? (status === 301 || status === 307 ? 'PermanentRedirect' : '')
  const denied = Object.hasOwn(DENIED, name) ? DENIED[name] : undefined
  const unavailable = Object.hasOwn(UNAVAILABLE, name) ? UNAVAILABLE[name] : undefined
  const advice = denied ?? unavailable
  if (advice === undefined) {
    const isObject = status !== 404 || word === undefined || ABSENT.has(word)
    return isObject ? undefined : { code: 'REMOTE_UNAVAILABLE', advice: UNKNOWN }
  }
  const isDenied = denied !== undefined || status === 401 || status === 403
  const code = isDenied ? 'REMOTE_DENIED' : 'REMOTE_UNAVAILABLE'
  if (OF_REGION.has(name)) return { code, advice: `${advice}; ${regionFix(headers['x-amz-bucket-region'])}` }
  if (name === 'RequestTimeTooSkewed' && aheadMs !== undefined) {
    const seconds = Math.round(Math.abs(aheadMs) / 1000)
    return { code, advice: `${advice}, which is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the server` }
  }
  return { code, advice }
}

function regionFix(region: string | string[] | undefined): string {
  return typeof region === 'string' && /^[a-z0-9-]{1,32}$/.test(region)
    ? REGION.replace('<its region>', region)
    : REGION
}
