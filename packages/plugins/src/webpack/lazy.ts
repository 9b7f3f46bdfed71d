/**
 * Marks functions as lazy parts of a value. webpack marks its own lazy functions with their serialiser, under a symbol. A
 * value whose functions lack the mark can be restored, but not stored again. The mark is copied from a function that
 * webpack made.
 */
import type { Compiler } from 'webpack'

/** A function that marks others as lazy for this webpack; undefined if this webpack has no lazy parts, or no mark. */
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
    // This webpack serialises in another way.
  }
  return undefined
}
