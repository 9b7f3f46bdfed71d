// @ts-check
// Defects of the plugins that a poisoned value could exploit.

const BUNDLERS = 'test/plugins/poisoned/bundlers.test.ts'
const STORES = 'test/plugins/poisoned/stores.test.ts'
const VALUES = 'test/plugins/build/values.test.ts'
const PACK = 'packages/plugins/src/build/pack.ts'
const ENTRY = 'packages/plugins/src/rollup/entry.ts'
const by = (/** @type {string} */ tool) => `a build by ${tool} from a cache of values that no plugin stored`

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'plugins: what was read is replayed without a look at its shape',
    file: 'packages/plugins/src/build/calls.ts',
    find: 'if (call.shape(entry)) return call.accepts?.(entry) === false ? undefined : entry',
    replace: 'if (call.shape(entry) || entry !== undefined) return entry as E',
    test: BUNDLERS,
    only: by('Rollup'),
  },
  {
    name: 'plugins: a part may be named twice',
    file: PACK,
    find: '  parts[Number(number)] = undefined\n',
    replace: '',
    test: VALUES,
    only: 'decodes each part once',
  },
  {
    name: 'plugins: bytes after the last part are ignored',
    file: PACK,
    find: 'check(end === buffer.length)',
    replace: 'check(end <= buffer.length)',
    test: VALUES,
    only: 'refuses bytes after the last part',
  },
  {
    name: 'rollup: any method of the context may be replayed',
    file: ENTRY,
    find: "method: exactly('warn', 'info', 'debug')",
    replace: 'method: isText as never',
    test: BUNDLERS,
    only: by('Rollup'),
  },
  {
    name: 'vite: a file that changed while the server runs is answered from the cache',
    file: 'packages/plugins/src/rollup/cached.ts',
    find: 'changed.has(file)',
    replace: 'changed.has(String())',
    test: 'test/plugins/vite/serve.test.ts',
    only: 'a server that is killed while idle',
  },
  {
    name: 'rollup: ids lose their queries',
    file: 'packages/plugins/src/rollup/tool.ts',
    find: 'return { id, code, inputs, files: whole',
    replace:
      "return { id: id.split('?', 1)[0] ?? '', inputs: { code, call: callDigest(options, relative) }, files: whole",
    test: 'test/plugins/rollup/rollup.test.ts',
    only: 'one file with the queries',
  },
  {
    name: 'rolldown: mappings are not read before they are handed over',
    file: 'packages/plugins/src/build/source-map.ts',
    find: "typeof map.mappings === 'string' ? areMappings(map.mappings, counts)",
    replace: "typeof map.mappings === 'string' ? true",
    test: BUNDLERS,
    only: by('Rolldown'),
  },
  {
    name: 'esbuild: a result may have any field of any type',
    file: 'packages/plugins/src/esbuild/load.ts',
    find: 'loader: optional(isLoader)',
    replace: 'loader: isAnything as never',
    test: BUNDLERS,
    only: by('esbuild'),
  },
  {
    name: 'adapters: values of any shape are handed to the tool',
    file: 'packages/plugins/src/adapters/value.ts',
    find: ' && shape(value)',
    replace: '',
    test: STORES,
    only: 'Metro gets from a cache',
  },
  {
    name: 'adapters: a time may be no time',
    file: 'packages/plugins/src/adapters/value.ts',
    find: 'timeMs >= 0 && timeMs <= TIME_MAX_MS && ',
    replace: '',
    test: STORES,
    only: 'Keyv and unstorage',
  },
  {
    name: 'parcel: as many pieces are removed as an entry claims to have',
    file: 'packages/plugins/src/parcel/contents.ts',
    find: ' && space.has(pieceKey(key, id, number))',
    replace: '',
    test: STORES,
    only: 'removing contents ends',
  },
  {
    name: 'tasks: a result is used that the caller does not accept',
    file: 'packages/varve/src/task/task.ts',
    find: ' || !isAccepted(accept, hit.value)',
    replace: '',
    test: 'test/task/task.test.ts',
    only: 'that the caller does not accept are made again',
  },
]
