/**
 * What `varve` may write, and how it ends. Text from a cache is made safe to print: a key may contain terminal escapes, line breaks or bytes
 * that are not text.
 *
 *   \x1b       one byte: a control character of ASCII, or a byte of a key that is not UTF-8
 *   \u{202e}   another character that a terminal interprets or does not show: C1 controls, marks of text direction,
 *              separators, lone surrogates
 *   \\         a backslash
 */
import type { Key } from '../../values/bytes.ts'

const UNSAFE = /[\p{Cc}\p{Cf}\p{Surrogate}\p{Zl}\p{Zp}]/u
const ESCAPED = /[\p{Cc}\p{Cf}\p{Surrogate}\p{Zl}\p{Zp}\\]/gu
const ESCAPE = /\\(?:x([0-9a-f]{2})|u\{([0-9a-f]{1,5})\}|(\\)|)/gi

/** `text` on one line, without characters that a terminal interprets. Most texts, such as paths, stay as they are. */
export function escapeText(text: string): string {
  return UNSAFE.test(text) ? escaped(text) : text
}

/** Whether line ends and tabs are the only characters of a text that a terminal interprets. */
export function isPlain(text: string): boolean {
  return !UNSAFE.test(text.replace(/\r?\n|\t/g, ''))
}

function escaped(text: string): string {
  return text.replace(ESCAPED, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (character === '\\') return '\\\\'
    return code <= 0x7f ? escapeByte(code) : `\\u{${code.toString(16)}}`
  })
}

/** A key for people, to be given back to `unescapeKey`. */
export function escapeKey(key: Key): string {
  if (typeof key === 'string') return escaped(key)
  const isPrintable = (byte: number): boolean => byte >= 0x20 && byte < 0x7f
  return Array.from(key, (byte) => (isPrintable(byte) ? escaped(String.fromCharCode(byte)) : escapeByte(byte))).join('')
}

/** The key that `escapeKey` wrote. Throws a SyntaxError at a backslash that begins no escape. */
export function unescapeKey(given: string): Key {
  let isText = true
  const text = given.replace(
    ESCAPE,
    (escape, byte: string | undefined, code: string | undefined, backslash: string | undefined) => {
      if (backslash !== undefined) return backslash
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16))
      if (byte === undefined)
        throw new SyntaxError(`'${escape}' begins no escape in '${given}'; write \\\\ or \\x1b or \\u{202e}`)
      isText &&= Number.parseInt(byte, 16) <= 0x7f
      return String.fromCharCode(Number.parseInt(byte, 16))
    },
  )
  return isText ? text : new Uint8Array(Buffer.from(text, 'latin1'))
}

function escapeByte(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`
}

// Exit codes of `varve`, and standard output that cannot be written to: its reader is gone, or its disk is full.

/** Done; no problem was found. */
export const OK = 0
/** The answer is no: damage found, or no such key. */
export const NEGATIVE = 1
/** The command line is wrong. */
export const USAGE = 2
/** There is no cache in the directory. */
export const NO_CACHE = 3
/** The command failed. */
export const FAILED = 4

/** The end of each `--help`. */
export const EXIT_HELP = `
Exit codes:
  0  done, no problem found
  1  damage found (repair --check, doctor, remote doctor, remote verify), damage left (repair), or no such key or id (get, why, files restore)
  2  the command line is wrong
  3  there is no cache in that directory
  4  failed, for example: no access, no engine, disk full, remote not available`

/** Call this before anything is written. Without output a command ends; without messages it goes on, and its exit code has the outcome. */
export function watchStreams(): void {
  process.stdout.on('error', (error) => {
    if (isClosedPipe(error)) process.exit(OK)
    process.stderr.write(`varve: cannot write to standard output: ${escapeText(error.message)}\n`)
    process.exit(FAILED)
  })
  process.stderr.on('error', () => {})
}

/** Whether the reader of standard output has closed it, as `head` does once it has enough. */
export function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}
