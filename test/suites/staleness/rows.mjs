// @ts-check
// What a plugin may do that decides its results, by kind: a row is a project and its changes, the same for all tools. Plugins are
// those of the generator, so that a fault that it finds becomes a row here.

/** @typedef {import('../generator/program.mjs').Program} Program */
/** @typedef {import('../generator/program.mjs').Tool} Tool */
/** @typedef {import('./scenario.mjs').Change} Change */

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {readonly Tool[]} [tools] all, if it is left out
 * @property {string} [m0] what the plugin does for the first module: operations as `kind subject`, after `;`. With `kept`, the plugin
 * keeps the result in memory
 * @property {string} [m1] and for the second one
 * @property {string} [e0] and for the one that is executed
 * @property {string} [start] what it does when a build starts
 * @property {string} [load] what it does when it is loaded
 * @property {string} [config] what the config does
 * @property {Partial<Pick<Program, 'collects' | 'virtual' | 'hook' | 'format' | 'declared' | 'isParallel'>>} [more]
 * @property {Readonly<Record<string, readonly Change[]>>} steps
 * @property {boolean} [isRefused] whether nothing of the first module may be stored; otherwise the cache has to answer in the step `again`
 */

/** @type {readonly Tool[]} */
export const BUNDLERS = ['webpack', 'rspack', 'vite', 'rollup', 'rolldown', 'esbuild']
/** Those with plugins of Rollup, and esbuild, whose plugins resolve and load modules of their own. @type {readonly Tool[]} */
const LOADING = ['vite', 'rollup', 'rolldown', 'esbuild']

/** @param {string} path @returns {Record<string, readonly Change[]>} */
const lifeOf = (path) => ({
  'other content': [['write', path, 'w2000']],
  'other content of that size': [['write', path, 'w3000']],
  touched: [['touch', path]],
  'the content of before': [['write', path, 'w2000']],
  removed: [['remove', path]],
  'a folder instead': [['write', `${path}/inner.txt`, 'inner']],
  'back again': [
    ['remove', path],
    ['write', path, 'w2000'],
  ],
})

/** @param {string} path @returns {Record<string, readonly Change[]>} */
const appearance = (path) => ({ appears: [['write', path, 'w2000']], 'is removed': [['remove', path]] })

/** @type {Readonly<Record<string, readonly Change[]>>} */
const REQUESTS = {
  'one comes': [['write', 'inbox/one.txt', 'w2000']],
  'another one comes': [['write', 'inbox/one.txt', 'w3000']],
  'none comes': [['remove', 'inbox/one.txt']],
}

/** @param {string} name @returns {Record<string, readonly Change[]>} */
const valuesOf = (name) => ({
  set: [['env', name, 'w2000']],
  'another value': [['env', name, 'w3000']],
  empty: [['env', name, '']],
  unset: [['env', name]],
})

