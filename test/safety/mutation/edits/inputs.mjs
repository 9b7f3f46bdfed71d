// @ts-check
// Inputs that are missed: each is a kind of report by a user. Generated programs that do such a thing have to show it.
const SCOPE = 'packages/varve/src/reads/scope.ts'
const KNOWN = 'packages/varve/src/reads/known.ts'
const STATE = 'packages/plugins/src/rollup/state.ts'
const REPEATABLE = 'packages/plugins/src/webpack/repeatable.ts'

/** The tests of the generator for these programs. @param {string} programs */
const by = (programs) => ({ test: 'test/suites/generator/kinds.test.ts', only: `programs ${programs}` })

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'inputs: plugins keep nothing between hooks',
    file: STATE,
    find: 'if (hook !== undefined) return `its hook',
    replace: "if (hook === '') return `its hook",
    ...by('that keep what they emit at the end'),
  },
  {
    name: 'inputs: connections decide nothing',
    file: KNOWN,
    find: 'if (isVarve(what)) return undefined',
    replace: "if (isVarve(what) || kind === 'network') return undefined",
    ...by('that connect'),
  },
  {
    name: 'inputs: processes and threads read nothing',
    file: KNOWN,
    find: 'if (isVarve(what)) return undefined',
    replace: "if (isVarve(what) || kind !== 'network') return undefined",
    ...by('that start processes'),
  },
  {
    name: 'inputs: what a call writes decides nothing',
    file: 'packages/varve/src/reads/call.ts',
    find: 'written: this.#scope.judge(this.#writes)',
    replace: 'written: undefined',
    ...by('that write files'),
  },
  {
    name: 'inputs: what is read and removed is forgotten',
    file: SCOPE,
    find: '      this.#taken.first ??\n',
    replace: '',
    ...by('that take requests'),
  },
  {
    name: 'inputs: the size of a file decides nothing',
    file: 'packages/varve/src/reads/fs.ts',
    find: "unrecordedNow(() => sink.read('content', path, true))",
    replace: 'void sink',
    ...by('that use sizes'),
  },
  {
    name: 'inputs: the own file of a call is an input of that call only',
    file: SCOPE,
    find: "if (isKept || reads > 1) this.#ownFiles = 'shared'",
    replace: '',
    ...by('that keep their own files in memory'),
  },
  {
    name: 'inputs: variables decide nothing',
    file: SCOPE,
    find: "if (this.#variables.read(name, isListed) === 'changed') this.#spoil()",
    replace: 'void [name, isListed]',
    ...by('that read variables'),
  },
  {
    name: 'inputs: names of variables decide nothing',
    file: SCOPE,
    find: "if (this.#variables.readNames(prefix) === 'changed') this.#spoil()",
    replace: 'void prefix',
    ...by('that list variables'),
  },
  {
    name: 'inputs: a report of a folder covers its names',
    file: 'packages/plugins/src/webpack/reads.ts',
    find: 'if (reports.covers(kind, path)) continue',
    replace: 'if (reports.covers(kind, path) || isOfNames(kind)) continue',
    ...by('that list folders'),
  },
  {
    name: 'inputs: all copies of one version of a package are the same',
    file: 'packages/varve/src/reads/counted.ts',
    find: '&& this.#isLink(folder) ? folder : undefined',
    replace: '&& this.#isLink(folder) ? undefined : undefined',
    ...by('that require packages'),
  },
  {
    name: 'inputs: messages of plugins come again by themselves',
    file: REPEATABLE,
    find: '    this.#judgeMessages(compilation, found)\n    if',
    replace: '    if',
    ...by('that warn at the end'),
  },
  {
    name: 'inputs: files of plugins come again by themselves',
    file: REPEATABLE,
    find: 'if (suspect !== undefined) refuse',
    replace: "if (suspect?.[0] === '') refuse",
    ...by('that emit at the end'),
  },
]
