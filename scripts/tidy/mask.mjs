// @ts-check
// Blanks out comments and the contents of strings in source code. Every other character keeps its position, so positions and
// lines in the mask are valid in the source.

/** @param {string} text */
const blank = (text) => text.replace(/[^\n]/g, ' ')

/** Blanks out a string, but keeps its quotes. @param {string} text */
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
 * Masks Rust. A lifetime ('a) stays unchanged, since no quote closes it.
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

/** The end of a block comment, which nest in Rust. @param {string} source @param {number} start */
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

/** A slash after one of these begins a regular expression; any other slash divides. */
const BEFORE_REGEX = /(?:^|[-([{,;=:!&|?+*%<>~^}]|\b(?:return|typeof|case|of|in|await|yield))$/

/** Masks TypeScript and JavaScript. @param {string} source */
export function maskTypeScript(source) {
  let masked = ''
  let last = '' // the last word or character of code
  /** @type {number[]} depths of the braces after which a template continues */
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
 * Reads part of a template, up to its closing quote or to the `${` that begins code.
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
