/**
 * Functions in place of the lazy parts of a value. webpack marks its own with what they are to be serialised by, under a
 * symbol; a value with unmarked ones could be restored, but not stored again. The mark is copied from one that webpack
 * made.
 */
import type { Compiler } from 'webpack'

/** What marks a function as lazy for this webpack; undefined where it has no lazy parts or shows no mark. */
export function lazyMaker(webpack: Compiler['webpack']): (<T extends object>(part: () => T) => () => T) | undefined {
  const mark = markOf(webpack)
  if (mark === undefined) return undefined
  const [symbol, target] = mark
  return (part) => {
    Reflect.set(part, symbol, target)
    return part
  }
}

function markOf(webpack: Compiler['webpack']): readonly [symbol, object] | undefined {
  const { buffersSerializer } = webpack.util.serialization
  const { CachedSource, RawSource } = webpack.sources
  try {
    const made: unknown = buffersSerializer.serialize(new CachedSource(new RawSource('a')), {})
    const restored: unknown = buffersSerializer.deserialize(made as Buffer[], {})
    const lazy = restored instanceof CachedSource ? restored.originalLazy() : undefined
    if (typeof lazy !== 'function') return undefined
    for (const symbol of Object.getOwnPropertySymbols(lazy)) {
      const target: unknown = Reflect.get(lazy, symbol)
      if (typeof target === 'object' && target !== null) return [symbol, target]
    }
  } catch {
    // A webpack that serialises otherwise.
  }
  return undefined
}
