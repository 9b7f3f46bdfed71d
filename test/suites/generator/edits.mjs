// @ts-check
// Random edits of a generated project. Most are about what the plugin reads.
import { pick } from '../../safety/random.mjs'
import { chance, wordsOf } from './choice.mjs'
import { sourceOf } from './render.mjs'
import { ADDRESS, FILES, LINKS, PACKAGES, VARIABLES } from './subjects.mjs'

/** @typedef {import('../staleness/scenario.mjs').Change} Change */
/** @typedef {import('../../safety/random.mjs').Random} Random */
/** @typedef {import('./program.mjs').Program} Program */

/** The state of a project while its edits are made up. */
class Draft {
  /** Texts of files, those of the past too. @type {Map<string, string[]>} */
  texts = new Map(Object.keys(FILES).map((path) => [path, []]))
  present = new Set(Object.keys(FILES))
  /** Paths of files that are directories now. @type {Set<string>} */
  folders = new Set()
  edition = 'edition 0'
  option = 'option 0'

  /** @param {string} path @param {string} text @returns {Change[]} */
  write(path, text) {
    this.texts.set(path, [...(this.texts.get(path) ?? []), text])
    this.present.add(path)
    const wasFolder = this.folders.delete(path)
    return wasFolder
      ? [
          ['remove', path],
          ['write', path, text],
        ]
      : [['write', path, text]]
  }

  /** @param {string} path @returns {Change[]} */
  remove(path) {
    this.present.delete(path)
    return [['remove', path]]
  }

  /** @param {string} path @returns {Change[]} */
  makeFolder(path) {
    this.folders.add(path)
    return [...this.remove(path), ['write', `${path}/inner.txt`, 'inner']]
  }

  /** @param {string} path @param {string} target @returns {Change[]} */
  rename(path, target) {
    const before = this.folders.delete(target) || this.present.has(target) ? this.remove(target) : []
    this.present.delete(path)
    this.present.add(target)
    return [...before, ['rename', path, target]]
  }
}

/**
 * @param {Random} random
 * @param {Program} program
 * @param {number} count
 * @returns {Change[][]}
 */
export function randomEdits(random, program, count) {
  const draft = new Draft()
  const subjects = subjectsOf(program)
  return Array.from({ length: count }, () => {
    const size = chance(random, 20) ? 2 : 1
    return Array.from({ length: size }, () => randomEdit(random, draft, program, subjects)).flat()
  })
}

/** @param {Program} program */
function subjectsOf({ config, load, start, calls }) {
  return [...config, ...load, ...start, ...Object.values(calls).flat()].map(({ subject }) => subject)
}

/**
 * @param {Random} random
 * @param {Draft} draft
 * @param {Program} program
 * @param {readonly string[]} subjects
 * @returns {Change[]}
 */
function randomEdit(random, draft, program, subjects) {
  if (subjects.length > 0 && chance(random, 70)) return editOf(random, draft, program, pick(random, subjects))
  const kind = random(8)
  if (kind === 0) return []
  if (kind === 1) return [['move']]
  if (kind === 2) return editCode(draft, program, `edition ${random(1000)}`)
  if (kind === 3) return editOf(random, draft, program, pick(random, VARIABLES))
  if (kind === 4) return [['env', pick(random, ['COLORTERM', 'TERM_PROGRAM', 'UNRELATED']), String(random(9))]]
  if (kind === 5) return editOf(random, draft, program, `src/${pick(random, program.modules)}.js`)
  if (kind === 6) return editOption(draft, program, `option ${random(1000)}`)
  return editOf(random, draft, program, pick(random, [...draft.present]))
}

/** @param {Draft} draft @param {Program} program @param {string} edition @returns {Change[]} */
function editCode(draft, { format }, edition) {
  const before = draft.edition
  draft.edition = edition
  return [['replace', `plugin.${format}`, `'${before}'`, `'${edition}'`]]
}

/** @param {Draft} draft @param {Program} program @param {string} option @returns {Change[]} */
function editOption(draft, { format }, option) {
  const before = draft.option
  draft.option = option
  return [['replace', `build.config.${format}`, `'${before}'`, `'${option}'`]]
}

/**
 * @param {Random} random
 * @param {Draft} draft
 * @param {Program} program
 * @param {string} subject
 * @returns {Change[]}
 */
function editOf(random, draft, program, subject) {
  if (subject === ADDRESS) return [['serve', wordsOf(random)]]
  if (/^GE._/.test(subject)) {
    const name = pick(random, VARIABLES.filter((one) => one.startsWith(subject)).concat(VARIABLES.slice(-1)))
    return [chance(random, 30) ? ['env', name] : ['env', name, chance(random, 15) ? '' : wordsOf(random)]]
  }
  const link = subject === 'gen-three' ? 'node_modules/gen-three' : subject
  const targets = LINKS[link]
  if (targets !== undefined) return [['link', link, pick(random, targets)]]
  if (PACKAGES.includes(subject)) return [['install', subject, `1.${random(100)}.${random(100)}`]]
  if (subject.startsWith('src/')) return editSource(random, program, subject)
  const path = subject.startsWith('data/linked/') ? subject.replace('data/linked', 'pages') : subject
  if (/\.\w+$/.test(path)) return editFile(random, draft, path)
  return editFolder(random, draft, path === 'data/linked' ? 'pages' : path)
}

/** @param {Random} random @param {Program} program @param {string} subject @returns {Change[]} */
function editSource(random, { modules }, subject) {
  const name = subject.slice('src/'.length, -'.js'.length)
  if (!modules.includes(name)) return []
  return [['write', subject, sourceOf(name, wordsOf(random).replace(/^bad|^warn/, 'text'))]]
}

/** @param {Random} random @param {Draft} draft @param {string} path @returns {Change[]} */
function editFile(random, draft, path) {
  const text = textOf(random, path)
  if (!draft.present.has(path)) return draft.write(path, text)
  const kind = random(10)
  const old = draft.texts.get(path) ?? []
  if (kind < 2 && old.length > 1) return draft.write(path, pick(random, old))
  if (kind === 2) return [['touch', path]]
  if (kind === 3) return draft.remove(path)
  if (kind === 4) return draft.makeFolder(path)
  if (kind === 5) return draft.rename(path, `${path.replace(/\.\w+$/, '')}-${random(10)}.txt`)
  return draft.write(path, text)
}

/** @param {Random} random @param {Draft} draft @param {string} folder @returns {Change[]} */
function editFolder(random, draft, folder) {
  const inside = [...draft.present].filter((path) => path.startsWith(`${folder}/`))
  const below = chance(random, 25) ? 'below/' : ''
  if (folder === 'src' || inside.length === 0 || chance(random, 50))
    return draft.write(`${folder}/${below}n${random(50)}.txt`, wordsOf(random))
  return editFile(random, draft, pick(random, inside))
}

/** The text of a file with another word. @param {Random} random @param {string} path */
export function textOf(random, path) {
  if (path === 'data/pointer.txt') return pick(random, ['data/a.txt', 'data/b.txt', 'data/none.txt', 'pages/one.txt'])
  /** @type {Readonly<Record<string, string>>} */
  const texts = FILES
  return (texts[path] ?? 'WORD').replaceAll('WORD', () => wordsOf(random))
}
