// @ts-check
// Checks the rooms of crates and of the library, and their floors: a room uses only rooms on lower floors, so there is no cycle. Tests may
// use any room.
import { posix } from 'node:path'
import { readImports } from './imports.mjs'
import { CORE_FLOORS, CORE_FLOORS_MAX, CORE_ROOMS_MAX, FLOORS, LIBRARY_FLOORS } from './rules.mjs'
import { lineOf } from './source.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */

/** @typedef {{ folder: string, floors: readonly (readonly string[])[], reexports: Map<string, string> }} House a crate with rooms */

/** @param {readonly Source[]} sources @returns {Finding[]} */
export function checkFloors(sources) {
  const found = [...FLOORS].flatMap(([folder, floors]) => {
    const files = sources.filter(({ path, language }) => language === 'rust' && path.startsWith(folder))
    const root = files.find(({ path }) => path === `${folder}lib.rs`)
    const house = { folder, floors, reexports: readReexports(root?.code ?? '') }
    return files.filter((source) => source !== root).flatMap((source) => checkModule(source, house))
  })
  return [...checkHouse(), ...found, ...sources.flatMap(checkLibrary)]
}

const LIBRARY = 'packages/varve/src/'

/** The room of a file of the library: the file itself if it has a floor, otherwise its folder. @param {string} path */
function libraryRoom(path) {
  const name = path.slice(LIBRARY.length).replace(/\.ts$/, '')
  return LIBRARY_FLOORS.flat().includes(name) ? name : (name.split('/')[0] ?? name)
}

/** @param {Source} source @returns {Finding[]} */
function checkLibrary(source) {
  const { path } = source
  if (!path.startsWith(LIBRARY) || source.language !== 'typescript') return []
  const floorOf = (/** @type {string} */ room) => LIBRARY_FLOORS.findIndex((rooms) => rooms.includes(room))
  const room = libraryRoom(path)
  if (floorOf(room) < 0)
    return [{ path, line: 1, message: `room ${room} is on no floor: see LIBRARY_FLOORS in scripts/tidy/rules.mjs` }]
  return readImports(source).flatMap(({ from, line }) => {
    const target = posix.join(posix.dirname(path), from)
    if (!from.startsWith('.') || !target.startsWith(LIBRARY)) return []
    const used = libraryRoom(target)
    const isUp = used !== room && floorOf(used) >= 0 && floorOf(used) <= floorOf(room)
    return isUp ? [{ path, line, message: `${room} may not use ${used}: it is not on a lower floor` }] : []
  })
}

/** Checks the number of floors and rooms. @returns {Finding[]} */
function checkHouse() {
  const floors = CORE_FLOORS.length
  const rooms = CORE_FLOORS.flat().length
  if (floors <= CORE_FLOORS_MAX && rooms <= CORE_ROOMS_MAX) return []
  const message = `core has ${rooms} rooms on ${floors} floors; at most ${CORE_ROOMS_MAX} and ${CORE_FLOORS_MAX}`
  return [{ path: 'scripts/tidy/rules.mjs', line: 1, message }]
}

/** @param {Source} source @param {House} house @returns {Finding[]} */
function checkModule({ path, code }, { folder, floors, reexports }) {
  const room = /^\w+/.exec(path.slice(folder.length))?.[0] ?? ''
  /** The floor of a room, counted from the top. @param {string} one */
  const floorOf = (one) => floors.findIndex((rooms) => rooms.includes(one))
  const floor = floorOf(room)
  if (floor < 0)
    return [{ path, line: 1, message: `room ${room} is on no floor: see FLOORS in scripts/tidy/rules.mjs` }]
  if (/(?:^|\/)tests(?:\/|\.rs$)/.test(path)) return []
  const isTopLevel = !path.slice(folder.length).includes('/') // in these files, super is the root
  const root = isTopLevel ? /\b(?:crate|super)::(?:(\w+)|\{)/g : /\bcrate::(?:(\w+)|\{)/g
  return readUses(withoutTests(code), root).flatMap(({ name, index }) => {
    const used = reexports.get(name) ?? name
    const isUp = used !== room && floorOf(used) >= 0 && floorOf(used) <= floor
    const message = `${room} may not use ${used}: it is not on a lower floor`
    return isUp ? [{ path, line: lineOf(code, index), message }] : []
  })
}

/** Blanks out the tests at the end of a file, from `#[cfg(test)]` on. @param {string} code */
function withoutTests(code) {
  const start = code.search(/^#\[cfg\(test\)\]\s*mod\s+\w+\s*\{/m)
  return start < 0 ? code : code.slice(0, start)
}

/**
 * The names directly below `crate::` in paths and in `use crate::{..}` trees.
 * @param {string} code
 * @param {RegExp} pattern
 * @returns {{ name: string, index: number }[]}
 */
function readUses(code, pattern) {
  return [...code.matchAll(pattern)].flatMap((match) => {
    if (match[1] !== undefined) return [{ name: match[1], index: match.index }]
    return namesOfTree(code, match.index + match[0].length).map((name) => ({ name, index: match.index }))
  })
}

/** The first name of each branch of a use tree. @param {string} code @param {number} start after its brace */
function namesOfTree(code, start) {
  const names = []
  let depth = 1
  let isFirst = true
  for (const match of code.slice(start).matchAll(/[{},]|\w+/g)) {
    if (match[0] === '{') depth++
    else if (match[0] === '}' && --depth === 0) break
    else if (match[0] === ',') isFirst ||= depth === 1
    else if (isFirst && depth === 1 && match[0] !== '}') {
      names.push(match[0])
      isFirst = false
    }
  }
  return names
}

/**
 * `pub use error::{Error, Result}`: the module of each name in the crate's root.
 * @param {string} code
 * @returns {Map<string, string>}
 */
function readReexports(code) {
  const reexports = new Map()
  for (const [, module, , tree, single] of code.matchAll(/\buse\s+(\w+)::((\{[^;]*\})|([\w:]+));/g)) {
    for (const name of (tree ?? single ?? '').matchAll(/\w+/g)) reexports.set(name[0], module)
  }
  return reexports
}
