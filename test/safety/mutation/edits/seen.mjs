// @ts-check
// Defects of what shows a cache: the page of `varve view`, the records of builds, the reasons of misses.

const CONTRACT = 'test/contract/contract.test.ts'
const SERVER = 'test/view/server.test.ts'

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'the server of varve view answers without its token',
    file: 'packages/view/src/server.ts',
    find: 'if (!isSame(given, token)) return',
    replace: "if (given === '') return",
    test: SERVER,
    only: 'the server answers with the token only',
  },
  {
    name: 'the server of varve view answers under the name of another host',
    file: 'packages/view/src/server.ts',
    find: "includes(request.headers.host ?? ''))",
    replace: "includes(request.headers.host ?? '') && port === 0)",
    test: SERVER,
    only: 'the server refuses requests that name it by another host',
  },
  {
    name: 'a key ends an element of the report of varve view',
    file: 'packages/view/src/server.ts',
    find: "JSON.stringify(value).replaceAll('<', String.raw`\\u003c`)",
    replace: 'JSON.stringify(value)',
    test: 'test/view/command.test.ts',
    only: 'a key that closes elements stays text',
  },
  {
    name: 'the record of a build has more than 200 bytes',
    file: 'packages/varve/src/history/history.ts',
    find: 'if (encoded.length <= RECORD_BYTES_MAX) return encoded',
    replace: 'return encoded',
    test: CONTRACT,
    only: 'a record fits into 200 bytes',
  },
  {
    name: 'a cache keeps the records of all builds',
    file: 'packages/varve/src/history/history.ts',
    find: 'known.length - (RECORDS_MAX - 1)',
    replace: 'known.length - 9 * RECORDS_MAX',
    test: CONTRACT,
    only: 'history()',
  },
  {
    name: 'a watching build that is killed leaves no record',
    file: 'packages/varve/src/history/history.ts',
    find: "mode !== 'never' && !tally.tool.isEmpty",
    replace: "mode !== 'never' && tally.tool.count < 0",
    test: CONTRACT,
    only: 'a watching build updates its record',
  },
  {
    name: 'a record has the value of a variable that is named like a secret',
    file: 'packages/varve/src/inputs/digest.ts',
    find: '!SECRET.test(name) && ',
    replace: '',
    test: 'test/task/task.test.ts',
    only: 'only short values are shown',
  },
  {
    name: 'varve doctor finds fault with a file that is edited before each build',
    file: 'packages/varve/src/cli/diagnosis.ts',
    find: "after === '' && (DEFINED.test(name) || VARIABLE.test(name))",
    replace: "after === ''",
    test: 'test/cli/doctor.test.ts',
    only: 'by webpack a project whose files change between builds gets no remark',
  },
]
