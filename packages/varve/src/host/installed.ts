/** Finds a package that a project installs beside varve if it uses it, such as `@varve/remote`. */
import { VarveError } from '../errors.ts'
import { builtin } from './builtin.ts'
import { codeFile } from './code.ts'

/** The URL of the package, as the project has installed it, or else as varve finds it. Throws INVALID_OPTION if it is missing. */
export function installedPackage(name: '@varve/remote' | '@varve/view'): string {
  const [modules, urls, paths] = [builtin('node:module'), builtin('node:url'), builtin('node:path')]
  const project = paths?.join(globalThis.process.cwd(), 'package.json')
  for (const from of [project, codeFile()]) {
    try {
      if (from !== undefined) return urls?.pathToFileURL(modules?.createRequire(from).resolve(name) ?? '').href ?? ''
    } catch {
      // It is not installed there.
    }
  }
  throw new VarveError('INVALID_OPTION', `'${name}' is not installed; run 'npm install --save-dev ${name}'`)
}
