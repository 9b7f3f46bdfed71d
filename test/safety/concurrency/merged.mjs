// @ts-check
// Cache directories that were merged: two copies of one cache are written separately, and then `cp -r` copies one over the
// other, or an archive is restored into a directory that is not empty. Writers of both copies are killed or close, and in
// some rounds one of them still has the target open. The next process must find the newest state of one copy, or a miss,
// but never a mixture and never an older value. It must also find what the open handle commits after a refresh that began
// when the last file was in place: an earlier commit may be of the copy that loses. Without the comparison of manifests in
// `is_counted` (commit.rs of core), some of these commits are lost.
import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { openCache } from 'varve'
import { Crowd } from './crowd.mjs'
import { KEYS } from './group.mjs'
import { randomOf } from '../random.mjs'

const ROUNDS_SHORT = 12
const ROUNDS_LONG = 2000
/** Numbers of the commits of a copy begin here, so that a value names its copy. */
const COPY_NUMBERS = 1000
/** Commits of the handle that stays open, after the merge. */
const COMMITS_AFTER = 8
const REPLAYS = 3

/** By the number of a round: engines of the writers. @type {readonly ((life: number) => import('./group.mjs').Engine)[]} */
const ENGINES = [() => 'native', () => 'wasm', (life) => (life % 2 === 0 ? 'native' : 'wasm')]

/** Ways to put the files of one directory over those of another. @type {readonly ((source: string, target: string) => void)[]} */
const MERGES = [
  (source, target) => cpSync(source, target, { recursive: true }),
  (source, target) => {
    const archive = execFileSync('tar', ['-C', source, '-cf', '-', '.'], { maxBuffer: 1 << 30 })
    execFileSync('tar', ['-C', target, '-xf', '-'], { input: archive })
  },
]

/** @type {import('../suite.mjs').Part} */
export const merged = {
  name: 'merged',
  async run({ seed, isLong, replay, say }) {
    const rounds = isLong ? ROUNDS_LONG : ROUNDS_SHORT
    const cases =
      replay === undefined
        ? Array.from({ length: rounds }, (_, index) => index)
        : Array.from({ length: REPLAYS }, () => Number(replay))
    /** @type {Record<string, number>} */
    const figures = {}
    const violations = []
    for (const index of cases) {
      const round = new Round(seed, index)
      await round.run()
      for (const [name, count] of Object.entries(round.crowd.figures)) figures[name] = (figures[name] ?? 0) + count
      violations.push(...round.crowd.violations)
      round.crowd.remove()
    }
    say(`${cases.length} rounds`)
    const goals = {
      rounds: { min: rounds },
      newest: { min: rounds / 4 },
      kills: { min: rounds / 2 },
      handles: { min: rounds / 8 },
    }
    return { figures, goals, violations }
  },
}

class Round {
  crowd
  #random
  #engine
  #merge
  /** Whether a process has the target open while it is merged. */
  #isOpen

  /** @param {number} seed @param {number} index */
  constructor(seed, index) {
    this.crowd = new Crowd(1, seed + index, String(index))
    this.#random = randomOf(seed * 1_000_003 + index)
    this.#engine = ENGINES[index % ENGINES.length] ?? (() => 'native')
    this.#merge = MERGES[this.#random(MERGES.length)] ?? cpSync
    this.#isOpen = this.#random(3) === 0
  }

