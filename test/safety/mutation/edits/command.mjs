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
    file: 'packages/varve/src/cli/ls.ts',
    find: '(text === undefined || !isPlain(text))',
    replace: "text === ''",
    test: 'test/hostile/terminal.test.ts',
    only: 'refuses to print control characters to a terminal',
  },
  {
    name: 'varve files deserialises values of the codec v8 unasked',
    file: 'packages/varve/src/cli/files.ts',
    find: "if (codec === 'v8' && !withV8) {",
    replace: "if (codec === 'v8' && withV8) {",
    test: 'test/files/command.test.ts',
    only: 'deserialises values of the codec v8 only on request',
  },
  {
    name: 'stats --json of one cache has another shape than of several',
    file: 'packages/varve/src/cli/open/folder.ts',
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
    name: 'varve --version prints no version',
    file: 'packages/varve/src/cli/main.ts',
    find: 'process.stdout.write(`${version}\\n`)',
    replace: "process.stdout.write('varve\\n')",
    test: CLI,
    only: 'varve --version prints the version',
  },
  {
    name: 'varve ls --sort lists what was written today as never used',
    file: 'packages/varve/src/cli/ls.ts',
    find: 'days >= 1 && days < USES_DAYS',
    replace: 'days < USES_DAYS',
    test: CLI,
    only: 'varve ls --sort does not show an entry of today as never used',
  },
  {
    name: 'varve doctor finds fault with WebAssembly',
    file: 'packages/varve/src/cli/doctor.ts',
    find: '...(isChosen ? {} : { note }) }',
    replace: '...(isChosen ? {} : { advice: note }) }',
    test: CLI,
    only: 'doctor reports WebAssembly as a possible improvement if nothing is wrong',
  },
  {
    name: 'too small an address space for WebAssembly is an internal error',
    file: 'packages/varve/src/engine/wasm-instance.ts',
    find: "'ENGINE_UNAVAILABLE', `cannot start the WebAssembly engine: ${reasonOf(error)}`",
    replace: "'INTERNAL', String(error)",
    test: 'test/sharing/threads.test.ts',
    only: 'an address space too small for WebAssembly is an error',
  },
  {
    name: 'WebAssembly waits for the other end of a FIFO',
    file: 'packages/varve/src/engine/tree-folder.ts',
    find: 'O_RDONLY | O_NOFOLLOW | O_NONBLOCK)',
    replace: 'O_RDONLY | O_NOFOLLOW)',
    test: 'test/files/restore.test.ts',
    only: 'a FIFO in place of a stored file',
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
