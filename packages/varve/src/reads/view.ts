/** File systems of tools, as the code that is recorded gets them. */
import { notes } from './fs.ts'
import { installation, sinkNow } from './sink.ts'
import { isCallable, type Note } from './wrapper.ts'

const views: WeakMap<object, object> = new WeakMap()

/**
 * A view of an object with methods of `node:fs`. What code reads through it counts, also if the tool has it in memory, or took its
 * functions out of `node:fs` before the recorder was installed.
 */
export function recordedFiles<Files extends object>(files: Files): Files
export function recordedFiles(files: object): object {
  const known = views.get(files)
  if (known !== undefined) return known
  const view: object = Object.create(files)
  for (const [method, note] of notes()) if (Reflect.has(files, method)) defineRecorded(view, files, method, note)
  views.set(files, view)
  views.set(view, view)
  return view
}

/** Each use looks for the method, because others may replace it later. */
function defineRecorded(view: object, files: object, method: string, note: Note): void {
  const get = (): unknown => {
    const original: unknown = Reflect.get(files, method)
    if (!isCallable(original)) return original
    return (...args: unknown[]): unknown => {
      const installed = installation()
      const sink = installed === undefined ? undefined : sinkNow(installed)
      const after = sink === undefined ? undefined : note(sink, args)
      const result: unknown = Reflect.apply(original, files, args)
      return isCallable(after) ? after(result) : result
    }
  }
  const set = (given: unknown): void => {
    Reflect.set(files, method, given)
  }
  Object.defineProperty(view, method, { configurable: true, enumerable: true, get, set })
}
