/**
 * Native packages whose work depends on nothing but what they are called with, so that results of a plugin that uses them are
 * stored. The one list: each line has a test in `test/reads/known.test.ts`.
 */
import type { Opaque } from './sink.ts'

/** Packages by the name in their path, and the versions that are known. */
const KNOWN: readonly { readonly path: RegExp; readonly why: string }[] = [
  { path: /[\\/]node_modules[\\/](?:@esbuild[\\/][\w-]+|esbuild)[\\/]/, why: 'esbuild: `transform` reads no files; its service is one process' },
  { path: /[\\/]node_modules[\\/]@rolldown[\\/]binding-[\w-]+[\\/]/, why: 'rolldown: reports the files that it loads' },
  { path: /[\\/]node_modules[\\/]@rollup[\\/]rollup-[\w-]+[\\/]/, why: 'rollup: parses what it is given' },
  { path: /[\\/]node_modules[\\/]@rspack[\\/]binding-[\w-]+[\\/]/, why: 'rspack: reports the files that it loads' },
  { path: /[\\/]node_modules[\\/]lightningcss-[\w-]+[\\/]/, why: 'lightningcss: `transform` reads no files' },
  { path: /[\\/]node_modules[\\/]@oxc-(?:parser|transform|minify)[\\/]binding-[\w-]+[\\/]/, why: 'oxc: works on what it is given' },
]

/** Whether nothing is hidden behind this event. */
export function isKnown({ what }: Opaque): boolean {
  return isVarve(what) || KNOWN.some(({ path }) => path.test(what))
}

/** The engine itself, in whatever package it lies. */
function isVarve(what: string): boolean {
  return /[\\/]varve\.[\w-]+\.node$/.test(what)
}
