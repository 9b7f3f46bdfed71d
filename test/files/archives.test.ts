/** Archives: both engines import the same manifest from any archiver, and refuse hostile archives. */
import { execFileSync } from 'node:child_process'
import {
  createReadStream,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { EVERYTHING, open, read, type Tree, write } from './trees.ts'

/** Small ones, and one with more files than are stored one after another. */
const TREES: Record<string, Tree> = {
  everything: EVERYTHING,
  one: { 'a.txt': 'a' },
  many: Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [`d${index % 9}/f${index}.txt`, `${index} `.repeat(index * 7)]),
  ),
}

function tar(root: string, file: string, ...options: string[]): string {
  execFileSync('tar', ['-C', root, ...options, '-cf', file, '.'])
  return file
}

/** A .zst of raw blocks, which every reader accepts. */
function zstd(bytes: Uint8Array): Buffer {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0])
  header.writeUInt32LE(bytes.length, 5)
  const parts: Uint8Array[] = [header]
  const BLOCK_BYTES = 128 << 10
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = bytes.subarray(at, at + BLOCK_BYTES)
    const isLast = at + BLOCK_BYTES >= bytes.length ? 1 : 0
    const start = Buffer.alloc(4)
    start.writeUInt32LE((block.length << 3) | isLast)
    parts.push(start.subarray(0, 3), block)
  }
  return Buffer.concat(parts)
}

