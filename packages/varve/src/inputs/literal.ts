/**
 * Short values, which a record has instead of their digests, so that `why` can name them. They take no more bytes than a digest.
 *
 *   ="production"                     a text, as JSON
 *   =12                               another value, as JSON
 *   bLHvAPItmcc9l4w10oslyz6 7.30.0    the manifest of a package: its digest, and the version in it
 *
 * A value may be a secret, and a cache may be shared. A value stays a digest if it is longer than VALUE_MAX, if its name or its text
 * contains a word of SECRET, or if it looks random.
 */
import { parseJson } from '../values/json.ts'

/** Characters of the JSON of a value that is shown, and of an absolute path. */
const VALUE_MAX = 32
const PATH_MAX = 80
const PATH = /^"(?:\\")?(?:\/|[A-Za-z]:\\)[\w.@ /\\-]*(?:\\")?"$/

/** Words of names of secrets: API_KEY, npm_config__authToken, DATABASE_URL, a URL with a user. */
const SECRET =
  /secret|token|pass(?:w|phrase|code)|pwd|credential|private|key|auth|cookie|session|signature|salt|cert|jwt|dsn|(?:^|_)pat(?:$|_)|database|:\/\//i

/** At least 12 letters and digits without a separator, with both among them, as in keys and hashes. Numbers, dates and words are none. */
const RANDOM = /(?=[\w=]*\d)(?=[\w=]*[A-Za-z])[\w=]{12,}/

const PACKAGE = /(?:^|[\\/])node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]package\.json$/
const VERSION = /"version"\s*:\s*"([\w.+-]{1,30})"/
const VERSIONED = /^b[\w-]{22} ([\w.+-]{1,30})$/

/** What a record has of a value, as JSON: the value, or undefined if it has a digest. */
export function literalOf(name: string, json: string): string | undefined {
  const isShort = json.length <= VALUE_MAX || (json.length <= PATH_MAX && PATH.test(json))
  const isShown = isShort && !SECRET.test(name) && !SECRET.test(json) && !RANDOM.test(json)
  return isShown ? `=${json}` : undefined
}

/** The same for a text. */
export function literalOfText(name: string, text: string): string | undefined {
  return text.length <= PATH_MAX ? literalOf(name, JSON.stringify(text)) : undefined
}

/** The name of the package whose manifest a path is. */
export function packageOf(path: string): string | undefined {
  return PACKAGE.exec(path)?.[1]?.replace('\\', '/')
}

/** The digest of a file, with its version if it is the manifest of a package. */
export function withVersion(digest: string, path: string, content: Uint8Array): string {
  if (!path.endsWith('package.json') || packageOf(path) === undefined) return digest
  const [, version] = VERSION.exec(new TextDecoder('latin1').decode(content)) ?? []
  return version === undefined ? digest : `${digest} ${version}`
}

/** The value or the version that a digest shows; undefined if it shows none. Digests from disk may have any form. */
export function shownOf(digest: string | undefined): string | undefined {
  if (digest === undefined || digest.length > PATH_MAX + 1) return undefined
  if (!digest.startsWith('=')) return VERSIONED.exec(digest)?.[1]
  const json = digest.slice(1)
  try {
    const value = parseJson(json)
    return typeof value === 'string' && value !== '' ? value : json
  } catch {
    return json
  }
}
