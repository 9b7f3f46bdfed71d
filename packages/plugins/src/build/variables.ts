/**
 * The environment variables that code names, as it reads them:
 *
 *   process.env.NAME, process.env['NAME'], 'NAME' in process.env    and with another name for the environment:
 *   const { NAME, OTHER: other } = process.env                      const { env } = process, import { env } from 'node:process'
 *
 * A pattern finds them, also in comments: one too many costs a miss, one too few a wrong result. Computed names are not found.
 */

const ALIASES: readonly RegExp[] = [
  /\{[^{}]*\benv\b(?:\s*(?::|\bas\b)\s*([A-Za-z_$][\w$]*))?[^{}]*\}\s*(?:=\s*process\b(?!\s*\??[.[])|from\s*['"](?:node:)?process['"])/g,
  /\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*process\.env\b(?!\s*\??[.[])/g,
]

/** `const { env: { NAME } } = process`. */
const NESTED = /\benv\s*:\s*\{([^{}]*)\}[^{}]*\}\s*=\s*process\b/g
const COMMENT = /\/\/.*|\/\*[^]*?\*\//g
const NAME = /^\s*['"]?([A-Za-z_]\w*)/

/** Names of variables, some perhaps twice. */
export function variablesIn(code: string): string[] {
  if (!/\bprocess\b/.test(code)) return []
  const aliases = ALIASES.flatMap((pattern) =>
    Array.from(code.matchAll(pattern), ([, alias = 'env']) => alias.replaceAll('$', '\\$')),
  )
  const env = `(?<![.\\w$])(?:(?:\\w+\\.)*process\\s*\\??\\.\\s*env${aliases.map((alias) => `|${alias}`).join('')})`
  const named = [
    new RegExp(`${env}\\s*\\??\\.\\s*([A-Za-z_]\\w*)`, 'g'),
    new RegExp(`${env}\\s*(?:\\?\\.)?\\[\\s*['"\`]([A-Za-z_]\\w*)`, 'g'),
    new RegExp(`['"\`]([A-Za-z_]\\w*)['"\`]\\s+in\\s+${env}\\b`, 'g'),
  ]
  const lists = [new RegExp(`\\{([^{}]*)\\}\\s*=\\s*${env}\\b(?!\\s*\\??[.[])`, 'g'), NESTED]
  const one = named.flatMap((pattern) => Array.from(code.matchAll(pattern), ([, name = '']) => name))
  return [
    ...one,
    ...lists.flatMap((pattern) => Array.from(code.matchAll(pattern), ([, list = '']) => namesIn(list)).flat()),
  ]
}

/** The names in a destructuring pattern. */
function namesIn(list: string): string[] {
  const parts = list.replaceAll(COMMENT, '').split(',')
  return parts.flatMap((part) => NAME.exec(part)?.[1] ?? [])
}
