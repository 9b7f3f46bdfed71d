/**
 * Files in slots, after a crash at any moment: every write of a history is the last one, whole or cut at any 16 bytes. Names change at once:
 * a file has the name that it had before a step or the one that it has after it, and no other file is touched.
 */
import { isDeepStrictEqual } from 'node:util'
import { afterEach, expect, it, vi } from 'vitest'
import type * as slotsModule from '../../packages/varve/src/engine/opfs/slots.ts'

const { Slots }: typeof slotsModule = await import(
  new URL('../../packages/varve/src/engine/opfs/slots.ts', import.meta.url).href
)

type Files = Map<string, Uint8Array>

/** One change of a file: bytes at an offset, or another size. */
type Change =
  | { readonly name: string; readonly at: number; readonly bytes: Uint8Array }
  | { readonly name: string; readonly size: number }

function resized(bytes: Uint8Array, size: number): Uint8Array {
  const copy = new Uint8Array(size)
  copy.set(bytes.subarray(0, size))
  return copy
}

function apply(files: Files, change: Change): void {
  const before = files.get(change.name) ?? new Uint8Array(0)
  if ('size' in change) return void files.set(change.name, resized(before, change.size))
  const after = resized(before, Math.max(before.length, change.at + change.bytes.length))
  after.set(change.bytes, change.at)
  files.set(change.name, after)
}

let reopened = 0

/** The private files of an origin, in memory; `changes` receives what happens to them. */
function stub(files: Files, changes: Change[]): void {
  const change = (one: Change): void => {
    apply(files, one)
    changes.push(one)
  }
  const bytesOf = (name: string): Uint8Array => files.get(name) ?? new Uint8Array(0)
  const access = (name: string): object => ({
    read(target: Uint8Array, { at }: { at: number }) {
      const found = bytesOf(name).subarray(at, at + target.length)
      target.set(found)
      return found.length
    },
    write(bytes: Uint8Array, { at }: { at: number }) {
      change({ name, at, bytes: bytes.slice() })
      return bytes.length
    },
    truncate: (size: number) => change({ name, size }),
    getSize: () => bytesOf(name).length,
    flush: () => undefined,
    close: () => undefined,
  })
  const directory = {
    getDirectoryHandle: async () => directory,
    async getFileHandle(name: string) {
      if (!files.has(name)) files.set(name, new Uint8Array(0))
      return { createSyncAccessHandle: async () => access(name) }
    },
    async *keys() {
      yield* reopened % 2 === 0 ? files.keys() : [...files.keys()].toReversed() // a directory has no order
    },
  }
  vi.stubGlobal('navigator', { storage: { getDirectory: async () => directory } })
}

/** The names of all files and their contents, as the next worker finds them. */
async function contentsIn(files: Files): Promise<Record<string, string>> {
  stub(files, [])
  const slots = await Slots.open(`/reopened ${reopened++}`)
  const host = slots.host('v1')
  const names = String(host.list())
    .split('\0')
    .filter((name) => name !== '')
  const entries = names.map((name) => {
    const file = host.open(name)
    const bytes = new Uint8Array(host.size(file))
    host.read(file, 0, bytes)
    return [name, new TextDecoder().decode(bytes)]
  })
  slots.close()
  return Object.fromEntries(entries)
}

afterEach(() => vi.unstubAllGlobals())

it('a file has the name before a step or after it, whatever write of the step was cut', async () => {
  const [files, changes]: [Files, Change[]] = [new Map(), []]
  stub(files, changes)
  const slots = await Slots.open('/cache')
  const host = slots.host('v1')
  const write = (name: string, text: string): void => {
    const file = host.createNew(name)
    host.append(file, new TextEncoder().encode(text))
    host.close(file)
  }
  const steps: readonly (() => unknown)[] = [
    () => write('manifest-1', 'one'),
    () => write('manifest.1.tmp', 'two'),
    () => host.rename('manifest.1.tmp', 'manifest-2'),
    () => write('manifest.2.tmp', 'three'),
    () => host.rename('manifest.2.tmp', 'manifest-1'),
    () => host.remove('manifest-2'),
    () => slots.reserve(),
    () => write('manifest-3', 'four'),
  ]
  let states = 0
  for (const step of steps) {
    const [start, before] = [
      new Map([...files].map(([name, bytes]) => [name, bytes.slice()])),
      await contentsIn(new Map(files)),
    ]
    stub(files, changes)
    changes.length = 0
    await step()
    const made = [...changes]
    const after = await contentsIn(new Map([...files].map(([name, bytes]) => [name, bytes.slice()])))
    for (const [index, change] of made.entries()) {
      const cuts =
        'bytes' in change ? Array.from({ length: Math.ceil(change.bytes.length / 16) + 1 }, (_, cut) => cut * 16) : [0]
      for (const cut of cuts) {
        const crashed: Files = new Map([...start].map(([name, bytes]) => [name, bytes.slice()]))
        for (const one of made.slice(0, index)) apply(crashed, one)
        if ('bytes' in change) apply(crashed, { ...change, bytes: change.bytes.subarray(0, cut) })
        const found = await contentsIn(crashed)
        expect(await contentsIn(crashed)).toEqual(found)
        // A new file appears with a beginning of its content, as on any file system.
        const fresh = Object.keys(after).filter((name) => !(name in before))
        const begun = fresh
          .map((name) => [name, found[name]] as const)
          .filter(([name, text]) => text !== undefined && after[name]?.startsWith(text))
        const allowed = [before, after, ...begun.map(([name, text]) => ({ ...before, [name]: text }))]
        const where = `after ${cut} bytes of write ${index}`
        expect(
          allowed.some((state) => isDeepStrictEqual(found, state)),
          `${JSON.stringify(found)} ${where}`,
        ).toBe(true)
        states++
      }
    }
  }
  expect(states).toBeGreaterThan(200)
  slots.close()
})

/** The slot that a rename replaced had its name still, and the file came back, empty, once the other slot had lost the name. */
it('a file that is removed after a crash in its renaming does not come back', async () => {
  const [files, changes]: [Files, Change[]] = [new Map(), []]
  stub(files, changes)
  const slots = await Slots.open('/cache')
  const host = slots.host('v1')
  for (const name of ['manifest-1', 'manifest.1.tmp']) host.close(host.createNew(name))
  const start = new Map([...files].map(([name, bytes]) => [name, bytes.slice()]))
  changes.length = 0
  host.rename('manifest.1.tmp', 'manifest-1')
  const [renamed] = changes
  if (renamed !== undefined) apply(start, renamed) // the crash leaves two slots with the name
  stub(start, [])
  const next = await Slots.open('/next')
  expect(next.host('v1').remove('manifest-1')).toBe(0)
  next.close()
  expect(await contentsIn(start)).toEqual({})
  slots.close()
})
