/** Anyone who can replace a cache can change the build output, so the API and the command check each component of its path. */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { slow, slowOnWasm } from '../slow.ts'
import type * as trust from '../../packages/varve/src/health/trust.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import {
  ATTACKER,
  BUILDER,
  build,
  cacheOf,
  folderOf,
  HAS_TWO_USERS,
  installIn,
  LateBuild,
  openGround,
  varveAs,
} from './users.ts'

/** Not part of what the package exports, but of no effect that tests without root could see. */
const { distrustDirectory }: typeof trust = await import(
  new URL('../../packages/varve/src/health/trust.ts', import.meta.url).href
)

const UNUSED = { mode: 'memory', inMemory: true, values: [null, 'value'], warnings: ['PERMISSION'] }
const unusedBecause = (why: string): object => ({ ...UNUSED, why: expect.stringContaining(why) })
const USED = { values: ['safe', 'value'], warnings: [] }

describe.skipIf(!HAS_TWO_USERS).each(ENGINES)('trust, as two users: %s', (engine) => {
  it(
    'a link of another user in a sticky directory is not followed, to whatever it leads',
    slowOnWasm(engine),
    async () => {
      const sticky = openGround(0o1777)
      const own = await cacheOf(BUILDER, join(openGround(), 'own'), engine)
      const link = join(sticky, 'cache')
      symlinkSync(own, link)
      lchownSync(link, ATTACKER, ATTACKER)
      expect(build(BUILDER, link, engine)).toEqual(
        unusedBecause(`'${link}' is a symbolic link of user ${ATTACKER} in a directory that others may write to`),
      )
      lchownSync(link, BUILDER, BUILDER)
      expect(build(BUILDER, link, engine)).toEqual(USED)
    },
  )

  it('a link that leads to a link of another user is not followed, also by way of ..', slowOnWasm(engine), async () => {
    const sticky = openGround(0o1777)
    const own = await cacheOf(BUILDER, join(openGround(), 'own'), engine)
    const mine = folderOf(BUILDER, join(sticky, 'mine'))
    symlinkSync('../theirs', join(mine, 'cache'))
    symlinkSync(own, join(sticky, 'theirs'))
    lchownSync(join(sticky, 'theirs'), ATTACKER, ATTACKER)
    expect(build(BUILDER, join(mine, 'cache'), engine)).toEqual(
      unusedBecause(`'${join(sticky, 'theirs')}' is a symbolic link`),
    )
  })

  it(
    'a link in a directory that only root may write to is followed, and what is at its end is looked at',
    slowOnWasm(engine),
    async () => {
      const ground = openGround()
      const foreign = folderOf(ATTACKER, join(ground, 'foreign'))
      await cacheOf(BUILDER, join(foreign, 'cache'), engine)
      symlinkSync('foreign', join(ground, 'link'))
      expect(build(BUILDER, join(ground, 'link/cache'), engine)).toEqual(
        unusedBecause(`'${foreign}' belongs to user ${ATTACKER}`),
      )
      chownSync(foreign, 0, 0)
      expect(build(BUILDER, join(ground, 'link/cache'), engine)).toEqual(USED)
    },
  )

  it('a directory on the way that another user owns or can write to is named', slowOnWasm(engine), async () => {
    const ground = openGround()
    const way = folderOf(ATTACKER, join(ground, 'way'))
    const dir = await cacheOf(BUILDER, join(way, 'cache'), engine)
    expect(build(BUILDER, dir, engine)).toEqual(unusedBecause(`'${way}' belongs to user ${ATTACKER}`))
    chownSync(way, 0, 0)
    for (const mode of [0o777, 0o775]) {
      chmodSync(way, mode)
      expect(build(BUILDER, dir, engine)).toEqual(unusedBecause(`may write to '${way}' (mode ${mode.toString(8)})`))
    }
    chmodSync(way, 0o1777)
    expect(build(BUILDER, dir, engine)).toEqual(USED)
  })

  /** It was looked at when the cache was opened, and only then. */
  it(
    'a directory that another user makes before the first commit is neither written nor read',
    slowOnWasm(engine),
    async () => {
      const sticky = openGround(0o1777)
      const dir = join(sticky, 'cache')
      const late = await LateBuild.begin(BUILDER, dir, engine)
      await cacheOf(ATTACKER, dir, engine)
      const before = snapshot(dir)
      expect([await late.step('refresh'), await late.step('get')]).toEqual([false, null])
      expect(await late.step('commit')).toEqual({ entries: 0, bytes: 0, maintenanceDue: false, inMemory: true })
      expect([await late.step('store'), await late.step('refresh'), await late.step('get')]).toEqual([
        'PERMISSION',
        false,
        null,
      ])
      const why = expect.stringContaining(`'${dir}' belongs to user ${ATTACKER}`)
      expect([await late.step('status'), snapshot(dir)]).toEqual([
        { mode: 'memory', why, warnings: ['PERMISSION'] },
        before,
      ])
      // Once it is gone, everything that was kept is written.
      rmSync(dir, { recursive: true })
      expect([await late.step('commit'), statSync(join(dir, 'v1')).uid]).toEqual([
        expect.objectContaining({ entries: 2 }),
        BUILDER,
      ])
      expect([await late.step('status'), await late.end()]).toEqual([{ warnings: ['PERMISSION'] }, 0])
      expect(build(BUILDER, dir, engine)).toMatchObject({ warnings: [] })
    },
  )

  it(
    'a directory that was removed and that another user made again is neither written nor read',
    slowOnWasm(engine),
    async () => {
      const sticky = openGround(0o1777)
      const dir = await cacheOf(BUILDER, join(sticky, 'cache'), engine)
      const late = await LateBuild.begin(BUILDER, dir, engine)
      expect([await late.step('get'), await late.step('commit')]).toEqual([
        'safe',
        expect.objectContaining({ entries: 1 }),
      ])
      renameSync(dir, join(sticky, 'gone'))
      await cacheOf(ATTACKER, dir, engine)
      const before = snapshot(dir)
      expect(await late.step('commit')).toMatchObject({ inMemory: true })
      expect([await late.step('refresh'), await late.step('store')]).toEqual([false, 'PERMISSION'])
      expect([await late.end(), snapshot(dir)]).toEqual([0, before])
    },
  )

  it(
    'root builds in a project of another user if that user could change Varve itself, and not otherwise',
    slowOnWasm(engine),
    async () => {
      const project = folderOf(BUILDER, join(openGround(), 'project'))
      await cacheOf(0, join(project, 'cache'), engine)
      expect(build(0, join(project, 'cache'), engine)).toEqual(unusedBecause(`'${project}' belongs to user ${BUILDER}`))
      expect(build(0, join(project, 'cache'), engine, { program: installIn(project) })).toEqual(USED)
      // What root wrote into it the owner could not read.
      await cacheOf(BUILDER, join(project, 'theirs'), engine)
      expect(build(0, join(project, 'theirs'), engine, { program: join(project, 'build.mjs') })).toEqual(
        unusedBecause('theirs'),
      )
    },
  )

  it(
    'a project that a group or everybody may write to has a cache if the code of Varve lies there as well',
    slowOnWasm(engine),
    async () => {
      for (const mode of [0o2775, 0o777]) {
        const ground = openGround()
        const project = folderOf(0, join(ground, 'project'))
        execFileSync('chgrp', ['4711', project])
        chmodSync(project, mode)
        const dir = await cacheOf(BUILDER, join(project, 'cache'), engine)
        expect(build(BUILDER, dir, engine)).toEqual(unusedBecause(`may write to '${project}'`))
        expect(build(BUILDER, dir, engine, { program: installIn(project) })).toEqual(USED)
      }
    },
  )
})

