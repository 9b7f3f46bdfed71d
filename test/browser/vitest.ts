/** What the contract uses of Vitest, in a worker of a browser: `describe` and `it` collect tests, which `runAll` runs one after another. */
import { chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect'

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)
export const { expect } = chai

type Run = () => unknown

interface Suite {
  readonly before: Run[]
  readonly after: Run[]
}

const tests: { readonly name: string; readonly run: Run }[] = []
let suites: readonly Suite[] = []

export function describe(_: string, addTests: Run): void {
  const outer = suites
  suites = [...outer, { before: [], after: [] }]
  addTests()
  suites = outer
}

export const beforeEach = (run: Run): unknown => suites.at(-1)?.before.push(run)
export const afterEach = (run: Run): unknown => suites.at(-1)?.after.push(run)

function add(name: string, run: Run): void {
  const around = suites
  const whole = async (): Promise<void> => {
    for (const before of around.flatMap((suite) => suite.before)) await before()
    try {
      await run()
    } finally {
      for (const after of around.flatMap((suite) => suite.after)) await after()
    }
  }
  tests.push({ name, run: whole })
}

/** A test for each row; the number of the row takes the place of its values in the name. */
const each =
  (rows: readonly unknown[]) =>
  (name: string, run: (row: unknown) => unknown): void =>
    rows.forEach((row, index) => add(`${name} (row ${index})`, () => run(row)))

export const it = Object.assign(add, { each })

/** The clock of the tests: only `Date.now` is replaced. */
const { now } = Date
export const vi = {
  useFakeTimers: (): void => undefined,
  setSystemTime: (ms: number): void => void (Date.now = () => ms),
  useRealTimers: (): void => void (Date.now = now),
}

/** A test that hangs fails. */
const LIMIT_MS = 30_000

async function within(run: unknown): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('it hangs')), LIMIT_MS)))
  await Promise.race([run, late])
  clearTimeout(timer)
}

/** Runs all tests but those that are `left` out. Returns the names of those that ran, and the errors of those that failed. */
export async function runAll(left: readonly string[]): Promise<{ readonly ran: string[]; readonly failed: string[] }> {
  const [ran, failed]: [string[], string[]] = [[], []]
  for (const { name, run } of tests) {
    if (left.includes(name)) continue
    ran.push(name)
    try {
      await within(run())
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? `${error.message} ${error.stack}` : String(error)}`)
    }
  }
  return { ran, failed }
}
