// @ts-check
// Parses the output of strace (-f -y -xx): joins calls that were interrupted by those of another thread, and splits their
// arguments. Examples of lines:
//
//   812   openat(AT_FDCWD</a>, "\x2f\x62", O_RDWR|O_CREAT, 0600) = 19</b>
//   812   fdatasync(19</b> <unfinished ...>
//   812   <... fdatasync resumed>) = 0

/**
 * @typedef {object} Call
 * @property {string} name
 * @property {string} args as strace wrote them, texts still in hexadecimal
 * @property {number} result
 * @property {number} begin the line in which it began
 * @property {number} end the line in which it ended
 */

/** The calls in the order in which they ended, as far as they name one of `paths`. @param {string} trace @param {readonly string[]} paths */
export function* callsOf(trace, paths) {
  const wanted = paths.flatMap((path) => [path, hexOf(path)])
  /** @type {Map<string, { text: string, begin: number }>} */
  const unfinished = new Map()
  for (const [number, line] of trace.split('\n').entries()) {
    const space = line.indexOf(' ')
    const [thread, rest] = [line.slice(0, space), line.slice(space).trimStart()]
    const cut = rest.endsWith('<unfinished ...>')
    if (cut) {
      unfinished.set(thread, { text: rest.slice(0, -'<unfinished ...>'.length).trimEnd(), begin: number })
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>/.exec(rest)
    const started = resumed === null ? undefined : unfinished.get(thread)
    unfinished.delete(thread)
    const text = started === undefined || resumed === null ? rest : started.text + rest.slice(resumed[0].length)
    if (!wanted.some((path) => text.includes(path))) continue
    const call = callOf(text, started?.begin ?? number, number)
    if (call !== undefined) yield call
  }
}

/** @param {string} text @param {number} begin @param {number} end @returns {Call | undefined} */
function callOf(text, begin, end) {
  const open = text.indexOf('(')
  const close = text.lastIndexOf(') = ') === -1 ? text.search(/\)\s+= [-?\d][^)]*(\(.*\))?$/) : text.lastIndexOf(') = ')
  if (open === -1 || close === -1) {
    if (/^[+-]{3} /.test(text)) return undefined
    throw new Error(`unknown output of strace: ${text.slice(0, 300)}`)
  }
  const result = /^\)\s+= (-?\d+|\?)/.exec(text.slice(close))?.[1]
  return {
    name: text.slice(0, open),
    args: text.slice(open + 1, close),
    result: result === '?' ? -1 : Number(result),
    begin,
    end,
  }
}

/** The texts among the arguments. @param {string} args @returns {Buffer[]} */
export function textsOf(args) {
  return [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g)].map(([, hex = '', more]) => {
    if (more !== undefined) throw new Error('strace has cut a text')
    return Buffer.from(hex.replaceAll('\\x', ''), 'hex')
  })
}

/** The descriptor that stands first, and the path that strace knows for it. @param {string} args */
export function descriptorOf(args) {
  const [, number = '-1', path = ''] = /^(\d+|AT_FDCWD)<([^>]*)>/.exec(args) ?? []
  return { number: Number(number), path: plain(path) }
}

/** Paths: each text, and before a relative one the folder of its descriptor. @param {string} args @returns {string[]} */
export function pathsOf(args) {
  return [...args.matchAll(/(?:(?:\d+|AT_FDCWD)<([^>]*)>, )?"((?:\\x[0-9a-f]{2})*)"/g)].map(
    ([, folder = '', hex = '']) => {
      const path = plain(hex)
      return path.startsWith('/') ? path : `${plain(folder)}/${path}`
    },
  )
}

/** @param {string} text */
const plain = (text) =>
  Buffer.from(
    text.replace(/\\x([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()

/** @param {string} text */
const hexOf = (text) => [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
