// @ts-check
// Defects of secrets: with each of them a build trusts entries that were not written with the secret.

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'a restore with a secret makes hard links into the cache',
    file: 'packages/varve/src/files/trees.ts',
    find: "mode === 'hardlink' && this.#session.call((store) => store.status()).authenticated ? 'auto' : mode",
    replace: 'mode',
    test: 'test/secret/secret.test.ts',
    only: 'a restore with a secret makes copies',
  },
  {
    name: 'a required secret that is missing opens the cache without one',
    file: 'packages/varve/src/health/secret.ts',
    find: '  if (isRequired) {',
    replace: "  if (isRequired && found === '') {",
    test: 'test/secret/missing.test.ts',
    only: 'a secret that is required and missing or empty is an error',
  },
  {
    name: 'an empty VARVE_SECRET is not warned of',
    file: 'packages/varve/src/health/secret.ts',
    find: '(named === undefined && !isOld)',
    replace: '!isOld',
    test: 'test/secret/missing.test.ts',
    only: 'an empty VARVE_SECRET causes one warning',
  },
  {
    name: 'a leftover VARVE_KEY is ignored silently',
    file: 'packages/varve/src/health/secret.ts',
    find: "(variable(OLD) ?? '') !== ''",
    replace: "variable(OLD) === ''",
    test: 'test/secret/missing.test.ts',
    only: 'a leftover VARVE_KEY of Varve 0.1 is warned of',
  },
  {
    name: 'plugins without a required secret fail the build',
    file: 'packages/plugins/src/adapters/namespace.ts',
    find: "'SECRET_MISSING',",
    replace: '',
    test: 'test/secret/missing.test.ts',
    only: 'without a secret that is required, plugins use no cache',
  },
  {
    name: 'a secret that can be guessed is accepted',
    file: 'packages/varve/src/health/secret.ts',
    find: 'const SECRET_BYTES_MIN = 32',
    replace: 'const SECRET_BYTES_MIN = 16',
    test: 'test/secret/secret.test.ts',
    only: 'a secret that is short or of another type is refused',
  },
]
