// @ts-check
// The declarations that a published package needs: those that its entry points export, and those that these name, directly or not. The
// compiler writes a file for each source, with everything that the sources share.
//
// 1. Each file is read as a list of parts: a declaration, or one name of an import or an export.
// 2. From the exports of the entry points, each part that a kept part names is kept.
// 3. Files are written with their kept parts. A file that was never read is removed.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const ENDING = '.d.ts'
/** Stands for everything that a file exports. */
const ALL = '*'

/** @typedef {typeof import('oxc-parser')} Parser */
/** @typedef {import('oxc-parser').Statement | import('oxc-parser').Directive} Node */
/** @typedef {Extract<Node, { specifiers: unknown }>['specifiers'][number]} Specifier of an import or an export */

/**
 * @typedef {object} Part
 * @property {string} text
 * @property {readonly string[]} names by which other parts name it; a part without a name is always kept
 * @property {boolean} isExported
 * @property {readonly string[]} uses names of its own file
 * @property {readonly { path: string, name: string }[]} imports names of other files
 * @property {boolean} isKept
 */

/** Its text is the head, the parts, and the tail. @typedef {{ head: string, parts: readonly Part[], tail: string }} Statement */

/**
 * Removes the other declarations of a package.
 * @param {string} folder of the package as it is published
 * @returns {Promise<string[]>} the removed files, relative to the folder
 */
export async function removeUnreachable(folder) {
  /** @type {{ exports: Record<string, string | { types: string }> }} */
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const parser = await import('oxc-parser') // setup, which imports this module, installs it
  /** @type {Map<string, Statement[]>} */
  const files = new Map()
  /** @type {Set<string>} */
  const wanted = new Set()
  for (const point of Object.values(exports)) if (typeof point === 'object') keep(join(folder, point.types), ALL)
  for (const [file, statements] of files) writeFileSync(file, textOf(statements))
  const removed = (await readdir(folder, { recursive: true })).filter(
    (file) => file.endsWith(ENDING) && !files.has(join(folder, file)),
  )
  for (const file of removed) rmSync(join(folder, file))
  return removed

  /** Keeps what has a name in a file. @param {string} file @param {string} name */
  function keep(file, name) {
    if (wanted.has(`${file} ${name}`)) return
    wanted.add(`${file} ${name}`)
    const statements = files.get(file) ?? statementsOf(readFileSync(file, 'utf8'), parser)
    files.set(file, statements)
    for (const part of statements.flatMap(({ parts }) => parts)) {
      const isStar = part.names.includes(ALL)
      if (!isStar && !part.names.includes(name) && part.names.length > 0 && !(name === ALL && part.isExported)) continue
      part.isKept = true
      for (const used of part.uses) keep(file, used)
      for (const { path, name: imported } of part.imports) {
        if (path.startsWith('.')) keep(declarationAt(file, path), isStar ? name : imported)
      }
    }
  }
}

/** The file of declarations that a file imports from. @param {string} file @param {string} path */
const declarationAt = (file, path) => join(dirname(file), path.replace(/(?:\.d)?\.[jt]s$/, ENDING))

/** The text of a file with the parts that are kept. @param {readonly Statement[]} statements */
function textOf(statements) {
  const texts = statements.map(({ head, parts, tail }) => {
    const kept = parts.filter(({ isKept }) => isKept)
    return kept.length > 0 || parts.length === 0 ? `${head}${kept.map(({ text }) => text).join(', ')}${tail}` : ''
  })
  const text = texts.join('').trim()
  return text === '' ? 'export {};\n' : `${text}\n`
}

/**
 * @param {string} text of a file
 * @param {Parser} parser
 * @returns {Statement[]}
 */
function statementsOf(text, { parseSync, Visitor }) {
  const { program, errors } = parseSync(`declarations${ENDING}`, text)
  if (errors[0] !== undefined) throw new Error(`declarations cannot be read: ${errors[0].message}`)
  let end = 0
  return program.body.map((node) => {
    const start = end
    const listed = 'specifiers' in node ? node.specifiers : []
    end = node.end
    const first = listed[0] ?? node
    const last = listed.at(-1) ?? node
    const path = 'source' in node && node.source !== null ? node.source.value : undefined
    const parts = listed.map((specifier) => ({ ...partOfList(specifier, path), text: textAt(specifier) }))
    return {
      head: text.slice(start, first.start),
      parts: parts.length > 0 ? parts : [declared(node, path)],
      tail: text.slice(last.end, node.end),
    }
  })

  /** @param {{ start: number, end: number }} node */
  function textAt(node) {
    return text.slice(node.start, node.end)
  }

  /** A declaration, or an import or export without a list. @param {Node} node @param {string | undefined} path @returns {Part} */
  function declared(node, path) {
    /** @type {string[]} */
    const uses = []
    const imports = path === undefined ? [] : [{ path, name: ALL }]
    const visitor = new Visitor({
      Identifier: ({ name }) => void uses.push(name),
      TSImportType: ({ source }) => void imports.push({ path: source.value, name: ALL }),
    })
    visitor.visit({ ...program, body: [node] })
    return {
      names: namesOf(node),
      isExported: node.type.startsWith('Export'),
      uses,
      imports,
      isKept: false,
      text: textAt(node),
    }
  }
}

/** @param {Specifier} specifier @param {string | undefined} path of the other file @returns {Omit<Part, 'text'>} */
function partOfList(specifier, path) {
  const isExported = specifier.type === 'ExportSpecifier'
  const name = nameOf(isExported ? specifier.exported : specifier.local)
  const other = otherName(specifier)
  const [uses, imports] = path === undefined ? [[other], []] : [[], [{ path, name: other }]]
  return { names: [name], isExported, uses, imports, isKept: false }
}

/** The name in the other file. @param {Specifier} specifier */
function otherName(specifier) {
  if (specifier.type === 'ImportSpecifier') return nameOf(specifier.imported)
  if (specifier.type === 'ExportSpecifier') return nameOf(specifier.local)
  return specifier.type === 'ImportDefaultSpecifier' ? 'default' : ALL
}

/** @param {{ name: string } | { value: string }} name */
const nameOf = (name) => ('name' in name ? name.name : name.value)

/** The names of a declaration. @param {Node} node @returns {string[]} */
function namesOf(node) {
  if (node.type === 'ExportDefaultDeclaration') return ['default']
  if (node.type === 'ExportAllDeclaration') return [node.exported === null ? ALL : nameOf(node.exported)]
  const declaration = node.type === 'ExportNamedDeclaration' && node.declaration !== null ? node.declaration : node
  const named = declaration.type === 'VariableDeclaration' ? declaration.declarations : [declaration]
  return named.flatMap((item) =>
    'id' in item && item.id?.type === 'Identifier' && item.id.name !== 'global' ? [item.id.name] : [],
  )
}
