/** In place of `node:fs` and `node:path` on hosts without them, such as browsers: tasks work there, and refuse files. */
import { VarveError } from '../errors.ts'
import type { FileReads } from './stamp.ts'
import type { Paths } from './root.ts'

/** The root of tasks there: no path is absolute or relative to anything. */
export const NO_ROOT = '/'

function refuse(): never {
  throw new VarveError(
    'ENGINE_UNAVAILABLE',
    'files of tasks need node:fs and node:path, which this host does not have; use inputs instead',
  )
}

export const noPaths: Paths = {
  sep: '/',
  isAbsolute: (path) => path.startsWith('/'),
  relative: refuse,
  resolve: refuse,
}
export const noFiles: FileReads = {
  closeSync: refuse,
  openSync: refuse,
  readdirSync: refuse,
  readFileSync: refuse,
  readSync: refuse,
  statSync: refuse,
}
