/** Who may read and write a bucket, as the server enforces it: readers have no way to write, and a public bucket is read without credentials. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BlobStore, remoteDoctor, remoteFromEnvironment, s3, type S3Credentials } from '@varve/remote'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'
import { KEYS, Machine, namesOf } from './machines.ts'
import { CREDENTIALS, type Started, startS3, VERSITYGW } from './servers.ts'
import { authorization } from './sigv4.ts'

const READER: S3Credentials = { accessKeyId: 'reader', secretAccessKey: 'THE-SECRET-OF-THE-READER' }

describe.skipIf(startS3 === undefined)('S3 (versitygw)', () => {
  let started: Started | undefined
  let endpoint = ''

  beforeAll(async () => {
    started = await startS3?.()
    endpoint = new URL(started?.address ?? '').searchParams.get('endpoint') ?? ''
    const { accessKeyId, secretAccessKey } = CREDENTIALS
    const admin = ['admin', '--access', accessKeyId, '--secret', secretAccessKey, '--endpoint-url', endpoint]
    const user = ['create-user', '--access', READER.accessKeyId, '--secret', READER.secretAccessKey, '--role', 'user']
    await promisify(execFile)(VERSITYGW, [...admin, ...user])
  })
  afterAll(async () => started?.stop())

  /** Lets `principal` read the bucket. */
  async function allowReading(principal: string): Promise<void> {
    const allow = (Action: string, Resource: string): object => ({
      Effect: 'Allow',
      Principal: { AWS: [principal] },
      Action,
      Resource,
    })
    const Statement = [allow('s3:GetObject', 'arn:aws:s3:::bucket/*'), allow('s3:ListBucket', 'arn:aws:s3:::bucket')]
    const body = JSON.stringify({ Version: '2012-10-17', Statement })
    const headers = {
      host: new URL(endpoint).host,
      'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
      'x-amz-date': `${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`,
    }
    const { accessKeyId, secretAccessKey } = CREDENTIALS
    const request = { method: 'PUT', target: '/bucket?policy', headers }
    const signature = authorization(request, Object.keys(headers).join(';'), 'us-east-1', accessKeyId, secretAccessKey)
    const { status } = await fetch(`${endpoint}/bucket?policy`, {
      method: 'PUT',
      headers: { ...headers, authorization: signature },
      body,
    })
    expect(status).toBeLessThan(300)
  }

  const storeOf = (credentials?: S3Credentials): BlobStore =>
    s3({ bucket: 'bucket', prefix: 'access', endpoint, credentials })

  it.each([
    ['a reader', READER.accessKeyId, READER],
    ['all without credentials', '*', undefined],
  ])(
    'a bucket that %s may read: it is read, and neither written nor deleted, whatever key the machine has',
    async (_, principal, credentials) => {
      const owned = storeOf(CREDENTIALS)
      await (await new Machine(owned).put({ [principal]: '1' })).push()
      await allowReading(principal)
      const reader = new Machine(storeOf(credentials))
      expect(await reader.read()).toMatchObject({ [principal]: '1' })
      const before = await namesOf(owned)
      const head = await owned.get('v1/trusted/main/head')
      await reader.put({ poison: 'x' })
      await expect(reader.push()).rejects.toMatchObject({ code: 'REMOTE_DENIED' })
      const put = { sha256: undefined, ifMatch: head?.etag }
      await expect(reader.store.put('v1/trusted/main/head', new Uint8Array(9), put)).rejects.toMatchObject({
        code: 'REMOTE_DENIED',
      })
      await expect(reader.store.delete?.(['v1/trusted/main/head'])).rejects.toMatchObject({ code: 'REMOTE_DENIED' })
      expect([await namesOf(owned), (await owned.get('v1/trusted/main/head'))?.bytes]).toEqual([before, head?.bytes])
    },
  )

  it('a machine whose clock is an hour behind is refused, and the doctor names the clock', async () => {
    const owned = s3({ bucket: 'bucket', prefix: 'clock', endpoint, credentials: CREDENTIALS })
    await (await new Machine(owned).put({ a: '1' })).push()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
    try {
      const machine = new Machine(owned)
      await expect(machine.pullPaths()).rejects.toMatchObject({
        code: 'REMOTE_DENIED',
        message: expect.stringContaining('RequestTimeTooSkewed'),
      })
      const { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY } = CREDENTIALS
      const env = {
        VARVE_REMOTE: started?.address,
        VARVE_TRUSTED_KEYS: KEYS.publicKey,
        AWS_ACCESS_KEY_ID,
        AWS_SECRET_ACCESS_KEY,
      }
      const { ok, findings } = await remoteDoctor(env, { dir: join(makeFolder(), 'layers') })
      const [found, advice] = [expect.stringMatching(/^3\d{3} s ahead of/), expect.stringContaining('set the clock')]
      const clock = { what: 'clock of the server', found, advice }
      expect([ok, findings]).toEqual([false, expect.arrayContaining([clock])])
    } finally {
      vi.useRealTimers()
    }
  })

  it('the environment of a pull request from a fork, whose secrets are empty, reads a public bucket; writing needs credentials', async () => {
    const owned = s3({ bucket: 'bucket', prefix: 'team', endpoint, credentials: CREDENTIALS })
    await (await new Machine(owned).put({ a: '1' })).push()
    await allowReading('*')
    const machine = new Machine(owned)
    const env = {
      VARVE_REMOTE: started?.address,
      VARVE_TRUSTED_KEYS: KEYS.publicKey,
      VARVE_SIGNING_KEY: '',
      AWS_ACCESS_KEY_ID: '',
      AWS_SECRET_ACCESS_KEY: '',
    }
    const remote = remoteFromEnvironment(env, { dir: join(makeFolder(), 'layers') })
    expect(await machine.read(remote)).toEqual({ a: '1' })
    const writing = { ...env, VARVE_REMOTE_MODE: 'read-write', VARVE_SIGNING_KEY: KEYS.signingKey }
    const { ok, findings } = await remoteDoctor(env, { dir: join(makeFolder(), 'layers') })
    expect([ok, findings.find(({ what }) => what === 'credentials')?.note]).toEqual([
      true,
      expect.stringContaining('not signed'),
    ])
    expect(() => remoteFromEnvironment(writing, { dir: makeFolder() })).toThrow(/accessKeyId/)
  })
})