describe.skipIf(!HAS_TWO_USERS)('trust, commands as two users', () => {
  const COMMANDS = [
    ['stats'],
    ['ls', '--sort', 'size'],
    ['ls'],
    ['get', 'before'],
    ['why', 'x'],
    ['export'],
    ['repair', '--check'],
    ['gc'],
    ['clear', '--yes', '--namespace', 'n'],
    ['repair'],
    ['import'],
    ['files', 'ls'],
    ['files', 'verify'],
    ['files', 'restore', 'before', 'out'],
    ['files', 'gc'],
  ]

  it.each(COMMANDS)('%s %s does not touch a cache of another user', slow, async (...args) => {
    const ground = openGround(0o1777)
    const dir = await cacheOf(ATTACKER, join(ground, 'cache'), 'native')
    execFileSync('chmod', ['-R', 'a+rwX', dir])
    const before = snapshot(dir)
    const { status, out, err } = varveAs(BUILDER, [...args, '--dir', dir], ground)
    expect([status, out, existsSync(join(ground, 'out'))]).toEqual([4, '', false])
    expect(err).toContain(`'${dir}' belongs to user ${ATTACKER}`)
    expect(snapshot(dir)).toEqual(before)
  })

  it('doctor gives the reason why a directory is not trusted', async () => {
    const ground = openGround(0o1777)
    const dir = await cacheOf(ATTACKER, join(ground, 'cache'), 'native')
    const doctor = varveAs(BUILDER, ['doctor', '--dir', dir], ground)
    expect(doctor).toMatchObject({ status: 1, out: expect.stringContaining(`belongs to user ${ATTACKER}`) })
  })

  it('--shared trusts the owner, and a link of another user in a sticky directory is not followed even so', async () => {
    const ground = openGround(0o1777)
    const dir = await cacheOf(ATTACKER, join(ground, 'cache'), 'native')
    expect(varveAs(BUILDER, ['get', 'before', '--dir', dir, '--shared'], ground)).toEqual({
      status: 0,
      out: 'safe',
      err: '',
    })
    const link = join(ground, 'link')
    symlinkSync(dir, link)
    lchownSync(link, ATTACKER, ATTACKER)
    const linked = varveAs(BUILDER, ['get', 'before', '--dir', link, '--shared'], ground)
    expect(linked).toMatchObject({ status: 4, err: expect.stringContaining('symbolic link') })
  })
})

