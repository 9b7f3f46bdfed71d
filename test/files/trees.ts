/** Trees of files for the tests of `cache.files`. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type Cache, type CacheOptions, openCache } from 'varve'
import type { EngineName } from '../engines.ts'
import { makeFolder } from '../folders.ts'

/** Opens a cache in `dir`, by default a new folder. */
export function open(
  engine: EngineName,
  dir: string = join(makeFolder(), 'cache'),
  options: Partial<CacheOptions> = {},
): Promise<Cache> {
  return openCache({ name: 'files', dir, engine, ...options })
}

/** A tree as data: text of a file, or `executable`, `link` or `folder`. */
export type Tree = Record<
  string,
  string | { readonly executable: string } | { readonly link: string } | { readonly folder: true }
>

/** Writes a tree below a new folder, and returns that. */
export function write(tree: Tree, root: string = makeFolder()): string {
  for (const [path, content] of Object.entries(tree)) {
    const place = join(root, path)
    mkdirSync(dirname(place), { recursive: true })
    if (typeof content === 'string') writeFileSync(place, content)
    else if ('link' in content) symlinkSync(content.link, place)
    else if ('folder' in content) mkdirSync(place, { recursive: true })
    else {
      writeFileSync(place, content.executable)
      chmodSync(place, 0o755)
    }
  }
  return root
}

/** Everything below `root` without following links; of folders only the empty ones. */
export function read(root: string): Tree {
  const tree: Tree = {}
  const visit = (folder: string): void => {
    const names = readdirSync(join(root, folder)).sort()
    if (names.length === 0 && folder !== '') tree[folder] = { folder: true }
    for (const name of names) {
      const path = folder === '' ? name : `${folder}/${name}`
      const stat = lstatSync(join(root, path))
      if (stat.isDirectory()) visit(path)
      else if (stat.isSymbolicLink()) tree[path] = { link: readlinkSync(join(root, path)) }
      else {
        const text = readFileSync(join(root, path), 'utf8')
        tree[path] = (stat.mode & 0o111) === 0 ? text : { executable: text }
      }
    }
  }
  visit('')
  return tree
}

/** A tree with everything that a manifest can hold. */
export const EVERYTHING: Tree = {
  'a.js': 'let a',
  'bin/run': { executable: '#!/bin/sh' },
  'deep/er/still/b.js': 'let b',
  'empty.txt': '',
  'hollow/inside': { folder: true },
  'ünïcode/日本.txt': 'text',
}

/** The only file that is stored in the cache at `dir`, or the first of several. */
export function storedFiles(dir: string): string[] {
  const found = readdirSync(join(dir, 'v1', 'files'), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return found.map((entry) => join(entry.parentPath, entry.name))
}
