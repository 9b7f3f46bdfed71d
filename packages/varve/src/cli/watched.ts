/** A command's watch as the engine takes it. */
import type { EngineControl } from '../engine.ts'
import type { WatchOptions } from '../options.ts'

/** The same watch with every field set. */
export function controlOf({ signal, onProgress }: WatchOptions): EngineControl {
  return { signal, onProgress }
}
