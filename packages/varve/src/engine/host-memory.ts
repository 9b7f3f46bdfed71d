/**
 * Files in memory for the WebAssembly engine. They live as long as this thread: opening the same path again finds them.
 * Removed files stay readable through open descriptors.
 */
import type { Host } from '../../generated/varve_wasm.js'
import { nowUs, EXISTS, INVALID, NOT_FOUND } from './host.ts'

interface MemoryFile {
  readonly number: number
  bytes: Uint8Array
  length: number
}

type Folder = Map<string, MemoryFile>

const folders = new Map<string, Folder>()
const openFiles = new Map<number, MemoryFile>()
let nextFile = 1

/** Files of `path`, a name that need not exist anywhere. */
export function memoryHost(path: string): Host {
  const folder: Folder = folders.get(path) ?? new Map()
  folders.set(path, folder)
  return {
    list: () => [...folder.keys()].join('\0'),
    folders: () => foldersIn(path).join('\0'),
    open: (name) => opened(folder.get(name)),
    createNew(name) {
      if (folder.has(name)) return EXISTS
      const file = { number: nextFile++, bytes: new Uint8Array(1024), length: 0 }
      folder.set(name, file)
      return opened(file)
    },
    stat(name, target) {
      const file = folder.get(name)
      if (file === undefined) return 0
      target[0] = file.number
      target[1] = file.length
      return 1
    },
    link: (source, target) => (folder.has(target) ? EXISTS : named(folder, source, target)),
    rename(source, target) {
      const renamed = named(folder, source, target)
      if (renamed === 0 && source !== target) folder.delete(source)
      return renamed
    },
    remove: (name) => (folder.delete(name) ? 0 : NOT_FOUND),
    folder: (name) => memoryHost(`${path}/${name}`),
    syncFolder: () => 0,
    size: (file) => openFiles.get(file)?.length ?? INVALID,
    read(file, offset, target) {
      const found = openFiles.get(file)
      if (found === undefined) return INVALID
      const bytes = found.bytes.subarray(Math.min(offset, found.length), Math.min(offset + target.length, found.length))
      target.set(bytes)
      return bytes.length
    },
    append(file, bytes) {
      const found = openFiles.get(file)
      if (found === undefined) return INVALID
      grow(found, found.length + bytes.length)
      found.bytes.set(bytes, found.length)
      found.length += bytes.length
      return 0
    },
    sync: () => 0,
    close: (file) => void openFiles.delete(file),
    now: nowUs,
  }
}

/** Names of the folders in a folder that have files in or below them. */
function foldersIn(path: string): readonly string[] {
  const used = [...folders].filter(([at, { size }]) => size > 0 && at.startsWith(`${path}/`))
  return [...new Set(used.map(([at]) => at.slice(path.length + 1).replace(/\/.*/, '')))]
}

function opened(file: MemoryFile | undefined): number {
  if (file === undefined) return NOT_FOUND
  openFiles.set(nextFile, file)
  return nextFile++
}

function named(folder: Folder, source: string, target: string): number {
  const file = folder.get(source)
  if (file === undefined) return NOT_FOUND
  folder.set(target, file)
  return 0
}

function grow(file: MemoryFile, length: number): void {
  if (length <= file.bytes.length) return
  const bytes = new Uint8Array(Math.max(length, file.bytes.length * 2))
  bytes.set(file.bytes.subarray(0, file.length))
  file.bytes = bytes
}
