/** Signatures of requests to S3 (version 4 of the signatures of AWS), in the `authorization` header. `aws4` computes them. */
import aws4 from 'aws4'

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
export function signed(
  { method, url, headers, sha256, region }: Unsigned,
  credentials: S3Credentials,
): Readonly<Record<string, string>> {
  const sent = { ...headers, 'x-amz-content-sha256': sha256 }
  const request = { method, host: url.host, path: url.pathname + url.search, headers: sent, service: 's3', region }
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const token = sessionToken === undefined ? {} : { sessionToken }
  const { headers: all = {} } = aws4.sign(request, { accessKeyId, secretAccessKey, ...token })
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]))
}