/** @type {readonly Row[]} */
export const ROWS = [
  { name: 'a file that a call reads', m0: 'readFileSync data/a.txt', steps: lifeOf('data/a.txt') },
  {
    name: 'a file that a call reads with the file system of the tool',
    m0: 'readSelf data/a.txt',
    steps: lifeOf('data/a.txt'),
  },
  { name: 'a file that a call reads in a stream', m0: 'readStream data/a.txt', steps: lifeOf('data/a.txt') },
  { name: 'a file that a call looks for', m0: 'existsSync data/none.txt', steps: appearance('data/none.txt') },
  { name: 'a file that a call does not find', m0: 'readPromise data/none.txt', steps: appearance('data/none.txt') },
  {
    name: 'a file that a call finds by its extension',
    m0: 'readExtension data/word',
    steps: appearance('data/word.local'),
  },
  {
    name: 'a file that a call finds upward',
    m0: 'readUpward data/deep/word.txt',
    steps: appearance('data/deep/word.txt'),
  },
  {
    name: 'a file whose path another file has',
    m0: 'readPointer data/pointer.txt',
    steps: {
      'the other file': [['write', 'data/pointer.txt', 'data/b.txt']],
      'that file': [['write', 'data/b.txt', 'w2000']],
    },
  },
  {
    name: 'a request that a hook at the start of a build reads and removes',
    tools: BUNDLERS,
    start: 'takeSync inbox/one.txt',
    steps: REQUESTS,
  },
  {
    name: 'a request that a plugin that is loaded reads and removes',
    tools: BUNDLERS,
    load: 'takeSync inbox/one.txt',
    steps: REQUESTS,
  },
  {
    name: 'a request that the config reads and removes',
    tools: BUNDLERS,
    config: 'takeSync inbox/one.txt',
    steps: REQUESTS,
  },
  {
    name: 'a request that a call reads and removes',
    tools: BUNDLERS,
    m0: 'takeSync inbox/one.txt',
    steps: REQUESTS,
  },
  {
    name: 'a file of the same size and time',
    tools: ['rspack', 'vite', 'rollup', 'rolldown', 'esbuild', 'task'],
    m0: 'readFileSync data/a.txt',
    steps: {
      aged: [['age', 'data/a.txt']],
      'content alone': [['replaceKeepingTime', 'data/a.txt', 'w', 'v']],
      'the source alone': [
        ['age', 'src/m0.js'],
        ['replaceKeepingTime', 'src/m0.js', 'first', 'other'],
      ],
    },
  },
  {
    name: 'the size of a file',
    m0: 'size data/a.txt',
    steps: { larger: [['write', 'data/a.txt', 'longer than before']] },
  },
  {
    name: 'the names in a folder',
    m0: 'readdirSync pages',
    steps: {
      added: [['write', 'pages/new.txt', '']],
      renamed: [['rename', 'pages/new.txt', 'pages/newer.txt']],
      removed: [['remove', 'pages/newer.txt']],
    },
  },
  {
    name: 'the names in a folder whose files are modules',
    m0: 'readdirSync src',
    steps: { added: [['write', 'src/new.js', '']], removed: [['remove', 'src/new.js']] },
  },
  {
    name: 'the names in a folder that a call reports as a file',
    m0: 'readdirSync pages',
    more: { declared: { m0: [['File', 'pages']] } },
    steps: { added: [['write', 'pages/new.txt', '']], removed: [['remove', 'pages/new.txt']] },
  },
  {
    name: 'all files below a folder',
    m0: 'readAll pages',
    steps: {
      'added in a new folder': [['write', 'pages/new/four.txt', 'w2000']],
      changed: [['write', 'pages/more/three.txt', 'w3000']],
      moved: [['rename', 'pages/more/three.txt', 'pages/three.txt']],
    },
  },
  {
    name: 'a file that a call reports',
    m0: 'readFileSync data/a.txt',
    m1: 'readFileSync data/a.txt kept',
    more: { declared: { m0: [['File', 'data/a.txt']] } },
    steps: lifeOf('data/a.txt'),
  },
  {
    name: 'where a link leads',
    m0: 'realpathSync data/link.txt',
    steps: { elsewhere: [['link', 'data/link.txt', 'b.txt']] },
  },
  {
    name: 'a file behind a link',
    m0: 'readFileSync data/link.txt',
    steps: { elsewhere: [['link', 'data/link.txt', 'b.txt']], ...lifeOf('data/b.txt') },
  },

  { name: 'a variable', m0: 'variable GEN_A', steps: valuesOf('GEN_A') },
  {
    name: 'a variable that the plugin reads when it is loaded',
    tools: BUNDLERS,
    load: 'variable GEN_A',
    steps: valuesOf('GEN_A'),
  },
  { name: 'a variable that the config reads', tools: BUNDLERS, config: 'variable GEN_A', steps: valuesOf('GEN_A') },
  {
    name: 'the names of variables',
    m0: 'variableNames GEN_',
    steps: {
      ...valuesOf('GEN_A'),
      'one with another prefix': [['env', 'OTHER', '1']],
      'one of a terminal': [['env', 'TERM_PROGRAM', 'x']],
    },
  },
  { name: 'variables and their values', m0: 'variableEntries GEN_', steps: valuesOf('GEN_A') },

  { name: 'a file that the config reads', config: 'readFileSync data/a.txt', steps: lifeOf('data/a.txt') },
  {
    name: 'a file that the plugin reads when it is loaded',
    load: 'readFileSync data/a.txt',
    steps: lifeOf('data/a.txt'),
  },
  {
    name: 'a file that is read when a build starts',
    tools: BUNDLERS,
    start: 'readFileSync data/a.txt',
    steps: lifeOf('data/a.txt'),
  },
  {
    name: 'a folder that is listed when a build starts',
    tools: BUNDLERS,
    start: 'readdirSync pages',
    steps: { added: [['write', 'pages/new.txt', '']], removed: [['remove', 'pages/new.txt']] },
  },
  {
    name: 'the code of the plugin, its config and a source',
    m0: 'readFileSync data/a.txt',
    steps: {
      plugin: [['replace', 'plugin.cjs', 'edition 0', 'edition 1']],
      config: [['replace', 'build.config.cjs', 'option 0', 'option 1']],
      source: [['replace', 'src/m1.js', 'first', 'other']],
    },
  },
  {
    name: 'ES modules of the plugin',
    m0: 'importModule lib/g.mjs',
    more: { format: 'mjs' },
    steps: {
      plugin: [['replace', 'plugin.mjs', 'edition 0', 'edition 1']],
      'a module that it imports': [['write', 'lib/h.mjs', "export const word = 'w2000'"]],
    },
  },
  {
    name: 'a module that a call requires',
    m0: 'requireModule lib/d.cjs',
    steps: {
      'what it requires': [['write', 'lib/e.cjs', "exports.word = 'w2000'"]],
      removed: [['remove', 'lib/e.cjs']],
    },
  },
  {
    name: 'another version of a package',
    m0: 'requirePackage gen-one',
    steps: { installed: [['install', 'gen-one', '2.0.0']] },
  },
  {
    name: 'a package that was not there',
    m0: 'requirePackage gen-two',
    steps: { installed: [['install', 'gen-two', '1.0.0']] },
  },
  {
    name: 'a package that was not there when the config was loaded',
    config: 'requirePackage gen-two',
    steps: { installed: [['install', 'gen-two', '1.0.0']] },
  },
  ...['m0', 'load', 'config'].map((time) => ({
    name: `another copy of the same version of a package, for ${time}`,
    [time]: 'requirePackage gen-three',
    steps: {
      'the other copy': [
        /** @type {Change} */ (['link', 'node_modules/gen-three', '.pnpm/gen-three@1.0.0_two/node_modules/gen-three']),
      ],
    },
  })),

  {
    name: 'the own file of another module, kept in memory',
    m0: 'readFileSync src/m0.js kept',
    m1: 'readFileSync src/m0.js kept',
    steps: { edited: [['replace', 'src/m0.js', 'first', 'other']] },
  },
  {
    name: 'settings that are kept in memory',
    m0: 'readFileSync shared/settings.txt kept',
    m1: 'readFileSync shared/settings.txt kept',
    more: { declared: { m0: [['File', 'shared/settings.txt']] } },
    steps: lifeOf('shared/settings.txt'),
  },
  {
    name: 'a hook that reads the module itself',
    tools: ['vite', 'rollup', 'rolldown'],
    m0: 'readFileSync data/a.txt',
    more: { hook: 'load' },
    steps: { source: [['replace', 'src/m0.js', 'first', 'other']], ...lifeOf('data/a.txt') },
  },

  ...['execFileSync', 'spawn', 'worker'].map((kind) => ({
    name: `what ${kind} reads`,
    m0: `${kind} data/a.txt`,
    steps: { changed: [/** @type {Change} */ (['write', 'data/a.txt', 'w2000'])] },
    isRefused: true,
  })),
  ...['fetch', 'httpGet', 'connect'].map((kind) => ({
    name: `what a server answers to ${kind}`,
    m0: `${kind} http://127.0.0.1:0/value`,
    steps: { 'another answer': [/** @type {Change} */ (['serve', 'w2000'])] },
    isRefused: true,
  })),
  ...[
    'writeFile',
    'writeMore',
    'writeStream',
    'writeRenamed',
    'writeLink',
    'writeAndRead',
    'copyFile',
    'copyByProcess',
  ].map((kind) => ({
    name: `a file that a call makes with ${kind}`,
    m0: `${kind} data/a.txt`,
    steps: { 'another source': [/** @type {Change} */ (['replace', 'src/m1.js', 'first', 'other'])] },
    isRefused: true,
  })),
  ...['makeFolder', 'useTemporary'].map((kind) => ({
    name: `a file that a call reads beside ${kind}`,
    m0: `${kind} data/a.txt`,
    steps: { changed: [/** @type {Change} */ (['write', 'data/a.txt', 'w2000'])] },
  })),
  {
    name: 'a file that a call emits',
    m0: 'emit data/a.txt',
    steps: lifeOf('data/a.txt'),
    isRefused: true,
  },
  .../** @type {const} */ (['file', 'warning']).map((collects) => ({
    name: `a ${collects} that is made of the state of the plugin`,
    tools: [...LOADING, /** @type {Tool} */ ('webpack')],
    m0: 'readFileSync data/a.txt',
    more: { collects },
    steps: { changed: [/** @type {Change} */ (['write', 'data/a.txt', 'w2000'])] },
    isRefused: true,
  })),
  .../** @type {const} */ (['memory', 'file']).map((virtual) => ({
    name: `a module that only the plugin can load, made of its ${virtual}`,
    tools: [...LOADING, /** @type {Tool} */ ('webpack')],
    m0: 'readFileSync data/a.txt',
    more: { virtual },
    steps: { changed: [/** @type {Change} */ (['write', 'data/a.txt', 'w2000'])] },
    isRefused: true,
  })),
  {
    name: 'warnings of a module that is executed',
    tools: ['webpack', 'rspack'],
    m0: 'executeModule src/e0.js',
    e0: 'readFileSync data/a.txt',
    steps: {
      'a warning': [['write', 'data/a.txt', 'warn w2000']],
      'the same warning': [],
      'another source': [['replace', 'src/m1.js', 'first', 'other']],
      none: [['write', 'data/a.txt', 'w3000']],
    },
    isRefused: true,
  },
  {
    name: 'warnings and errors',
    m0: 'readFileSync data/a.txt',
    steps: {
      'a warning': [['write', 'data/a.txt', 'warn w2000']],
      'the same warning': [],
      'an error': [['write', 'data/a.txt', 'bad w3000']],
      'the same error': [],
      none: [['write', 'data/a.txt', 'w4000']],
    },
  },
]
