/** SigV4 as its specification describes it, to compare with the requests that the adapter for S3 sends. */
import { createHash, createHmac } from 'node:crypto'

/** A request as a server sees it. */
export interface SeenRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

/** The header `authorization` of a request to S3 with these signed headers. */
export function authorization(
  request: SeenRequest,
  signedHeaders: string,
  region: string,
  accessKeyId: string,
  secretAccessKey: string,
): string {
  const { method, target, headers } = request
  const [path = '', query = ''] = target.split('?')
  const parameters = query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', value = ''] = part.split('=').map(decodeURIComponent)
      return `${encode(name)}=${encode(value)}`
    })
  const signed = signedHeaders
    .split(';')
    .map((name) => `${name}:${(headers[name] ?? '').trim()}\n`)
    .join('')
  const canonicalPath = path
    .split('/')
    .map((segment) => encode(decodeURIComponent(segment)))
    .join('/')
  const canonical = [
    method,
    canonicalPath,
    parameters.sort().join('&'),
    signed,
    signedHeaders,
    headers['x-amz-content-sha256'] ?? '',
  ].join('\n')
  const time = headers['x-amz-date'] ?? ''
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const key = [region, 's3', 'aws4_request'].reduce(
    (above, part) => hmac(above, part),
    hmac(`AWS4${secretAccessKey}`, time.slice(0, 8)),
  )
  const credential = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}`
  return `${credential}, SignedHeaders=${signedHeaders}, Signature=${hmac(key, text).toString('hex')}`
}
