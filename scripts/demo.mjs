// @ts-check
// `npm run demo`: builds a real application with webpack and babel: without a cache, with webpack's own, and with Varve on both
// engines. Options: --quick (a smaller application), --json (only one JSON array on stdout). bench/remote builds on a fresh machine.
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { SIZES } from './demo/application.mjs'
import { at, root } from './common/root.mjs'
import { setup } from './setup.mjs'
import { run, runMain } from './common/steps.mjs'

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, json: { type: 'boolean' } },
})

await runMain(async () => {
  await setup()
  // Imported only now, because these modules need the build.
  const { buildAll, cacheDirOf, crossOver } = await import('./demo/steps.mjs')
  const size = options.quick ? SIZES.quick : SIZES.full
  const rows = await buildAll(size)
  const crossed = await crossOver(size)
  if (options.json) {
    process.stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`)
  } else {
    const { sentenceOf, tableOf } = await import('./demo/table.mjs')
    process.stdout.write(
      `\nwebpack ${size.ownModules} own modules and their packages, babel on all of them, not minified\n`,
    )
    process.stdout.write(`hits: modules taken from a cache; misses: modules built\n\n${tableOf(rows)}\n`)
    const [read] = crossed
    process.stdout.write(`written by native, read by WebAssembly: ${read?.hits} hits, ${read?.misses} misses\n\n`)
    const dir = relative(root, cacheDirOf({ cache: 'varve', engine: 'native' }))
    process.stdout.write(`$ varve stats --dir ${dir}\n`)
    const env = { ...process.env, COLUMNS: '80' }
    process.stdout.write(
      await run(process.execPath, [at('packages/varve/dist/bundle/cli.js'), 'stats', '--dir', dir], { env }),
    )
    process.stdout.write(`\n${sentenceOf(rows)}\n`)
  }
  const broken = rows.filter((row) => !row.identical)
  const missed = crossed.filter((build) => build.hits < 20 * build.misses)
  for (const { cache, engine, step } of broken)
    process.stderr.write(`the bundle of ${cache} ${engine ?? ''} ${step} differs\n`)
  if (missed.length > 0) process.stderr.write('one engine did not find entries that the other one wrote\n')
  if (broken.length > 0 || missed.length > 0) process.exitCode = 1
})
