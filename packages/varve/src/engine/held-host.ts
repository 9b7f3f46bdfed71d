/**
 * A host that knows which of its files are open. An instance that a trap has ended closes none of them any more, so they
 * are closed for it.
 */
import type { Host } from '../../generated/varve_wasm.js'
import type { WasmInstance } from './wasm-instance.ts'

/** The same files, closed when the present instance is given up. */
export function heldHost(host: Host, instance: WasmInstance): Host {
  const forgets = new Map<number, () => void>()
  const opened = (file: number): number => {
    if (file >= 0)
      forgets.set(
        file,
        instance.whenTrapped(() => host.close(file)),
      )
    return file
  }
  return {
    ...host,
    open: (name) => opened(host.open(name)),
    createNew: (name) => opened(host.createNew(name)),
    folder: (name) => heldHost(host.folder(name), instance),
    close(file) {
      forgets.get(file)?.()
      forgets.delete(file)
      host.close(file)
    },
  }
}
