// @ts-check
// Inspects the addon of a platform without running it: the architecture, the libraries and versions that it needs, its exports, its
// size, and that it contains no path of the machine that built it. The tools of LLVM read the file.
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { root } from '../common/root.mjs'
import { run } from '../common/steps.mjs'
import { rustEnv } from '../common/tools.mjs'

const BYTES_MAX = 2_400_000

/** What `llvm-readobj` calls the formats. @type {Readonly<Record<string, string>>} */
const FORMATS = {
  'linux-x64': 'elf64-x86-64',
  'linux-arm64': 'elf64-littleaarch64',
  'darwin-x64': 'Mach-O 64-bit x86-64',
  'darwin-arm64': 'Mach-O arm64',
  'win32-x64': 'COFF-x86-64',
  'win32-arm64': 'COFF-ARM64',
}

/** The libraries that every system of a kind has. @type {Readonly<Record<string, RegExp>>} */
const LIBRARIES = {
  glibc: /^(?:libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*)$/,
  musl: /^libc\.so$/,
  darwin: /^\/usr\/lib\/lib(?:System\.B|iconv\.2|charset\.1)\.dylib$|^@rpath\/varve\.node$/,
  win32: /^(?:kernel32|ntdll|bcryptprimitives|advapi32|userenv|ws2_32|api-ms-win-[\w-]+)\.dll$/i,
}

/**
 * Throws with everything that is wrong with the addon.
 * @param {import('./platforms.mjs').Platform} platform
 * @param {string} addon
 */
export async function inspect(platform, addon) {
  const { os, cpu, libc } = platform
  const header = await llvm('llvm-readobj', ['--file-headers', '--needed-libs', addon])
  const imports = os === 'win32' ? await llvm('llvm-readobj', ['--coff-imports', addon]) : ''
  const symbols = os === 'linux' ? await llvm('llvm-nm', ['--dynamic', addon]) : await exportsOf(os, addon)
  const bytes = await readFile(addon)
  const libraries =
    os === 'win32' ? [...imports.matchAll(/^Import \{\s+Name: (.+)$/gm)].map(([, name = '']) => name) : neededBy(header)
  const wrong = [
    ...differs('format', /^Format: (.+)$/m.exec(header)?.[1], FORMATS[`${os}-${cpu}`]),
    ...libraries.filter((name) => LIBRARIES[libc ?? os]?.test(name) !== true).map((name) => `it needs ${name}`),
    ...(libraries.length === 0 ? ['it needs no library at all, so it was not read properly'] : []),
    ...(/\b_?napi_register_module_v1\b/.test(symbols) ? [] : ['it does not export napi_register_module_v1']),
    ...newerThan(
      platform,
      os === 'darwin' ? await llvm('llvm-objdump', ['--macho', '--private-headers', addon]) : symbols,
    ),
    ...(bytes.length > BYTES_MAX ? [`it has ${bytes.length} bytes, more than ${BYTES_MAX}`] : []),
    ...[root, homedir()].filter((path) => bytes.includes(`${path}/`)).map((path) => `it contains the path ${path}`),
  ]
  if (wrong.length > 0) throw new Error(`${addon}:\n${wrong.map((line) => `  ${line}`).join('\n')}`)
}

/** @param {string} name @param {unknown} found @param {unknown} expected */
const differs = (name, found, expected) => (found === expected ? [] : [`its ${name} is ${found}, not ${expected}`])

/** @param {string} header */
const neededBy = (header) =>
  (/^NeededLibraries \[\n([^\]]*)\]/m.exec(header)?.[1] ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

/** @param {string} os @param {string} addon */
const exportsOf = (os, addon) =>
  os === 'win32'
    ? llvm('llvm-readobj', ['--coff-exports', addon])
    : llvm('llvm-objdump', ['--macho', '--exports-trie', addon])

/**
 * The versions of the C library or system above the floor.
 * @param {import('./platforms.mjs').Platform} platform
 * @param {string} text
 */
function newerThan({ os, floor }, text) {
  if (floor === undefined) return []
  const pattern = os === 'darwin' ? /\bminos (\d+\.\d+)/g : /@GLIBC_(\d+\.\d+)/g
  const versions = new Set([...text.matchAll(pattern)].map(([, version = '']) => version))
  if (versions.size === 0) return ['it names no version of the system, so it was not read properly']
  const order = new Intl.Collator('en', { numeric: true })
  return [...versions]
    .filter((version) => order.compare(version, floor) > 0)
    .map((version) => `it needs version ${version}, above ${floor}`)
}

/** Runs a tool of rustup's component llvm-tools. @param {string} tool @param {readonly string[]} args */
async function llvm(tool, args) {
  const env = rustEnv()
  const [sysroot = '', version = ''] = await Promise.all([
    run('rustc', ['--print', 'sysroot'], { env }),
    run('rustc', ['-vV'], { env }),
  ])
  const host = /^host: (.+)$/m.exec(version)?.[1] ?? ''
  return run(join(sysroot.trim(), 'lib/rustlib', host, 'bin', tool), args)
}
