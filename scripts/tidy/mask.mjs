// @ts-check
// Source code with comments and the contents of strings blanked out: every character stays at its place, so that
// positions and lines found in the mask hold in the source.

/** @param {string} text */
const blank = (text) => text.replace(/[^\n]/g, ' ')

/** Quotes stay, what is between them goes. @param {string} text */
const blankInside = (text) => (text.length < 2 ? text : text[0] + blank(text.slice(1, -1)) + text.at(-1))

const RUST_TOKEN = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*)`,
    String.raw`(?<block>\/\*)`,
    String.raw`(?<raw>\b(?:br|cr|r)(?<hashes>#*)"[^]*?"\k<hashes>)`,
    String.raw`(?<string>"(?:\\[^]|[^"\\])*")`,
    String.raw`(?<char>'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])')`,
  ].join('|'),
  'g',
)

/**
 * Rust. A lifetime ('a) is left alone: no quote closes it.
 * @param {string} source
 */
export function maskRust(source) {
  let masked = ''
  let index = 0
  RUST_TOKEN.lastIndex = 0
  for (let match = RUST_TOKEN.exec(source); match !== null; match = RUST_TOKEN.exec(source)) {
    const end = match.groups?.block === undefined ? RUST_TOKEN.lastIndex : endOfNestedComment(source, match.index)
    const text = source.slice(match.index, end)
    const isComment = match.groups?.block !== undefined || match.groups?.comment !== undefined
    masked += source.slice(index, match.index) + (isComment ? blank(text) : blankInside(text))
    index = end
    RUST_TOKEN.lastIndex = end
  }
  return masked + source.slice(index)
}

/** Rust nests block comments. @param {string} source @param {number} start */
function endOfNestedComment(source, start) {
  const token = /\/\*|\*\//g
  token.lastIndex = start
  let depth = 0
  for (let match = token.exec(source); match !== null; match = token.exec(source)) {
    depth += match[0] === '/*' ? 1 : -1
    if (depth === 0) return token.lastIndex
  }
  return source.length
}

const STICKY = {
  space: /\s+/y,
  comment: /\/\/[^\n]*|\/\*[^]*?\*\//y,
  string: /'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"/y,
  regex: /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y,
  word: /[\w$]+/y,
}

/** @param {RegExp} pattern @param {string} source @param {number} index */
function matchAt(pattern, source, index) {
  pattern.lastIndex = index
  return pattern.exec(source)?.[0]
}

/** A slash after one of these begins a regular expression, else it divides. */
const BEFORE_REGEX = /(?:^|[-([{,;=:!&|?+*%<>~^}]|\b(?:return|typeof|case|of|in|await|yield))$/

/** TypeScript and JavaScript. @param {string} source */
export function maskTypeScript(source) {
  let masked = ''
  let last = '' // the last word or sign of code
  /** @type {number[]} open braces at which a template goes on */
  const templates = []
  let braces = 0
  while (masked.length < source.length) {
    const at = masked.length
    const comment = matchAt(STICKY.comment, source, at)
    const string = matchAt(STICKY.string, source, at)
    const regex = BEFORE_REGEX.test(last) ? matchAt(STICKY.regex, source, at) : undefined
    const resumes = source[at] === '}' && templates.at(-1) === braces
    if (comment !== undefined) masked += blank(comment)
    else if (source[at] === '`' || resumes) {
      if (resumes) braces = (templates.pop() ?? 1) - 1
      const { text, opens } = readTemplate(source, at)
      masked += opens ? `${text[0]}${blank(text.slice(1, -2))}\${` : blankInside(text)
      if (opens) templates.push(++braces)
      last = opens ? '{' : '`'
    } else if (string !== undefined || regex !== undefined) {
      masked += blankInside(string ?? regex ?? '')
      last = '"'
    } else {
      const text = matchAt(STICKY.space, source, at) ?? matchAt(STICKY.word, source, at) ?? source.charAt(at)
      if (text === '{') braces++
      if (text === '}') braces--
      if (text.trim() !== '') last = text
      masked += text
    }
  }
  return masked
}

/**
 * A piece of a template: to its closing quote, or to the `${` where code begins.
 * @param {string} source
 * @param {number} start
 */
function readTemplate(source, start) {
  for (let index = start + 1; index < source.length; index++) {
    if (source[index] === '\\') index++
    else if (source[index] === '`') return { text: source.slice(start, index + 1), opens: false }
    else if (source.startsWith('${', index)) return { text: source.slice(start, index + 2), opens: true }
  }
  return { text: source.slice(start), opens: false }
}