  async run() {
    const { dir } = this.crowd
    const copy = `${dir}-copy`
    await this.#goOn(dir, 1)
    cpSync(dir, copy, { recursive: true })
    const newest = [await this.#goOn(copy, 2 * COPY_NUMBERS)]
    const first = await this.#goOn(dir, COPY_NUMBERS)
    const handle = this.#isOpen ? await this.#hold(dir, first.next) : undefined
    newest.push(handle ?? first)
    this.#merge(copy, dir)
    this.crowd.count('rounds')
    if (handle === undefined) await this.#check(newest)
    else await this.#endHandle(handle, Date.now())
    await this.#checkNext()
  }

  /** Some processes, one after another. @param {string} dir @param {number} from number of the first commit */
  async #goOn(dir, from) {
    const state = { next: from, acknowledged: 0 }
    for (let life = 0, lives = 1 + this.#random(3); life < lives; life++) {
      const commits = 1 + this.#random(6)
      const isKilled = this.#random(2) === 0
      const more = { dir, first: state.next, acknowledged: state.acknowledged, commits: isKilled ? undefined : commits }
      const child = this.crowd.start('write', this.#engine(life), 0, more)
      if (isKilled) {
        for (let done = 0, heard = 0; done < commits && child.end === undefined; done++) {
          await child.hear((message) => message['done'] !== undefined, heard)
          heard = child.heard.length
        }
        await child.kill()
        this.crowd.count('kills')
      } else if (!(await child.ended()) || child.end?.code !== 0) this.crowd.violation(`a writer ${child.ending}`)
      state.next = (child.heard.findLast(({ number }) => number !== undefined)?.['number'] ?? state.next - 1) + 1
      state.acknowledged = child.heard.findLast(({ done }) => done !== undefined)?.['done'] ?? state.acknowledged
    }
    return state
  }

  /** A process that has the directory open and commits on. @param {string} dir @param {number} first */
  async #hold(dir, first) {
    const child = this.crowd.start('write', this.#engine(0), 0, {
      dir,
      first,
      isQuiet: true,
      refreshes: true,
      pauseMs: 2,
    })
    await child.hear((message) => message['done'] !== undefined)
    return { child, next: first, acknowledged: first }
  }

  /** Its last commit is found. @param {{ child: import('./child.mjs').Child }} handle @param {number} mergedMs */
  async #endHandle({ child }, mergedMs) {
    // This process heard nothing while it copied, so some of what it hears next is of that time.
    const first = await child.hear(({ refreshedFromMs }) => refreshedFromMs > mergedMs)
    await child.hear(({ done }) => done >= first?.['done'] + COMMITS_AFTER)
    child.tell('end')
    if (!(await child.ended()) || child.end?.code !== 0) this.crowd.violation(`the open handle ${child.ending}`)
    const last = child.heard.findLast(({ done }) => done !== undefined)?.['done']
    this.crowd.count('handles')
    const found = await this.#read()
    if (found.numbers.some((number) => number !== last))
      this.crowd.violation(`the open handle committed ${last}, found ${found.numbers}`)
  }

  /** @param {readonly { next: number, acknowledged: number }[]} newest of each copy */
  async #check(newest) {
    const { numbers, lineages } = await this.#read()
    const distinct = new Set(numbers)
    const [number] = numbers
    if (distinct.size > 1 && !distinct.has(undefined)) this.crowd.violation(`a mixture: ${numbers}`)
    const found = numbers.filter((one) => one !== undefined)
    const isNewest = (/** @type {number} */ one) =>
      newest.some(({ next, acknowledged }) => one >= acknowledged && one < next)
    if (!found.every(isNewest)) this.crowd.violation(`an older value: ${numbers}, not of ${JSON.stringify(newest)}`)
    if (lineages > 1) this.crowd.violation('commits of both copies are found')
    this.crowd.count(number === undefined ? 'misses' : 'newest')
  }

  /** What the next process to open the directory finds: the numbers of the keys of a commit, and how many copies have commits there. */
  async #read() {
    const cache = await openCache({
      name: 'soak',
      dir: this.crowd.dir,
      engine: this.#engine(1),
      onWarning: () => undefined,
    })
    const space = cache.namespace('n', { codec: 'text' })
    const values = space.getMany(Array.from({ length: KEYS }, (_, key) => `0 ${key}`))
    const numbers = values.map((value) => (value === undefined ? undefined : Number.parseInt(value, 10)))
    const has = (/** @type {number} */ first) =>
      Array.from({ length: 200 }, (_, index) => `0 #${first + index}`).some((key) => space.has(key))
    const lineages = [COPY_NUMBERS, 2 * COPY_NUMBERS].filter(has).length
    await cache.close()
    return { numbers, lineages }
  }

  /** The next process commits as to any other directory. */
  async #checkNext() {
    const child = this.crowd.start('write', this.#engine(2), 0, { first: 3 * COPY_NUMBERS, commits: 1, isQuiet: true })
    if (!(await child.ended()) || child.end?.code !== 0) this.crowd.violation(`the next writer ${child.ending}`)
    const { numbers } = await this.#read()
    if (numbers.some((number) => number !== 3 * COPY_NUMBERS))
      this.crowd.violation(`the next commit is not found: ${numbers}`)
  }
}
