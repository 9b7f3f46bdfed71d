// @ts-check
// The decisions of a release: what has to agree before it starts.
import { describe, expect, it } from 'vitest'
import { optionalDependencies, repositoryFields } from '../build/platforms.mjs'
import { changelogProblems, manifestProblems, packedProblems, sourceProblems } from './versions.mjs'

describe('a release', () => {
  it('finds one version in all packages and crates, and a section of the changelog', () => {
    expect(sourceProblems({ isDated: false })).toEqual([])
  })

  it('is refused if a package has another version, or depends on one', () => {
    const manifest = { name: '@varve/plugins', version: '1.0.0', dependencies: { varve: '^1.0.0', aws4fetch: '2.0.0' } }
    expect(manifestProblems(manifest, '1.0.0')).toEqual(['@varve/plugins: depends on varve ^1.0.0 instead of 1.0.0'])
    expect(manifestProblems({ name: 'varve', version: '1.0.0' }, '1.0.1')).toEqual([
      'varve: the version is 1.0.0 instead of 1.0.1',
    ])
  })

  it('is refused unless the packed varve declares every platform in exactly its version', () => {
    const varve = {
      name: 'varve',
      version: '1.0.0',
      optionalDependencies: optionalDependencies('1.0.0'),
      ...repositoryFields('packages/varve'),
    }
    expect(packedProblems([varve], '1.0.0')).toEqual([])
    const { '@varve/darwin-x64': _, ...others } = varve.optionalDependencies
    expect(packedProblems([{ ...varve, optionalDependencies: others }], '1.0.0')).toEqual([
      'varve: does not declare @varve/darwin-x64',
    ])
    const older = { ...varve, optionalDependencies: optionalDependencies('0.9.0') }
    expect(packedProblems([older], '1.0.0')).toContain('varve: depends on @varve/linux-x64-gnu 0.9.0 instead of 1.0.0')
  })

  it('is refused unless each packed manifest names the repository, without which npm refuses the provenance', () => {
    const dependencies = optionalDependencies('1.0.0')
    expect(packedProblems([{ name: 'varve', version: '1.0.0', optionalDependencies: dependencies }], '1.0.0')).toEqual([
      'varve: names no repository',
    ])
  })

  it('is refused while the changelog has no section, or one without a date', () => {
    expect(changelogProblems('## [1.0.0] - 2026-01-02\n', '1.0.0', true)).toEqual([])
    expect(changelogProblems('## [1.0.0] - unreleased\n', '1.0.0', false)).toEqual([])
    expect(changelogProblems('## [1.0.0] - unreleased\n', '1.0.0', true)).toEqual([
      "CHANGELOG.md: '## [1.0.0] - unreleased' has no date",
    ])
    expect(changelogProblems('## [1.0.0-beta] - 2026-01-02\n', '1.0.0', true)).toEqual([
      'CHANGELOG.md: there is no section for 1.0.0',
    ])
  })
})
