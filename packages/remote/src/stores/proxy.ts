/**
 * Proxies are not supported: the client of Node.js 20 has none, and one that a build does not reach would only be noticed as a remote that is
 * down. So the error of a connection that fails has the name of such a variable. Its value may have a password and is never shown.
 */
const VARIABLES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

/** The first variable that names a proxy; undefined if there is none. */
export function proxyVariable(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  return VARIABLES.find((name) => (environment[name] ?? '') !== '')
}

/** What follows from it. */
export function withoutProxy(name: string): string {
  return `${name} is not used, because remotes connect to the store directly`
}
