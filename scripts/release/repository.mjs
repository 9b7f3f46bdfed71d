// @ts-check
// Where the source of a package is, for its page in the registry. npm accepts the provenance of a package only if `repository.url` is
// the repository whose workflow published it.
import { readFileSync } from 'node:fs'
import { at } from '../common/root.mjs'

/** The address of the repository, which has its only place in the manifest of the root. @type {{ readonly url: string }} */
const { url } = JSON.parse(readFileSync(at('package.json'), 'utf8')).repository

/**
 * What a published manifest has beside that of the sources.
 * @param {string} directory of the package in the repository
 */
export function repositoryFields(directory) {
  const page = url.replace(/^git\+|\.git$/g, '')
  return { homepage: `${page}#readme`, bugs: { url: `${page}/issues` }, repository: { type: 'git', url, directory } }
}
