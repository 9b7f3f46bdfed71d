/** Plugins that keep something of one module until a later hook. A hit of the first hook would leave the later one without it. */
import { readFileSync } from 'node:fs'
import type { Plugin as EsbuildPlugin } from 'esbuild'
import type { Plugin } from 'rollup'
import type { Make } from './project.ts'

/** Plugins of Rollup's family. */
type Plugins = () => readonly Plugin[]

const isOurs = (id: string): boolean => /src.[\w-]+\.js$/.test(id)
const replaced = (code: string): { code: string; map: null } => ({ code: code.replace('WORD', 'word'), map: null })

/** A plugin that counts words in `transform`, and uses the counts in another hook. */
function counting(use: (seen: string[]) => Partial<Plugin>): Plugins {
  return () => {
    const seen: string[] = []
    return [
      {
        name: 'counting',
        transform(code, id) {
          if (!isOurs(id)) return null
          seen.push(/'(.*)'/.exec(code)?.[1] ?? '')
          return replaced(code)
        },
        ...use(seen),
      },
    ]
  }
}

const listOf = (seen: readonly string[]): string => [...seen].sort().join()

/** By the hook that uses what was kept. */
export const COLLECTING: Readonly<Record<string, Plugins>> = {
  generateBundle: counting((seen) => ({
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'words.txt', source: listOf(seen) })
    },
  })),
  buildEnd: counting((seen) => ({
    buildEnd() {
      this.emitFile({ type: 'asset', fileName: 'words.txt', source: listOf(seen) })
    },
  })),
  renderStart: counting((seen) => ({
    renderStart() {
      this.emitFile({ type: 'asset', fileName: 'words.txt', source: listOf(seen) })
    },
  })),
  renderChunk: counting((seen) => ({
    renderChunk: (code) => ({ code: `/* ${listOf(seen)} */\n${code}`, map: null }),
  })),
  banner: counting((seen) => ({ banner: () => `/* ${listOf(seen)} */` })),
  'an object with renderChunk': counting((seen) => ({
    renderChunk: { order: 'post', handler: (code) => ({ code: `/* ${listOf(seen)} */\n${code}`, map: null }) },
  })),
}

/** A plugin of two parts, as packages return them: one collects, the other one emits. */
export const IN_TWO_PARTS: Plugins = () => {
  const seen: string[] = []
  return [
    { name: 'pair:scan', transform: (code, id) => (isOurs(id) ? (seen.push(code), replaced(code)) : null) },
    {
      name: 'pair:emit',
      generateBundle() {
        this.emitFile({ type: 'asset', fileName: 'words.txt', source: listOf(seen) })
      },
    },
  ]
}

/** The modules that results lead to, which nothing but a plugin can load. */
export const LEADING: Readonly<Record<string, Plugins>> = {
  'a module of its own for each module': () => {
    const words = new Map<string, string>()
    return [
      {
        name: 'styles',
        resolveId: (source) => (source.startsWith('virtual:') ? `\0${source}` : null),
        load: (id) => words.get(id) ?? null,
        transform(code, id) {
          if (!isOurs(id)) return null
          const own = `virtual:${/(\w+)\.js$/.exec(id)?.[1]}.words`
          words.set(`\0${own}`, `console.log('words of ' + ${JSON.stringify(code)})`)
          return { code: `import '${own}'\n${code}`, map: null }
        },
      },
    ]
  },
  'a module of its own for all modules, which the source imports': () => {
    const seen: string[] = []
    return [
      {
        name: 'all-words',
        resolveId: (source) => (source === 'virtual:all' ? '\0virtual:all' : null),
        async load(id) {
          if (id !== '\0virtual:all') return null
          for (let tries = 0; tries < 40 && seen.length === 0; tries++)
            await new Promise((resolve) => setTimeout(resolve, 5))
          return `console.log(${JSON.stringify(seen.length > 0 ? 'seen' : 'nothing')})`
        },
        transform(code, id) {
          if (!isOurs(id)) return null
          seen.push(code)
          return replaced(code)
        },
      },
    ]
  },
  'a module that another plugin of the package loads': () => {
    const words = new Map<string, string>()
    return [
      {
        name: 'first-words',
        transform(code, id) {
          if (!isOurs(id)) return null
          const own = `own-words/${/(\w+)\.js$/.exec(id)?.[1]}`
          words.set(`\0${own}`, `console.log('words of ' + ${JSON.stringify(code)})`)
          return { code: `import "${own}"\n${code}`, map: null }
        },
      },
      {
        name: 'second',
        resolveId: (source) => (source.startsWith('own-words/') ? `\0${source}` : null),
        load: (id) => words.get(id) ?? null,
      },
    ]
  },
  'its own file with a query': () => {
    const words = new Map<string, string>()
    return [
      {
        name: 'parts',
        load(id) {
          if (!id.includes('?words')) return null
          const found = words.get(id.replace(/\?.*/, ''))
          return found === undefined ? 'throw new Error("no words")' : found
        },
        transform(code, id) {
          if (!isOurs(id)) return null
          words.set(id, `console.log('words of ' + ${JSON.stringify(code)})`)
          return { code: `import ${JSON.stringify(`${id}?words`)}\n${code}`, map: null }
        },
      },
      { name: 'queries', resolveId: (source) => (source.includes('?words') ? source : null) },
    ]
  },
  'a chunk that it emits': () => {
    const words = new Map<string, string>()
    return [
      {
        name: 'first-chunks',
        transform(code, id) {
          if (!isOurs(id)) return null
          const own = `\0chunk-${/(\w+)\.js$/.exec(id)?.[1]}`
          words.set(own, `console.log('words of ' + ${JSON.stringify(code)})`)
          this.emitFile({ type: 'chunk', id: own, fileName: `${own.slice(1)}.js` })
          return replaced(code)
        },
      },
      { name: 'second', resolveId: (id) => (words.has(id) ? id : null), load: (id) => words.get(id) ?? null },
    ]
  },
}

