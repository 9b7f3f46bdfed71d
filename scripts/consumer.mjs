// @ts-check
// Tests the packages as users get them: each is packed as for the registry and unpacked into its own directory. A
// program is compiled against it (NodeNext, import and require) and run (both engines, import and require, without a warning).
import { cp, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { at } from './root.mjs'
import { run } from './steps.mjs'
import { npm, tsc } from './tools.mjs'

const FIXTURE = 'test/types'
const PACKAGES = ['varve', '@varve/plugins']
/** The other packages of a consumer: types of Node, and the bundlers. */
const INSTALLED = ['@types/node', '@rspack/core', 'esbuild', 'rolldown', 'rollup', 'vite', 'webpack']

export async function checkConsumer() {
  const folder = await mkdtemp(join(tmpdir(), 'varve-consumer-'))
  try {
    await cp(at(FIXTURE), folder, { recursive: true })
    for (const name of PACKAGES) await unpack(name, folder)
    for (const name of INSTALLED) await link(name, folder)
    for (const project of ['tsconfig.json', 'tsconfig.plugins.json']) await tsc(['--project', join(folder, project)])
    for (const script of ['import.mjs', 'require.cjs']) await runProgram(join(folder, script))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param {string} name @param {string} folder */
async function unpack(name, folder) {
  const packed = await npm(['pack', '--json', '--silent', '--workspace', name, '--pack-destination', folder])
  const filename = /"filename":\s*"([^"]+)"/.exec(packed)?.[1]
  if (filename === undefined) throw new Error(`npm pack named no file:\n${packed}`)
  const target = join(folder, 'node_modules', name)
  await mkdir(dirname(target), { recursive: true })
  await run('tar', ['-x', '-z', '-f', filename], { cwd: folder })
  await rename(join(folder, 'package'), target)
}

/** @param {string} name @param {string} folder */
async function link(name, folder) {
  const target = join(folder, 'node_modules', name)
  await mkdir(dirname(target), { recursive: true })
  await symlink(at(`node_modules/${name}`), target, 'junction')
}

/** @param {string} script prints "ok"; anything else is a warning that users would see */
async function runProgram(script) {
  const output = await run(process.execPath, [script], { cwd: dirname(script) })
  if (output.trim() !== 'ok') throw new Error(`${script} printed:\n${output}`)
}
