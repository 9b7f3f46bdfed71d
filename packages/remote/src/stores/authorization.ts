/** Credentials of stores over HTTP. They are read for each request, so a token that expires can be replaced. */

/** A user with a password, or a bearer token. */
export type HttpCredentials = { readonly username: string; readonly password: string } | { readonly token: string }

/** Credentials, or a function that is called for each request. */
export type CredentialsOption = HttpCredentials | (() => HttpCredentials | Promise<HttpCredentials>)

/** The `authorization` header of a request; none without credentials. */
export async function authorizationOf(
  option: CredentialsOption | undefined,
): Promise<{ readonly authorization?: string }> {
  const credentials = typeof option === 'function' ? await option() : option
  if (credentials === undefined) return {}
  if ('token' in credentials) return { authorization: `Bearer ${credentials.token}` }
  return { authorization: `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}` }
}
