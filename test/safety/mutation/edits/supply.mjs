// @ts-check
// Defects of the scripts that build and check.

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'stamps of builds depend on where the clone is',
    file: 'scripts/common/stamps.mjs',
    find: '.update(`${file}\\0`)',
    replace: '.update(`${from}${file}\\0`)',
    test: 'scripts/scripts.test.mjs',
    only: 'a moved or copied clone is not built again',
  },
  {
    name: 'a licence that only one of two parts has is allowed',
    file: 'scripts/check/licences.mjs',
    find: 'isMet = atom() && isMet',
    replace: 'isMet = atom() || isMet',
    test: 'scripts/scripts.test.mjs',
    only: 'is not',
  },
  {
    name: 'packages without a hash are accepted',
    file: 'scripts/check/licences.mjs',
    find: '/^sha(?:256|384|512)-/.test(integrity)',
    replace: '!/^sha1-/.test(integrity)',
    test: 'scripts/scripts.test.mjs',
    only: 'dependencies come from the registries, with hashes',
  },
  {
    name: 'an audit that the registry refused counts as a clean one',
    file: 'scripts/check/advisories.mjs',
    find: "JSON.parse(output.slice(output.indexOf('{'))).vulnerabilities",
    replace: "JSON.parse(output.slice(output.indexOf('{'))).vulnerabilities ?? {}",
    test: 'scripts/scripts.test.mjs',
    only: 'an audit that the registry rejected is not a report',
  },
]
