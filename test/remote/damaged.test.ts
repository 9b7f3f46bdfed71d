/** Layers that were fetched and are damaged on this machine: misses for the build that finds it, and fetched again for the next one. */
import { open, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pull } from '@varve/remote'
import { openCache, type VarveError } from 'varve'
import { afterEach, expect, it, vi } from 'vitest'
import { ENGINES } from '../engines.ts'
import { Machine, newStore } from './machines.ts'

const ENTRIES = Object.fromEntries(
  Array.from({ length: 200 }, (_, index) => [`key ${index}`, `value ${index} `.repeat(100)]),
)

afterEach(() => void vi.restoreAllMocks())

/** A machine that has fetched a layer of all entries. */
async function fetched(engine: 'native' | 'wasm' = 'native'): Promise<Machine> {
  const store = newStore()
  await (await new Machine(store).put(ENTRIES)).push()
  const machine = new Machine(store, engine)
  await pull(machine.remote())
  return machine
}

/** Changes a byte in each table of the layers of a machine. */
async function damage({ folder }: Machine): Promise<void> {
  const layers = join(folder, 'layers')
  const tables = (await readdir(layers, { recursive: true })).filter((name) => name.endsWith('.table'))
  expect(tables.length).toBeGreaterThan(0)
  for (const name of tables) {
    const bytes = await readFile(join(layers, name))
    bytes[100] = (bytes[100] ?? 0) ^ 1
    await writeFile(join(layers, name), bytes)
  }
}

interface Built {
  /** Entries that were found. */
  readonly found: number
  readonly warnings: readonly string[]
  /** Fetched for this build. */
  readonly bytes: number
}

async function build(machine: Machine): Promise<Built> {
  const { dir, engine } = machine
  const warnings: VarveError[] = []
  const onWarning = (warning: VarveError): void => void warnings.push(warning)
  const cache = await openCache({ name: 'tool', dir, engine, remote: machine.remote(), onWarning })
  const space = cache.namespace('n', { codec: 'text' })
  const found = Object.entries(ENTRIES).filter(([key, value]) => space.get(key) === value).length
  const bytes = cache.status().remote?.fetchedBytes ?? 0
  await cache.close()
  return { found, warnings: warnings.map(({ message }) => message), bytes }
}

const ALL = { found: 200, warnings: [], bytes: 0 }

it.each(ENGINES)('a layer that was damaged on this machine is fetched again, with %s', async (engine) => {
  const machine = await fetched(engine)
  await damage(machine)
  const broken = await build(machine)
  expect(broken.found).toBeLessThan(200)
  expect(broken.warnings).toEqual([expect.stringContaining('the next build fetches it again')])
  const next = await build(machine)
  expect(next).toEqual({ ...ALL, bytes: next.bytes })
  expect(next.bytes).toBeGreaterThan(0)
  expect(await build(machine)).toEqual(ALL)
})

it('a layer that is damaged again right after it was fetched again stays, so that no build fetches it in vain', async () => {
  const machine = await fetched()
  for (const isFetched of [true, false]) {
    await damage(machine)
    await build(machine)
    expect((await build(machine)).bytes > 0).toBe(isFetched)
  }
})

it('without a connection a damaged layer stays, since it still answers what is whole', async () => {
  const machine = await fetched()
  await build(machine) // stores the head
  await damage(machine)
  vi.stubEnv('VARVE_OFFLINE', '1')
  const counts = [await build(machine), await build(machine)]
  vi.unstubAllEnvs()
  expect(counts[1]).toEqual(counts[0])
})

it('a layer is whole where the system writes less than it was given', async () => {
  const probe = await open(import.meta.filename)
  const prototype: { write: typeof probe.write } = Object.getPrototypeOf(probe)
  await probe.close()
  const { write } = prototype
  vi.spyOn(prototype, 'write').mockImplementation(function (this: typeof probe, ...args: unknown[]) {
    const [bytes, at, length, position] = args
    return Reflect.apply(write, this, [bytes, at, Math.min(Number(length), 1000), position])
  })
  const machine = await fetched()
  vi.restoreAllMocks()
  expect(await build(machine)).toEqual(ALL)
})