describe('trust', () => {
  const user = 4711
  const stats = Object.assign(statSync('/'), { uid: user, gid: 4712, mode: 0o40775 })
  const isTrusted = (passwd: string, groups: string): boolean => {
    const tables: Record<string, string> = { '/etc/passwd': passwd, '/etc/group': groups }
    const readFileSync = (path: string): string => tables[path] ?? ''
    const files = { ...fs, readFileSync: readFileSync as typeof fs.readFileSync }
    return (
      distrustDirectory({ path: '/home/ann', stats, left: 3 }, false, { files, user, isShared: false }) === undefined
    )
  }

  /** With umask 002, the default where every user has a group, all directories of a home are like that. */
  it.skipIf(process.platform === 'win32')('a group that has the user and no other may write to a directory', () => {
    expect(isTrusted('ann:x:4711:4712::/home/ann:/bin/sh\n', 'ann:x:4712:\n')).toBe(true)
    expect(isTrusted('ann:x:4711:4712::/home/ann:/bin/sh\n', 'ann:x:4712:ann\n')).toBe(true)
    expect(
      isTrusted('ann:x:4711:4712::/home/ann:/bin/sh\nbob:x:4713:4713::/:/bin/sh\n', 'ann:x:4712:bob\nbob:x:4713:\n'),
    ).toBe(false)
    expect(isTrusted('ann:x:4711:4712::/home/ann:/bin/sh\nbob:x:4713:4712::/:/bin/sh\n', 'ann:x:4712:\n')).toBe(false)
    expect(isTrusted('ann:x:4711:100::/home/ann:/bin/sh\n', 'dev:x:4712:\n')).toBe(false)
    expect(isTrusted('', '')).toBe(false)
  })

  it.skipIf(process.platform === 'win32')(
    'a directory on the way that others may write to is not trusted, without any other user',
    () => {
      const ground = makeFolder()
      mkdirSync(join(ground, 'way'))
      chmodSync(join(ground, 'way'), 0o777)
      const opener = { files: fs, user: process.geteuid?.() ?? 0, isShared: false }
      const component = { path: join(ground, 'way'), stats: statSync(join(ground, 'way')), left: 2 }
      expect(distrustDirectory(component, false, opener)?.why).toContain(
        `may write to '${join(ground, 'way')}' (mode 777)`,
      )
      chmodSync(join(ground, 'way'), 0o1777)
      expect(distrustDirectory({ ...component, stats: statSync(join(ground, 'way')) }, false, opener)).toBeUndefined()
      expect(readdirSync(ground)).toEqual(['way'])
    },
  )
})
