// @ts-check
// Hostile manifests: huge counts, numbers at their maximum, logs that begin outside of the file.
import { frameOf, logOf, metaOf, pack } from '../forge.mjs'
import { commit, entry, KEY, LENGTHS, many, MOST, NAME, VALUE, withManifest } from './folder.mjs'

/** @import { Hostile } from './folder.mjs' */

/** @type {Record<string, () => Hostile>} */
export const MANIFESTS = {
  ...many('manifest frame states bytes', LENGTHS, (bytes) => ({
    files: { 'manifest-1': frameOf('VMAN', 1n, 1n, Buffer.alloc(64), { bytes }) },
  })),
  ...many('manifest states logs', LENGTHS, (count) => withManifest({ logs: pack([['u32', count]]) })),
  ...many('manifest states namespaces', LENGTHS, (count) => withManifest({ count })),
  ...many('namespace states tables', LENGTHS, (count) =>
    withManifest({ namespaces: [{ ...NAME, tables: [], count }] }),
  ),
  ...many('manifest states next writer', [(1 << 24) - 1, 1 << 24, 0xffffffff], (nextWriter) =>
    withManifest({ nextWriter }),
  ),
  ...many('manifest states last order', [MOST, MOST >> 1n, MOST - (1n << 16n)], (lastOrder) =>
    withManifest({ lastOrder }),
  ),
  ...many('manifest states a log ends', [1n, 32n, 1n << 40n, MOST - 31n, MOST], (end) => ({
    files: {
      ...withManifest({
        logs: pack([
          ['u32', 1],
          ['u32', 0],
          ['u64', 7],
          ['u64', end],
        ]),
      }).files,
      '0.log': logOf(0n, [commit(entry(0, KEY, VALUE))]),
    },
  })),
  'the last manifest there can be': () => withManifest({}, MOST),
  ...many('tables by the thousand', [20, 50], (thousands) => {
    const meta = (/** @type {number} */ index) => metaOf({ index, bytes: 200, root: 1n, numbers: [1, 0, 0, 0, index] })
    return withManifest({
      namespaces: [{ ...NAME, tables: Array.from({ length: thousands * 1000 }, (_, index) => meta(index)) }],
    })
  }),
  '20,000 namespaces of one name': () =>
    withManifest({ namespaces: Array.from({ length: 20_000 }, () => ({ ...NAME, tables: [] })) }),
}
