/** Code that names the file of its own module: it becomes relative only where another path in its place changes nothing else. */
import { describe, expect, it } from 'vitest'
import { isPlainPath, OwnPath, Root } from '../../../packages/plugins/dist/build/root.js'

const PATH = '/home/me/one/src/App.vue'
const NO_POSITIONS = { mappings: 'AAAA;;' }

/** The code as another checkout restores it, and whether the entry is valid for the first one only. */
function moved(code: string, { map, path = PATH }: { map?: unknown; path?: string } = {}): [string, boolean] {
  const [entry, isBound] = new Root('/home/me/one').relativeEntry({ returned: { code } }, new OwnPath(path, map))
  const { returned } = new Root('/home/me/number-two').absoluteEntry(entry) as { returned: { code: string } }
  return [returned.code, isBound]
}

describe('code that names its own module', () => {
  it.each([
    ['as a literal', `const a = 1\nconst file = "${PATH}"`],
    ['with a query', `const a = 1\nimport "${PATH}?vue&type=style&index=0"`],
    ['twice in a line', `const a = 1\nconst files = ["${PATH}", "${PATH}?raw"]`],
  ])('is found in another checkout, with its path: %s', (_, code) => {
    expect(moved(code, { map: NO_POSITIONS })).toEqual([code.replaceAll('/home/me/one', '/home/me/number-two'), false])
  })

  it.each([
    [
      'the source map has positions behind it',
      `const a = 1\nconst file = "${PATH}"`,
      { map: { mappings: 'AAAA;AACA' } },
    ],
    ['the source map cannot be read', `const a = 1\nconst file = "${PATH}"`, { map: '{"mappings":""}' }],
    ['it is in a comment', `// see ${PATH}`, {}],
    ['it is in a template', `const file = \`${PATH}\``, {}],
    ['it is the beginning of another path', `const file = "${PATH}.map"`, {}],
    ['the code names another file, too', `const a = "${PATH}"\nconst file = "/home/me/one/src/Other.vue"`, {}],
    [
      'a literal may spell it otherwise',
      'const file = "/home/me/one/src/my page.vue"',
      { path: '/home/me/one/src/my page.vue' },
    ],
  ])('is valid for its checkout only if %s', (_, code, options) => {
    expect(moved(code, options)[1]).toBe(true)
  })

  it('a root counts as plain if no literal has to escape it', () => {
    expect(['/home/me/one', '/tmp/a-b_c.d@1+2'].map(isPlainPath)).toEqual([true, true])
    const others = [
      '/home/my files',
      '/home/m"e',
      "/home/m'e",
      '/home/ä',
      '/home/$x',
      'C:\\one',
      '/a?b',
      '/a#b',
      '/a%20b',
    ]
    expect(others.map(isPlainPath)).not.toContain(true)
  })
})
