/**
 * Signatures of requests to S3: version 4 of the signatures of AWS, in the `authorization` header.
 *
 *   canonical    method, path, sorted query, sorted headers, names of the headers, digest of the body; one line each
 *   text         'AWS4-HMAC-SHA256', time, scope, SHA-256 of canonical
 *   signature    HMAC(text) with a key that is derived from secret, day, region and service
 */
import { createHash, createHmac } from 'node:crypto'
import { encodeSegment } from './store.ts'

/** Credentials of S3. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

/** A request before it is signed. */
export interface Unsigned {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of the body, in hex. */
  readonly sha256: string
  readonly region: string
}

/** The headers of a request with its signature. All of them are signed. */
export function signed({ method, url, headers, sha256, region }: Unsigned, credentials: S3Credentials, now: Date): Record<string, string> {
  const time = `${now.toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const token = sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }
  const sent: Record<string, string> = { ...headers, host: url.host, 'x-amz-content-sha256': sha256, 'x-amz-date': time, ...token }
  const names = Object.keys(sent).sort()
  const path = url.pathname.split('/').map((segment) => encodeSegment(decodeURIComponent(segment))).join('/')
  const query = url.search.slice(1).split('&').sort().join('&')
  const lines = names.map((name) => `${name}:${sent[name]?.trim().replace(/ +/g, ' ') ?? ''}\n`).join('')
  const canonical = [method, path, query, lines, names.join(';'), sha256].join('\n')
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const key = scope.split('/').reduce<string | Buffer>((above, part) => hmac(above, part), `AWS4${secretAccessKey}`)
  const signature = hmac(key, text).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...sent, authorization }
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
