/** Temporary folders of a test file, removed at its end. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const made: string[] = []

/** A new empty folder. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'varve-test-'))
  made.push(folder)
  return folder
}

/** Every file below `folder` with its bytes as base64, to compare two moments. */
export function snapshot(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((file) => join(file.parentPath, file.name)).sort()
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path).toString('base64')]))
}

afterAll(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
})
