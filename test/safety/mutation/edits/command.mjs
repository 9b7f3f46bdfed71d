// @ts-check
// Defects of the command, the loader and the use of descriptors, in programs that run `dist` (`dist-hooks.mjs`).

const CLI = 'test/cli/cli.test.ts'

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'a package that is not in the release is loaded as the addon',
    file: 'packages/varve/src/engine/addon.ts',
    find: 'if (!release.platforms.includes(platform))',
    replace: "if (platform === '')",
    test: 'test/hostile/addon.test.ts',
    only: 'a package that is not in the release is not loaded',
  },
  {
    name: 'varve get writes control characters to a terminal',
    file: 'packages/varve/src/cli/get.ts',
    find: '(text === undefined || !isPlain(text))',
    replace: "text === ''",
    test: 'test/hostile/terminal.test.ts',
    only: 'refuses to print control characters to a terminal',
  },
  {
    name: 'varve files deserialises values of the codec v8 unasked',
    file: 'packages/varve/src/cli/files/manifests.ts',
    find: "if (codec === 'v8' && !withV8) {",
    replace: "if (codec === 'v8' && withV8) {",
    test: 'test/files/command.test.ts',
    only: 'deserialises values of the codec v8 only on request',
  },
  {
    name: 'stats --json of one cache has another shape than of several',
    file: 'packages/varve/src/cli/open/each.ts',
    find: 'if (json === true) await writeCaches(name, found)',
    replace: 'if (json === true) await writeCaches(name, found.length > 1 ? found : (found[0] as never))',
    test: CLI,
    only: 'varve stats prints text, and JSON with --json',
  },
  {
    name: 'an empty --dir is the working directory',
    file: 'packages/varve/src/cli/open/entries.ts',
    find: "  if (text !== '') return text\n",
    replace: '  return text\n',
    test: CLI,
    only: 'an empty folder, as of a variable that is not set',
  },
  {
    name: 'WebAssembly closes no table where no descriptor is left',
    file: 'packages/varve/src/engine/table-files.ts',
    find: 'while (file === FULL && open.size > 0) {',
    replace: 'while (file === FULL && open.size > OPEN_MAX) {',
    test: 'test/sharing/threads.test.ts',
    only: 'wasm: 300 namespaces are opened and written with 256 file descriptors',
  },
]
