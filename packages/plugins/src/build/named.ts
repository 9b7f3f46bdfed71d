/**
 * The plugins and presets that a config of Babel names as texts, where no import names them:
 *
 *   plugins: ['./words.js', ['@acme/words', { length: 2 }], isTest && 'module:tests']
 *   presets.push('acme')
 *
 * A pattern finds the lists, also in comments: one text too many costs a miss, one too few a wrong result. A config of Babel may make
 * its lists, so all its texts count that name a file or a package, and paths that it joins:
 *
 *   const ours = [join(__dirname, 'tools', 'words.js')]
 */

const LIST = /\b(?:plugins|presets)\b['"]?\s*(?:[:=](?!=)|\.(?:push|unshift|concat)\b)/g
const TOKEN = /\/\/.*|\/\*[^]*?\*\/|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`]*)`|[[\](){},;]/g

/** A config that another one extends, or that options name. */
const EXTENDED = /\b(?:extends|configFile)\b['"]?\s*:\s*(?:require\.resolve\()?['"]([^'"\n]+)['"]/g

/** What stands behind the directory of a module: `, 'tools', 'words.js'` or `}/tools/words.js`. */
const BEHIND_FOLDER =
  /\b(?:__dirname|import\.meta\.dirname)\b(?:((?:\s*,\s*(?:'[^'\n]*'|"[^"\n]*"))+)|\s*\}\/([^`$\n]+)`)/g

/** The text before the bracket of a call, such as that of a plugin, whose arguments are options. */
const CALL = /(?<!\bresolve)(?<=[\w$)\]])\s*$/

/** What a list item may be: a path, or a package. */
const NAME = /^(?:module:)?((?:\.{1,2}\/|\/|@[\w.-]+(?:\/|$)|\w)[^\s'"`]*)$/

/** The import specifiers that a text may stand for, some perhaps twice. */
export function namedIn(text: string): string[] {
  const items = Array.from(text.matchAll(LIST), ({ index, 0: { length } }) => itemsAt(text, index + length)).flat()
  return [...items, ...Array.from(text.matchAll(EXTENDED), ([, name = '']) => name)].flatMap(specifiersOf)
}

/** The import specifiers that all texts of a config of Babel may stand for, and the paths that it joins. */
export function namedAnywhereIn(text: string): string[] {
  TOKEN.lastIndex = 0 // where `itemsAt` ended
  const texts = Array.from(text.matchAll(TOKEN), (token) => token.slice(1).find((one) => one !== undefined) ?? '')
  const joined = Array.from(text.matchAll(BEHIND_FOLDER), ([, parts, path]) =>
    ['.', path ?? Array.from((parts ?? '').matchAll(/['"]([^'"]*)['"]/g), ([, part]) => part)].flat().join('/'),
  )
  return [...texts, ...joined].flatMap(specifiersOf)
}

/** The items of the lists that begin at `start`, each a text or the first text in a list of its own. Options of an item are skipped. */
function itemsAt(text: string, start: number): string[] {
  const items: string[] = []
  /** The open brackets; `{` also stands for the one of a call. */
  const open: string[] = []
  let isLater = false
  for (TOKEN.lastIndex = start; ;) {
    const found = TOKEN.exec(text)
    if (found === null) return items
    const [token, ...texts] = found
    const item = texts.find((one) => one !== undefined)
    const lists = open.filter((bracket) => bracket === '[').length
    if (item !== undefined) {
      if (!open.includes('{') && (lists === 1 || (lists === 2 && !isLater) || open[0] === '(')) items.push(item)
    } else if (/^[[({]/.test(token)) {
      open.push(
        open.length > 0 && token === '(' && CALL.test(text.slice(Math.max(found.index - 20, 0), found.index))
          ? '{'
          : token,
      )
      isLater = false
    } else if (/^[\])}]/.test(token)) {
      if (open.pop() === undefined) return items
    } else if (/^[,;]/.test(token)) {
      if (open.length === 0) return items
      isLater = true
    }
  }
}

/** A path as it is; a package by its name and by those that Babel makes of it. */
function specifiersOf(item: string): string[] {
  const [, name] = NAME.exec(item) ?? []
  if (name === undefined) return []
  if (/^[./]/.test(name)) return [name]
  const [, scope = '', rest = ''] = /^(@[^/]+\/?)?(.*)$/.exec(name) ?? []
  return [
    name,
    ...['plugin', 'preset'].map((kind) =>
      rest === '' ? `${scope.replace(/\/?$/, '/')}babel-${kind}` : `${scope}babel-${kind}-${rest}`,
    ),
  ]
}

// The environment variables that code names, as it reads them:
//
//   process.env.NAME, process.env['NAME'], 'NAME' in process.env    and with another name for the environment:
//   const { NAME, OTHER: other } = process.env                      const { env } = process, import { env } from 'node:process'
//
// A pattern finds them, also in comments: one too many costs a miss, one too few a wrong result. Computed names are not found.

const ALIASES: readonly RegExp[] = [
  /\{[^{}]*\benv\b(?:\s*(?::|\bas\b)\s*([A-Za-z_$][\w$]*))?[^{}]*\}\s*(?:=\s*process\b(?!\s*\??[.[])|from\s*['"](?:node:)?process['"])/g,
  /\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*process\.env\b(?!\s*\??[.[])/g,
]

/** `const { env: { NAME } } = process`. */
const NESTED = /\benv\s*:\s*\{([^{}]*)\}[^{}]*\}\s*=\s*process\b/g
const COMMENT = /\/\/.*|\/\*[^]*?\*\//g
const VARIABLE = /^\s*['"]?([A-Za-z_]\w*)/

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
  return parts.flatMap((part) => VARIABLE.exec(part)?.[1] ?? [])
}