/** A plugin of esbuild that replaces WORD, and what it registers besides. */
function loading(name: string, more: (seen: Map<string, string>) => Partial<EsbuildParts>): Make {
  return () => {
    const seen = new Map<string, string>()
    const { contents = (text: string) => text, setup, others = [] } = more(seen)
    const plugin: EsbuildPlugin = {
      name,
      setup(build) {
        build.onLoad({ filter: /src.\w+\.js$/ }, ({ path }) => {
          const text = readFileSync(path, 'utf8').replace('WORD', 'word')
          seen.set(path, `console.log('words of ' + ${JSON.stringify(text)})`)
          return { contents: contents(text, path) }
        })
        setup?.(build)
      },
    }
    return [plugin, ...others]
  }
}

interface EsbuildParts {
  readonly contents: (text: string, path: string) => string
  readonly setup: EsbuildPlugin['setup']
  readonly others: readonly EsbuildPlugin[]
}

const nameOf = (path: string): string => /(\w+)\.js$/.exec(path)?.[1] ?? ''
const find = (seen: Map<string, string>, name: string): string =>
  [...seen].find(([path]) => nameOf(path) === name)?.[1] ?? ''

/** Those that esbuild's callbacks show. */
export const ESBUILD: Readonly<Record<string, Make>> = {
  'writes what it collected when the build ends': loading('collecting', (seen) => ({
    setup({ onEnd }) {
      onEnd(({ outputFiles = [] }) => {
        const [first] = outputFiles
        if (first === undefined) return
        const text = [...seen.values()].sort().join('\n')
        outputFiles.push({
          ...first,
          path: first.path.replace('main.js', 'words.txt'),
          contents: Buffer.from(text),
          text,
        })
      })
    },
  })),
  'loads modules in a namespace of its own': loading('named', (seen) => ({
    contents: (text, path) => `import 'words:${nameOf(path)}'\n${text}`,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^words:/ }, ({ path }) => ({ path: path.slice(6), namespace: 'words' }))
      onLoad({ filter: /./, namespace: 'words' }, ({ path }) => ({ contents: find(seen, path) }))
    },
  })),
  'loads a file that does not exist': loading('files', (seen) => ({
    contents: (text, path) => `import ${JSON.stringify(`${path}.words`)}\n${text}`,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\.words$/ }, ({ path }) => ({ path }))
      onLoad({ filter: /\.words$/ }, ({ path }) => ({ contents: seen.get(path.replace(/\.words$/, '')) ?? '' }))
    },
  })),
  'loads its own file again, in any namespace': loading('again', (seen) => ({
    contents: (text, path) => `import ${JSON.stringify(`${path}`)} with { type: 'words' }\n${text}`,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\.js$/ }, ({ path, with: { type } }) =>
        type === 'words' ? { path: path.replace(/\.js$/, '.list'), namespace: 'words' } : undefined,
      )
      onLoad({ filter: /\.list$/ }, ({ path }) => ({ contents: find(seen, nameOf(path.replace(/list$/, 'js'))) }))
    },
  })),
}

/** One whose result another plugin resolves and loads. */
export const ESBUILD_LEADING: Make = loading('leading', (seen) => ({
  contents: (text, path) => `import "words:${nameOf(path)}"\n${text}`,
  others: [
    {
      name: 'other',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^words:/ }, ({ path }) => ({ path: path.slice(6), namespace: 'words' }))
        onLoad({ filter: /./, namespace: 'words' }, ({ path }) => ({ contents: find(seen, path) }))
      },
    },
  ],
}))
