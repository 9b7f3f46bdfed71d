// @ts-check
// Files that many projects have.

/** A module that greets, and another that gives it the words. */
export const GREETING = {
  'src/main.js': `import { greet } from './g.js'
    console.log(greet('w'))`,
  'src/g.js': `export const greet = (n) => 'hello ' + n
    export const x = 1`,
}

/** Two modules with a word that plugins replace. */
export const WORDS = {
  'package.json': '{ "name": "app", "version": "1.0.0", "type": "module" }',
  'src/main.js': `import './a.js'
    console.log('WORD')`,
  'src/a.js': "console.log('a WORD', (x) => x?.y)",
}

/** A plugin of Rollup that replaces the word, by its options. */
export const PLUGIN = String.raw`export const plug = (o = {}) => ({
  name: 'plug',
  transform(code, id) {
    if (!/src.*\.js/.test(id)) return
    const v = typeof o.f === 'function' ? o.f(code) : o.word ?? ''
    return { code: code.replace('WORD', v || 'none'), map: null }
  }
})`
