/**
 * A host whose tables do not each hold a descriptor: a cache with hundreds of namespaces has as many tables, and a
 * process may have 256 descriptors. Up to `OPEN_MAX` tables stay open, for all caches of the thread together, the last
 * ones used, and half of them where the process has no descriptor left. Another one is opened again by its name when it
 * is read. If it was removed meanwhile, reads of it fail, and its entries are misses until the cache is refreshed.
 */
import type { Host } from '../../generated/varve_wasm.js'
import { FULL } from './host.ts'

/** Descriptors of tables that a thread holds at most. */
const OPEN_MAX = 512

/** Numbers from here on are tables; those of the system are lower. */
const FIRST_NUMBER = 0x4000_0000

interface Table {
  readonly host: Host
  readonly name: string
  /** Undefined while it is not open. */
  file: number | undefined
}

const tables = new Map<number, Table>()
/** Numbers of the tables that are open, the least recently used first. */
const open = new Set<number>()
let lastNumber = FIRST_NUMBER
let openMax = OPEN_MAX

/** The same files; at most `OPEN_MAX` descriptors are tables. */
export function tableHost(host: Host): Host {
  const onTable = (file: number, call: (file: number) => number): number => {
    const table = tables.get(file)
    if (table === undefined) return call(file)
    const opened = openedAgain(file, table)
    return opened < 0 ? opened : call(opened)
  }
  return {
    ...host,
    open(name) {
      if (!name.endsWith('.table')) return withRoom(() => host.open(name))
      const number = ++lastNumber
      const table: Table = { host, name, file: undefined }
      const opened = openedAgain(number, table)
      if (opened < 0) return opened
      tables.set(number, table)
      return number
    },
    createNew: (name) => withRoom(() => host.createNew(name)),
    folder: (name) => tableHost(host.folder(name)),
    size: (file) => onTable(file, host.size),
    read: (file, offset, target) => onTable(file, (opened) => host.read(opened, offset, target)),
    sync: (file) => onTable(file, host.sync),
    close(file) {
      const table = tables.get(file)
      if (table === undefined) return host.close(file)
      shut(file)
      tables.delete(file)
    },
  }
}

/** The descriptor of a table, as the last one used. */
function openedAgain(number: number, table: Table): number {
  if (table.file === undefined) {
    if (open.size >= openMax) shutOldest()
    const file = withRoom(() => table.host.open(table.name))
    if (file < 0) return file
    table.file = file
  }
  open.delete(number)
  open.add(number)
  return table.file
}

/** Opens a file; if the process has no descriptor left, after closing half of the tables: others need some, too. */
function withRoom(attempt: () => number): number {
  let file = attempt()
  while (file === FULL && open.size > 0) {
    openMax = Math.max(1, open.size >> 1)
    while (open.size >= openMax && open.size > 0) shutOldest()
    file = attempt()
  }
  return file
}

/** Closes the table that was not used for longest. */
function shutOldest(): void {
  const [oldest] = open
  if (oldest !== undefined) shut(oldest)
}

function shut(number: number): void {
  const table = tables.get(number)
  open.delete(number)
  if (table?.file === undefined) return
  table.host.close(table.file)
  table.file = undefined
}
