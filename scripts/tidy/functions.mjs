// @ts-check
// Finds where functions begin and end by the brackets of masked source. This needs no parser: the code is formatted, so counting
// brackets is exact enough.

/** @typedef {{ name: string, start: number, end: number }} Span lines from 0, both inclusive */

/** @param {string} code @param {number} index */
const lineAt = (code, index) => code.slice(0, index).split('\n').length - 1

/** @type {Record<string, string>} */
const CLOSING = { '(': ')', '[': ']', '{': '}' }

/**
 * The index of the bracket that closes the one at `open`, or the end of the code.
 * @param {string} code
 * @param {number} open
 */
function closingOf(code, open) {
  const opening = code.charAt(open)
  const closing = CLOSING[opening]
  let depth = 0
  for (let index = open; index < code.length; index++) {
    if (code[index] === opening) depth++
    else if (code[index] === closing && --depth === 0) return index
  }
  return code.length - 1
}

/** @param {string} code masked Rust @returns {Span[]} */
export function rustFunctions(code) {
  const spans = []
  for (const match of code.matchAll(/\bfn\s+(\w+)/g)) {
    const open = rustBody(code, match.index)
    if (open === undefined) continue
    spans.push({ name: match[1] ?? '', start: lineAt(code, match.index), end: lineAt(code, closingOf(code, open)) })
  }
  return spans
}

/** The brace of a body, or undefined for a declaration. @param {string} code @param {number} start */
function rustBody(code, start) {
  for (let index = start; index < code.length; index++) {
    const sign = code.charAt(index)
    if (sign === '(' || sign === '[') index = closingOf(code, index)
    else if (sign === '{') return index
    else if (sign === ';') return undefined
  }
  return undefined
}

const NO_FUNCTION = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'await'])
const TEST_CALL = /^\s*(?:describe|it|test|suite|bench|beforeAll|beforeEach|afterAll|afterEach)\b/

/**
 * Arrow functions with a body, functions and methods. `isTest`: the callback of describe, it and similar calls.
 * @param {string} code masked TypeScript or JavaScript
 * @returns {(Span & { isTest: boolean })[]}
 */
export function typescriptFunctions(code) {
  const lines = code.split('\n')
  const spans = []
  for (const match of code.matchAll(/=>\s*\{|([\w$#]*)(?:<[^<>()]*>)?\s*\(/g)) {
    const isArrow = match[0].startsWith('=>')
    const bracket = match.index + match[0].length - 1
    const open = isArrow ? bracket : functionBody(code, match[1] ?? '', bracket)
    if (open === undefined) continue
    const start = lineAt(code, isArrow ? startOfArrow(code, match.index) : match.index)
    const name = isArrow ? 'arrow function' : match[1] || 'function'
    const isTest = isArrow && TEST_CALL.test(lines[startOfCall(lines, start)] ?? '')
    spans.push({ name, start, end: lineAt(code, closingOf(code, open)), isTest })
  }
  return spans
}

/** The line of `it(` if its arguments begin on another line. @param {string[]} lines @param {number} line */
function startOfCall(lines, line) {
  let index = line
  while (index > 0 && index > line - 4 && !TEST_CALL.test(lines[index] ?? '')) index--
  const isOpen = (lines[index] ?? '').trimEnd().endsWith('(') || index === line
  return isOpen ? index : line
}

/** The start of the parameters of an arrow function. @param {string} code @param {number} arrow */
function startOfArrow(code, arrow) {
  const before = code.slice(0, arrow).trimEnd()
  if (!before.endsWith(')')) return arrow
  let depth = 0
  for (let index = before.length - 1; index >= 0; index--) {
    if (before[index] === ')') depth++
    else if (before[index] === '(' && --depth === 0) return index
  }
  return arrow
}

/**
 * The brace of the body after `name(...)` and a return type, or undefined if this is a call.
 * @param {string} code
 * @param {string} name
 * @param {number} parenthesis
 */
function functionBody(code, name, parenthesis) {
  if (NO_FUNCTION.has(name)) return undefined
  const rest = closingOf(code, parenthesis) + 1
  const next = /\s*(\{|:)/y
  next.lastIndex = rest
  const sign = next.exec(code)?.[1]
  if (sign === undefined || code.slice(rest, next.lastIndex).includes('\n')) return undefined
  return sign === '{' ? next.lastIndex - 1 : bodyAfterType(code, next.lastIndex)
}

/** A brace in the place of a type is an object type; a brace after a type is the body. */
const TYPE_EXPECTED = /(?:[:|&<(,?]|=>|\b(?:is|keyof|readonly|extends))$/

/** @param {string} code @param {number} start */
function bodyAfterType(code, start) {
  for (let index = start; index < code.length; index++) {
    const sign = code.charAt(index)
    const expectsType = TYPE_EXPECTED.test(code.slice(start - 1, index).trimEnd())
    if (sign === '{' && !expectsType) return index
    if (sign === '{' || sign === '(' || sign === '[') index = closingOf(code, index)
    else if (';)]}'.includes(sign) || (sign === '\n' && !expectsType)) return undefined
  }
  return undefined
}
