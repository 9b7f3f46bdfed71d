/** A cache and a project folder for a test of tasks, and work that counts itself. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  type Cache,
  type CacheOptions,
  openCache,
  type Task,
  type TaskContext,
  type TaskOptions,
  type TaskRequest,
} from 'varve'
import { describe } from 'vitest'
import { makeFolder } from '../folders.ts'

/** Longer than files stay "young", so that their times alone show whether they changed. */
const SETTLE_MS = 50

/** What a test of tasks gets. */
export interface Subject {
  open(dir: string, options?: Partial<CacheOptions>): Promise<Cache>
  /** A project of its own with a cache in it. */
  project(): Project
}

/** A folder with files. */
export interface Project {
  readonly root: string
  readonly dir: string
  /** Writes a file at once. */
  write(path: string, content: string): void
  /** Writes a file and waits until its time is no longer young. */
  settle(path: string, content: string): Promise<void>
  path(path: string): string
}

/** Runs `tests` on one engine. */
export function onEngine(engine: 'native' | 'wasm', tests: (subject: Subject) => void): void {
  describe(`tasks: ${engine}`, () => {
    tests({ open: (dir, options) => openCache({ name: 'tasks', dir, engine, ...options }), project: makeProject })
  })
}

function makeProject(): Project {
  const root = makeFolder()
  const path = (name: string): string => join(root, name)
  const write = (name: string, content: string): void => {
    mkdirSync(dirname(path(name)), { recursive: true })
    writeFileSync(path(name), content)
  }
  const settle = async (name: string, content: string): Promise<void> => {
    write(name, content)
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  }
  return { root, dir: path('cache'), path, write, settle }
}

/** A task whose work counts how often it is done; its result is that number, as text. */
export class Counted {
  count = 0
  readonly task: Task<string>

  constructor(cache: Cache, root: string, options: Omit<TaskOptions, 'codec'> = {}) {
    this.task = cache.task('counted', { ...options, root, codec: 'text' })
  }

  /** The number of the work whose result this is. */
  async run(
    request: Partial<TaskRequest> = {},
    during: (context: TaskContext) => unknown = () => undefined,
  ): Promise<number> {
    const result = await this.task.run({ id: 'id', ...request }, async (context) => {
      const number = ++this.count
      await during(context)
      return String(number)
    })
    return Number(result)
  }
}

/** Runs `test` with an open cache, and closes it. */
export async function withCache<T>(subject: Subject, project: Project, test: (cache: Cache) => Promise<T>): Promise<T> {
  const cache = await subject.open(project.dir)
  try {
    return await test(cache)
  } finally {
    await cache.close()
  }
}