describe('archives', () => {
  test.each(Object.entries(TREES))('a folder and its archives have the same manifest: %s', async (_name, tree) => {
    const root = write(tree)
    const folder = makeFolder()
    const archives = [
      tar(root, join(folder, 'gnu.tar'), '--format=gnu'),
      tar(root, join(folder, 'pax.tar'), '--format=pax'),
      tar(root, join(folder, 'gzip.tgz'), '--gzip'),
    ]
    const texts = []
    for (const engine of ENGINES) {
      const cache = await open(engine)
      const manifest = await cache.files.store(root)
      for (const archive of archives) {
        for (const input of [archive, readFileSync(archive), createReadStream(archive)]) {
          const imported = await cache.files.importTar(input)
          expect(imported).toEqual({ manifest, warnings: [] })
        }
      }
      const packed = zstd(readFileSync(archives[0] ?? ''))
      expect((await cache.files.importTar(packed)).manifest).toEqual(manifest)
      const web = await cache.files.importTar(
        Readable.toWeb(createReadStream(archives[0] ?? '')) as ReadableStream<Uint8Array>,
      )
      expect(web.manifest).toEqual(manifest)
      const target = makeFolder()
      await cache.files.restore(manifest, target)
      expect(read(target)).toEqual(tree)
      texts.push(JSON.stringify(manifest))
      await cache.close()
    }
    expect(texts[0]).toBe(texts[1])
  })

  test('both engines write the same archive, to a path and to a stream, and read it back', async () => {
    const root = write(EVERYTHING)
    const written = []
    for (const engine of ENGINES) {
      const cache = await open(engine)
      const manifest = await cache.files.store(root)
      const path = join(makeFolder(), 'out.tar')
      await cache.files.exportTar(manifest, path)
      const stream = new PassThrough()
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      await cache.files.exportTar(manifest, stream, { gzip: true })
      const web: Uint8Array[] = []
      await cache.files.exportTar(manifest, new WritableStream<Uint8Array>({ write: (chunk) => void web.push(chunk) }))
      expect(gunzipSync(Buffer.concat(chunks)).equals(readFileSync(path))).toBe(true)
      expect(Buffer.concat(web).equals(readFileSync(path))).toBe(true)
      expect((await cache.files.importTar(path)).manifest).toEqual(manifest)
      const target = makeFolder()
      execFileSync('tar', ['-C', target, '-xf', path])
      expect(read(target)).toEqual(EVERYTHING)
      written.push(readFileSync(path).toString('base64'))
      await cache.close()
    }
    expect(written[0]).toBe(written[1])
  })

  describe.each(ENGINES)('%s', (engine) => {
    test('the last of two archive entries with one path counts, and is reported', async () => {
      const cache = await open(engine)
      const [first, second, folder] = [write({ 'a.txt': 'first' }), write({ 'a.txt': 'second' }), makeFolder()]
      const archive = join(folder, 'twice.tar')
      execFileSync('tar', ['-C', first, '-cf', archive, 'a.txt'])
      execFileSync('tar', ['-C', second, '-rf', archive, 'a.txt'])
      const { manifest, warnings } = await cache.files.importTar(archive)
      expect(warnings).toEqual([expect.stringContaining("'a.txt'")])
      expect(manifest).toEqual(await cache.files.store(second))
      await cache.close()
    })

    test('an import refuses links and devices by name; an option allows symbolic links that stay inside', async () => {
      const cache = await open(engine)
      const [soft, hard, out, pipe, folder] = [
        write({ t: 't' }),
        write({ t: 't' }),
        makeFolder(),
        makeFolder(),
        makeFolder(),
      ]
      symlinkSync('t', join(soft, 'soft'))
      linkSync(join(hard, 't'), join(hard, 'hard'))
      symlinkSync('../../etc/passwd', join(out, 'out'))
      execFileSync('mkfifo', [join(pipe, 'pipe')])
      for (const [root, name] of [
        [soft, 'soft'],
        [out, 'out'],
        [pipe, 'pipe'],
      ] as const) {
        await expect(cache.files.importTar(tar(root, join(folder, name)))).rejects.toMatchObject({
          code: expect.stringMatching(/^(BAD_ARCHIVE|UNSAFE_PATH)$/),
          message: expect.stringContaining(name),
        })
      }
      await expect(cache.files.importTar(tar(hard, join(folder, 'hard')))).rejects.toMatchObject({
        code: 'BAD_ARCHIVE',
      })
      await expect(cache.files.importTar(join(folder, 'out'), { links: 'inside' })).rejects.toMatchObject({
        code: 'UNSAFE_PATH',
      })
      const { manifest } = await cache.files.importTar(join(folder, 'soft'), { links: 'inside' })
      expect(manifest.files).toContainEqual({ path: 'soft', link: 't' })
      await expect(cache.files.store(pipe)).rejects.toMatchObject({
        code: 'UNSAFE_PATH',
        message: expect.stringContaining('pipe'),
      })
      await cache.close()
    })

    test('archives with names that lead out, bombs or damage, or above a limit, are errors and store nothing', async () => {
      const cache = await open(engine)
      const folder = makeFolder()
      const root = write({ 'in/x': 'x' })
      const evil = join(folder, 'evil.tar')
      execFileSync('tar', ['-C', root, '--absolute-names', '--transform', 's,^in,../out,', '-cf', evil, 'in/x'])
      await expect(cache.files.importTar(evil)).rejects.toMatchObject({
        code: 'UNSAFE_PATH',
        message: expect.stringContaining('../out/x'),
      })
      const big = write({ zeros: '\0'.repeat(1 << 20) })
      const bomb = tar(big, join(folder, 'bomb.tgz'), '--gzip')
      await expect(cache.files.importTar(bomb, { maxBytes: 1 << 16 })).rejects.toMatchObject({ code: 'BAD_ARCHIVE' })
      await expect(cache.files.importTar(bomb, { maxFileBytes: 1 << 16 })).rejects.toMatchObject({
        code: 'BAD_ARCHIVE',
      })
      await expect(cache.files.importTar(bomb, { maxFiles: 1 })).rejects.toMatchObject({ code: 'BAD_ARCHIVE' })
      const bytes = readFileSync(bomb)
      await expect(cache.files.importTar(bytes.subarray(0, bytes.length - 20))).rejects.toMatchObject({
        code: 'BAD_ARCHIVE',
      })
      await expect(cache.files.importTar(gzipSync('no archive'))).rejects.toMatchObject({ code: 'BAD_ARCHIVE' })
      await expect(cache.files.importTar(join(folder, 'missing.tar'))).rejects.toMatchObject({ code: 'IO' })
      const failing = Readable.from(
        (function* () {
          yield Buffer.alloc(10)
          throw new Error('network')
        })(),
      )
      await expect(cache.files.importTar(failing)).rejects.toThrow('network')
      await cache.compact({ full: true })
      expect(await cache.files.list()).toEqual([])
      await cache.close()
    })

    test('a failed export keeps the file that was there', async () => {
      const cache = await open(engine)
      const folder = makeFolder()
      mkdirSync(join(folder, 'd'))
      const path = join(folder, 'out.tar')
      writeFileSync(path, 'old')
      const manifest = {
        kind: 'varve-files',
        version: 1,
        files: [{ path: 'a', size: 3, digest: 'ab'.repeat(32) }],
      } as const
      await expect(cache.files.exportTar(manifest, path)).rejects.toMatchObject({
        code: 'FILES_DAMAGED',
        message: expect.stringContaining("'a'"),
      })
      expect(read(folder)).toEqual({ 'out.tar': 'old', d: { folder: true } })
      const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('full')) })
      await expect(cache.files.exportTar(await cache.files.store(folder), broken)).rejects.toThrow('full')
      await cache.close()
    })

    test('an archive is cancelled while its stream is silent or takes nothing, and leaves no temporary file', async () => {
      const cache = await open(engine)
      const manifest = await cache.files.store(write({ a: 'a' }))
      vi.stubEnv('TMPDIR', makeFolder())
      const cancelled = { name: 'VarveError', code: 'CANCELLED' }
      const soon = () => ({ signal: AbortSignal.timeout(50) })
      const silent = [new PassThrough(), new ReadableStream<Uint8Array>()]
      for (const source of silent) await expect(cache.files.importTar(source, soon())).rejects.toMatchObject(cancelled)
      const [node, web] = [
        new Writable({ write: () => {} }),
        new WritableStream<Uint8Array>({ write: () => new Promise(() => {}) }),
      ]
      for (const target of [node, web])
        await expect(cache.files.exportTar(manifest, target, soon())).rejects.toMatchObject(cancelled)
      expect(readdirSync(tmpdir())).toEqual([])
      vi.unstubAllEnvs()
      await cache.close()
    })

    test('an archive that cannot be read or written is a VarveError', async () => {
      const cache = await open(engine)
      const [folder, long] = [write({ d: { folder: true }, file: '' }), 'n'.repeat(300)]
      const manifest = await cache.files.store(folder)
      for (const path of ['d', 'file/below', long].map((name) => join(folder, name))) {
        await expect(cache.files.exportTar(manifest, path)).rejects.toMatchObject({ name: 'VarveError', code: 'IO' })
        await expect(cache.files.importTar(path)).rejects.toMatchObject({ name: 'VarveError', code: 'IO' })
      }
      await cache.files.exportTar(manifest, join(folder, 'n'.repeat(250)))
      await expect(cache.files.importTar('a\0b')).rejects.toMatchObject({
        name: 'VarveError',
        code: 'INVALID_ARGUMENT',
      })
      const failing = Readable.from(
        (function* () {
          yield Buffer.alloc(10)
          throw new Error('network')
        })(),
      )
      await expect(cache.files.importTar(failing)).rejects.toMatchObject({
        name: 'VarveError',
        code: 'IO',
        cause: { message: 'network' },
      })
      const gone = Uint8Array.from(readFileSync(join(folder, 'n'.repeat(250))))
      structuredClone(gone.buffer, { transfer: [gone.buffer] })
      await expect(cache.files.importTar(gone)).rejects.toMatchObject({ name: 'VarveError', code: 'INVALID_ARGUMENT' })
      expect((await cache.files.importTar(join(folder, 'n'.repeat(250)))).manifest).toEqual(manifest)
      vi.stubEnv('TMPDIR', join(folder, 'missing'))
      await expect(cache.files.importTar(new PassThrough())).rejects.toMatchObject({ name: 'VarveError', code: 'IO' })
      vi.unstubAllEnvs()
      await cache.close()
    })

    test.skipIf(process.platform === 'win32')(
      'an archive is written to a pipe, which is not replaced, and to the file of a link',
      async () => {
        const cache = await open(engine)
        const manifest = await cache.files.store(write({ a: 'a' }))
        const folder = write({ file: 'old' })
        const [pipe, link] = [join(folder, 'pipe'), join(folder, 'link')]
        execFileSync('mkfifo', [pipe])
        const reader = createReadStream(pipe)
        await cache.files.exportTar(manifest, pipe)
        expect((await cache.files.importTar(reader)).manifest).toEqual(manifest)
        expect(lstatSync(pipe).isFIFO()).toBe(true)
        symlinkSync('file', link)
        await cache.files.exportTar(manifest, link)
        expect(lstatSync(link).isSymbolicLink()).toBe(true)
        expect((await cache.files.importTar(join(folder, 'file'))).manifest).toEqual(manifest)
        expect(readdirSync(folder).sort()).toEqual(['file', 'link', 'pipe'])
        await cache.close()
      },
    )

    test.skipIf(process.platform === 'win32')(
      'an archive to a socket, which cannot be opened, is a VarveError',
      async () => {
        const cache = await open(engine)
        const manifest = await cache.files.store(write({ a: 'a' }))
        const path = join(makeFolder(), 'socket')
        const server = createServer()
        await new Promise<void>((resolve) => server.listen(path, resolve))
        await expect(cache.files.exportTar(manifest, path)).rejects.toMatchObject({ name: 'VarveError', code: 'IO' })
        server.close()
        await cache.close()
      },
    )
  })
})
