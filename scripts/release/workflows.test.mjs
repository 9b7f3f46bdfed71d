// @ts-check
// The workflows of GitHub: they run only scripts of package.json, use only actions whose code is pinned or GitHub's own, and have no more
// rights than they need.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { at } from '../common/root.mjs'

const FOLDER = '.github/workflows'
const { scripts } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
const workflows = readdirSync(at(FOLDER)).map(
  (name) => /** @type {const} */ ([name, readFileSync(at(`${FOLDER}/${name}`), 'utf8')]),
)

/** The values of a field, in the order of the file. @param {string} text @param {string} field */
const valuesOf = (text, field) =>
  [...text.matchAll(new RegExp(`^ *(?:- )?${field}: *(.*?)(?: #.*)?$`, 'gm'))].map(([, value = '']) => value)

describe.each(workflows)('workflow %s', (name, text) => {
  it('the workflows run only scripts that exist', () => {
    const commands = valuesOf(text, 'run')
    expect(commands.length).toBeGreaterThan(0)
    const known = (/** @type {string} */ command) => {
      const script = /^npm test(?: -- [-/\w ]+)?$/.test(command)
        ? 'test'
        : /^npm run ([\w:]+)(?: -- [-\w ]+)?$/.exec(command)?.[1]
      return script !== undefined && scripts[script] !== undefined
    }
    expect(commands.filter((command) => !known(command))).toEqual([])
  })

  it('uses only actions of GitHub or of a known commit', () => {
    const actions = valuesOf(text, 'uses')
    expect(actions.filter((action) => !/^(?:actions\/[\w-]+@v\d+|[\w./-]+@[0-9a-f]{40})$/.test(action))).toEqual([])
  })

  it('may read the repository, and publishes only from the job that needs to', () => {
    expect(text).toMatch(/^permissions:\n {2}contents: read\n\n/m)
    const rights = text.match(/^ *[\w-]+: (?:write|read)\b.*$/gm)?.map((line) => line.trim().replace(/ #.*/, '')) ?? []
    const publishing = name === 'release.yml' ? ['contents: read', 'id-token: write'] : []
    expect(rights).toEqual(['contents: read', ...publishing])
    expect(text).not.toMatch(/write-all|secrets\./)
  })
})
