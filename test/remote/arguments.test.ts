/**
 * What the functions of the package do not take is an error that names it. A misspelled option was ignored, so that `gc` with
 * `dryrun` removed objects, and values of another kind were TypeErrors or times of one millisecond.
 */
import { join } from 'node:path'
import {
  compact,
  directory,
  gc,
  generateKeys,
  openRemote,
  type OpenRemote,
  pull,
  push,
  remoteStatus,
  type RemoteOptions,
  revoke,
  verifyRemote,
} from '@varve/remote'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

function optionsIn(folder: string): RemoteOptions {
  const { publicKey, signingKey } = generateKeys()
  const store = directory(join(folder, 'store'))
  return { store, dir: join(folder, 'layers'), trustedKeys: [publicKey], signingKey, mode: 'read-write' }
}

type Call = (remote: OpenRemote, options: never) => Promise<unknown>
const CALLS: readonly [string, Call][] = [
  ['compact', compact],
  ['gc', gc],
  ['pull', pull],
  ['push', (remote, options) => push(remote, Object.assign({ caches: [] }, options))],
  ['remoteStatus', remoteStatus],
  ['revoke', (remote, options) => revoke(remote, '0123456', options)],
  ['verifyRemote', verifyRemote],
]

describe('arguments of the functions of a remote', () => {
  it.each(CALLS)(
    '%s refuses an option that it does not have, one of another kind, and what is no remote',
    async (name, call) => {
      const remote = openRemote(optionsIn(makeFolder()))
      const refusal = (given: unknown): Promise<unknown> => call(remote, given as never)
      await expect(refusal({ dryrun: true })).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining(`${name}() has no option 'dryrun'`),
      })
      await expect(refusal({ signal: 5 })).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining("option 'signal'"),
      })
      const isNoRemote = {
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(`${name}() takes what openRemote() returns`),
      }
      await expect(call({} as never, {} as never)).rejects.toMatchObject(isNoRemote)
      await expect(call(undefined as never, {} as never)).rejects.toMatchObject(isNoRemote)
    },
  )

  it.each<[string, Call, object, string]>([
    ['gc', gc, { graceMs: 'day' }, 'graceMs'],
    ['gc', gc, { graceMs: -1 }, 'graceMs'],
    ['gc', gc, { dryRun: 'yes' }, 'dryRun'],
    ['pull', pull, { commits: 'abcdef0' }, 'commits'],
    ['push', push, {}, 'caches'],
    ['push', push, { caches: [{ name: 'a' }] }, 'caches'],
    ['push', push, { caches: [], skipSmall: 1 }, 'skipSmall'],
  ])('%s names the option that has another kind of value: %s %s', async (_, call, options, field) => {
    const failing = call(openRemote(optionsIn(makeFolder())), options as never)
    await expect(failing).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(`option '${field}'`),
    })
  })

  it.each([
    ['scope', 5],
    ['base', 'trusted/main'],
    ['base', [5]],
    ['untrustedKeys', 'key'],
    ['commits', 'abcdef0'],
    ['budgetMs', '5s'],
    ['budgetMs', 0],
    ['budgetMs', Number.NaN],
    ['budgetMs', 2 ** 31],
  ])('openRemote refuses %s: %s', (field, value) => {
    const refused = expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(`option '${field}'`),
    })
    expect(() => openRemote({ ...optionsIn('folder'), [field]: value })).toThrow(refused)
  })
})
