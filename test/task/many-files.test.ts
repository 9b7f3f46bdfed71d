/** A hit of a task with 10,000 files took 3 s: each file that was asked for was looked for in all that were recorded. */
import { expect, it } from 'vitest'
import { isAsked } from '../../packages/varve/dist/task/request.js'

/** An array that counts how often an element is taken. */
function counted<T>(values: readonly T[]): { readonly values: readonly T[]; readonly count: () => number } {
  let count = 0
  const get = (target: readonly T[], key: string | symbol): unknown => {
    if (typeof key === 'string' && /^\d+$/.test(key)) count += 1
    return Reflect.get(target, key)
  }
  return { values: new Proxy(values, { get }), count: () => count }
}

it('a request that asks for many files looks at each recorded file once', () => {
  const paths = Array.from({ length: 1000 }, (_, index) => `src/${index}.js`)
  const files = counted(paths.map((path) => [path, 'digest', 0, 0, 0, 0] as const))
  const variant = { inputs: [], env: [], added: [], files: files.values }
  const asked = { inputs: [], env: [], added: new Map(), files: paths }
  expect(isAsked(variant as never, asked as never)).toBe(true)
  expect(files.count()).toBeLessThanOrEqual(2 * paths.length)
})
