/**
 * Sums over entries as a tree of bounded size, however many entries and names a cache has. All entries are added twice: first without their
 * modules, so that memory has parents only; then the modules of the parents that are listed.
 */
import type { TreeJson } from '../../cli-json.ts'
import { RESULTS_PREFIX } from '../../host/format.ts'
import { isWellFormed, type Key } from '../../values/bytes.ts'
import { escapeKey } from '../output/escape.ts'

/** Parts that are listed of a node of each depth. */
const PARTS_MAX: readonly number[] = [20, 60, 20]

/** Nodes in memory. Once there are more, each node adds all but its heaviest parts to its rest. Up to this number, all sums are exact. */
const NODES_MAX = 200_000

/** Characters of a name that are kept. */
const NAME_MAX = 300

/** What an entry adds. */
export type Weight = Pick<TreeJson, 'entries' | 'bytes' | 'workMs'>

/** A sum, and the sums that it consists of. */
interface Node {
  entries: number
  bytes: number
  workMs: number
  parts: Map<string, Node> | undefined
  rest: Node | undefined
}

/** The sums of one cache. */
export class Tree {
  readonly #nodesMax: number
  readonly #root: Node = makeNode()
  #nodes = 0

  constructor(nodesMax: number = NODES_MAX) {
    this.#nodesMax = nodesMax
  }

  add(group: string, parent: string, weight: Weight): void {
    count(this.#root, weight)
    const node = this.#part(this.#root, group)
    count(node, weight)
    count(this.#part(node, parent), weight)
    this.#limit()
  }

  /** Called between both passes: from now on, only the heaviest parents are listed. */
  choose(): void {
    this.#nodes = trim(this.#root, 0)
  }

  /** Whether the modules of a parent are listed. */
  lists(group: string, parent: string): boolean {
    return this.#root.parts?.get(cut(group))?.parts?.has(cut(parent)) === true
  }

  /** Adds an entry to a module whose parent is listed. */
  addModule(group: string, parent: string, module: string, weight: Weight): void {
    const node = this.#root.parts?.get(cut(group))?.parts?.get(cut(parent))
    if (node !== undefined) count(this.#part(node, module), weight)
    this.#limit()
  }

  toJson(): TreeJson {
    this.#nodes = trim(this.#root, 0)
    return toJson('', this.#root)
  }

  #limit(): void {
    if (this.#nodes > this.#nodesMax) this.#nodes = trim(this.#root, 0)
  }

  #part(node: Node, given: string): Node {
    const name = cut(given)
    node.parts ??= new Map()
    const known = node.parts.get(name)
    if (known !== undefined) return known
    const made = makeNode()
    node.parts.set(name, made)
    this.#nodes += 1
    return made
  }
}

function cut(name: string): string {
  return name.length > NAME_MAX ? name.slice(0, NAME_MAX) : name
}

function makeNode(): Node {
  return { entries: 0, bytes: 0, workMs: 0, parts: undefined, rest: undefined }
}

function count(node: Node, { entries, bytes, workMs }: Weight): void {
  node.entries += entries
  node.bytes += bytes
  node.workMs += workMs
}

/** Limits the parts below a node, and returns the number of nodes that are left. A part is as heavy as its share of the bytes or of the time. */
function trim(node: Node, depth: number): number {
  if (node.parts === undefined) return 1
  const partsMax = PARTS_MAX[depth] ?? 0
  const share = ({ bytes, workMs }: Node): number => bytes / (node.bytes || 1) + workMs / (node.workMs || 1)
  const heaviest = [...node.parts].sort(([, one], [, other]) => share(other) - share(one))
  node.parts = new Map(heaviest.slice(0, partsMax))
  for (const [, part] of heaviest.slice(partsMax)) count((node.rest ??= makeNode()), part)
  return [...node.parts.values()].reduce((sum, part) => sum + trim(part, depth + 1), 1)
}

function toJson(name: string | null, { entries, bytes, workMs, parts, rest }: Node): TreeJson {
  const sums = { name, entries, bytes, workMs: Math.round(workMs) }
  if (parts === undefined) return sums
  const listed = [...parts].map(([each, part]) => toJson(each, part)).sort((one, other) => other.bytes - one.bytes)
  return { ...sums, parts: rest === undefined ? listed : [...listed, toJson(null, rest)] }
}

const PACKAGE = /^(?:@[^/]+\/)?[^/]+/
const MODULES = 'node_modules/'

/** The directory of a key that names none. */
const TOP = '.'

/** Where an entry is in its group: package or directory, and module. */
export type Place = readonly [parent: string, module: string]

export function placesOf(namespace: string): (key: Key) => Place {
  const isResult = namespace.startsWith(RESULTS_PREFIX)
  return (key) => {
    if (typeof key !== 'string') return [TOP, escapeKey(key)]
    // The key of a result is the id, NUL and a digest; an id may itself begin with NUL.
    const id = isResult ? key.slice(0, Math.max(key.lastIndexOf('\0'), 0)) : key
    return [parentOf(folderOf(key)), id]
  }
}

/** The folder of a key as the engine's `scanFolders` has it. */
export function folderOf(key: Key): string {
  if (typeof key !== 'string') return ''
  const query = key.indexOf('?')
  const path = query < 0 ? key : key.slice(0, query)
  const end = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1
  return isWellFormed(key) ? path.slice(0, end) : ''
}

/** The installed package of a folder, or else its first two directories. */
export function parentOf(folder: string): string {
  const path = folder.includes('\\') ? folder.replaceAll('\\', '/') : folder
  const start = path.lastIndexOf(MODULES)
  if (start >= 0) return PACKAGE.exec(path.slice(start + MODULES.length))?.[0] ?? MODULES
  const first = path.indexOf('/') + 1
  if (first === 0) return TOP
  return path.slice(0, path.indexOf('/', first) + 1 || first)
}
