// @ts-check
// The files of every generated project, and what its operations are about. Some of it is not there at first.

/** Texts in which WORD is replaced by a random word. */
export const FILES = {
  'data/a.txt': 'WORD',
  'data/b.txt': 'WORD',
  'data/deep/c.txt': 'WORD',
  'data/f.json': '"WORD"',
  'data/pointer.txt': 'data/a.txt',
  'data/word.txt': 'WORD',
  'lib/d.cjs': "exports.word = require('./e.cjs').word + 'WORD'",
  'lib/e.cjs': "exports.word = 'WORD'",
  'lib/g.mjs': "import { word as inner } from './h.mjs'\nexport const word = inner + 'WORD'",
  'lib/h.mjs': "export const word = 'WORD'",
  'pages/one.txt': 'WORD',
  'pages/two.txt': 'WORD',
  'pages/more/three.txt': 'WORD',
  'shared/settings.txt': 'WORD',
  'src/e0.js': 'module.exports = WORDS',
}

/** Links, and where an edit may lead them; first to the first place. @type {Readonly<Record<string, readonly [string, ...string[]]>>} */
export const LINKS = {
  'data/link.txt': ['a.txt', 'b.txt', 'deep/c.txt', 'none.txt'],
  'data/linked': ['../pages', '../pages/more', 'deep'],
  'node_modules/gen-three': [
    '.pnpm/gen-three@1.0.0_one/node_modules/gen-three',
    '.pnpm/gen-three@1.0.0_two/node_modules/gen-three',
  ],
}

/** Packages: those of INSTALLED are there at first. */
export const PACKAGES = ['gen-one', 'gen-two', 'gen-three']
export const INSTALLED = ['gen-one']

/** Copies of one version of a package that a link leads to, as pnpm installs them. @type {Readonly<Record<string, string>>} */
export const COPIES = Object.fromEntries(
  ['one', 'two'].flatMap((copy) => {
    const folder = `node_modules/.pnpm/gen-three@1.0.0_${copy}/node_modules/gen-three`
    return [
      [`${folder}/package.json`, '{ "name": "gen-three", "version": "1.0.0", "main": "index.js" }'],
      [`${folder}/index.js`, `exports.word = '${copy}'`],
    ]
  }),
)

export const VARIABLES = ['GEN_A', 'GEN_B', 'GEN_C', 'GEM_D']

/** Path of an address of the server that the runner starts. */
export const ADDRESS = 'http://127.0.0.1:0/value'

const texts = [
  'data/a.txt',
  'data/b.txt',
  'data/deep/c.txt',
  'data/none.txt',
  'data/link.txt',
  'data/linked/one.txt',
  'pages/one.txt',
  'pages/new.txt',
  'shared/settings.txt',
  'src/m0.js',
  'src/m1.js',
  'src/m2.js',
]
const folders = ['data', 'data/deep', 'pages', 'pages/more', 'data/linked', 'pages/new', 'src']
const both = [...texts, ...folders]

/** @param {readonly string[]} kinds @param {readonly string[]} subjects */
const every = (kinds, subjects) => Object.fromEntries(kinds.map((kind) => [kind, subjects]))

/** What each operation may be about. @type {Readonly<Record<string, readonly string[]>>} */
export const KINDS = {
  ...every(
    [
      'readFileSync',
      'readBuffer',
      'readUrl',
      'readCallback',
      'readPromise',
      'readStream',
      'readDescriptor',
      'readHandle',
      'readSelf',
    ],
    texts,
  ),
  readPointer: ['data/pointer.txt'],
  takeSync: ['inbox/one.txt'],
  takeFolder: ['inbox'],
  readUpward: ['data/deep/a.txt', 'data/deep/word.txt', 'pages/more/settings.txt'],
  readExtension: ['data/word', 'data/none', 'data/f'],
  requireJson: ['data/f.json'],
  requireModule: ['lib/d.cjs', 'lib/e.cjs', 'lib/none.cjs'],
  requirePackage: PACKAGES,
  resolvePackage: PACKAGES,
  importModule: ['lib/g.mjs', 'lib/h.mjs', 'lib/d.cjs'],
  ...every(['readdirSync', 'readdirTypes', 'readdirTree', 'readdirPromise', 'opendir', 'walk', 'readAll'], folders),
  ...every(['existsSync', 'accessSync', 'statSync', 'statPromise', 'statQuiet', 'lstatSync'], both),
  size: texts,
  ...every(['realpathSync', 'realpathNative'], both),
  readlinkSync: ['data/link.txt', 'data/linked'],
  ...every(['variable', 'variableIn', 'variableSpread', 'variableOwn'], VARIABLES),
  ...every(['variableNames', 'variableEntries'], ['GEN_', 'GEM_']),
  ...every(['execFileSync', 'spawn', 'worker'], texts),
  ...every(['fetch', 'httpGet', 'connect'], [ADDRESS]),
  ...every(['writeFile', 'writeMore', 'writeStream', 'writeRenamed', 'writeLink', 'writeAndRead'], texts),
  ...every(['copyFile', 'copyByProcess', 'emit', 'makeFolder', 'useTemporary'], texts),
  executeModule: ['src/e0.js'],
}
