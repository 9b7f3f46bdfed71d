/** What the work of a scope wrote. What it reads of that afterwards is no input. */
import { lookAt } from '../inputs/stamp.ts'
import { type Disk, type Found, isOfFolder, type ReadKind } from '../inputs/input.ts'
import { freezeAround } from './observed.ts'
import type { Noted } from './sink.ts'

/** Paths that the work wrote or removed. */
export class OwnWrites {
  readonly #disk: Disk
  /** Whether each path was missing before. */
  readonly #written: Map<string, boolean> = new Map()
  /** Keys of reads that a write decides, such as of the names in a folder. They count as they were before. */
  readonly #decided: Set<string> = new Set()

  constructor(disk: Disk) {
    this.#disk = disk
  }

  /** A path is about to be written. */
  add(path: string, reads: ReadonlyMap<string, Noted>): void {
    for (const key of freezeAround(reads, this.#disk, path)) this.#decided.add(key)
    if (!this.#written.has(path)) this.#written.set(path, lookAt(this.#disk.fs, path) === 'missing')
  }

  /** Whether the work wrote or removed a path. */
  has(path: string): boolean {
    return this.#written.has(path)
  }

  /** Whether a read finds only what the work wrote. Others may add to a folder that it made. */
  hides(kind: ReadKind, path: string): boolean {
    const wasMissing = this.#written.get(path)
    return wasMissing === false || (wasMissing === true && !isOfFolder(kind))
  }

  /** Whether the work changed what a read finds. */
  decides(key: string, path: string): boolean {
    return this.#decided.has(key) || this.#written.has(path)
  }

  /** Whether the work made a folder, listed it and removed it. */
  hadTemporarily({ kind, path }: Found): boolean {
    return isOfFolder(kind) && this.#written.get(path) === true && lookAt(this.#disk.fs, path) === 'missing'
  }
}
