// @ts-check
/**
 * Source text as people write it, generated from a seed: names of many different words and statements of many kinds, so that it
 * compresses like real source text and gives Babel its usual work.
 */
import { randomOf } from '../../test/safety/random.mjs'

const SYLLABLES = 'ba co da der fi gen hol in ker la lo mar mi nor on per qua ri sen ta ter un ver win zo'.split(' ')
const VERBS = 'load merge format check select group render update restore compare collect resolve apply split'.split(
  ' ',
)
const PROPERTIES = 'length name items kind label parent weight fields state options target width offset cause'.split(
  ' ',
)

/** Random choices from a seed. */
export class Dice {
  /** @type {import('../../test/safety/random.mjs').Random} */
  number

  /** @param {number} seed */
  constructor(seed) {
    this.number = randomOf(Math.imul(seed + 1, 0x9e3779b1))
  }

  /** @param {readonly string[]} choices */
  one(choices) {
    return choices[this.number(choices.length)] ?? ''
  }

  /** A word of two to four syllables. Capitalised, it is never a reserved word. */
  word() {
    return Array.from({ length: 2 + this.number(3) }, () => this.one(SYLLABLES)).join('')
  }

  /** A verb and a word. */
  name() {
    const word = this.word()
    return this.one(VERBS) + word.charAt(0).toUpperCase() + word.slice(1)
  }

  property() {
    return this.one(PROPERTIES)
  }

  text() {
    return Array.from({ length: 2 + this.number(5) }, () => this.word()).join(' ')
  }
}

/** Statements over `known` names; each may add one. @type {readonly ((dice: Dice, known: string[]) => string)[]} */
const STATEMENTS = [
  (dice, known) => {
    const [from, made, part] = [dice.one(known), dice.word(), dice.property()]
    return `const { ${part}: ${fresh(known, made)} = ${dice.number(1000)}, ...${fresh(known, `${made}Rest`)} } = ${from} ?? {}`
  },
  (dice, known) => {
    const from = dice.one(known)
    const inner = `${dice.word()}Item`
    const change = `({ ...${inner}, ${dice.property()}: ${inner} ?? '${dice.word()}' })`
    return `const ${fresh(known, dice.word())} = ${from}?.${dice.property()}?.map((${inner}) => ${change}) ?? []`
  },
  (dice, known) => {
    const message = `\`${dice.text()}: \${${dice.one(known)}}\``
    return `if (${dice.one(known)}?.${dice.property()} > ${dice.number(500)}) throw new RangeError(${message})`
  },
  (dice, known) => {
    const inner = `${dice.word()}Key`
    return `for (const ${inner} of Object.keys(${dice.one(known)} ?? {})) {
    if (${inner} === '${dice.word()}') continue
    ${dice.one(known)}?.${dice.property()}?.set?.(${inner}, ${dice.number(100)} ** 2)
  }`
  },
  (dice, known) => {
    const from = dice.one(known)
    const other = dice.one(known)
    return `const ${fresh(known, dice.name())} = await ${from}?.${dice.name()}?.({ ${dice.property()}: '${dice.text()}', ...${other} })`
  },
  (dice, known) => `// ${dice.text()} ${dice.text()}
  try {
    ${dice.one(known)}?.${dice.name()}(${dice.one(known)}, ${dice.number(64)})
  } catch {
    console.warn('${dice.text()}', ${dice.one(known)})
  }`,
  (dice, known) => {
    const from = dice.one(known)
    return `const ${fresh(known, dice.word())} = new Set([...(${from}?.${dice.property()} ?? []), '${dice.word()}', '${dice.word()}'])`
  },
]

/**
 * An async function with some statements.
 * @param {Dice} dice
 * @param {string} name
 */
export function functionText(dice, name) {
  const known = [dice.word(), 'defaults']
  const [parameter] = known
  const body = Array.from(
    { length: 3 + dice.number(5) },
    () => `  ${STATEMENTS[dice.number(STATEMENTS.length)]?.(dice, known)}`,
  )
  return `/** ${dice.text()} ${dice.text()}. */
export async function ${name}(${parameter}, { ${dice.property()}: signal, ...options } = {}) {
${body.join('\n')}
  return { ...options, signal, ${dice.word()}: ${known.at(-1)} }
}
`
}

/**
 * A class with private and static fields and an async generator.
 * @param {Dice} dice
 * @param {string} name
 */
export function classText(dice, name) {
  const field = dice.word()
  return `/** ${dice.text()}. */
export class ${name} {
  #${field} = new Map([['${dice.word()}', ${dice.number(10_000)}], ['${dice.word()}', ${dice.number(10_000)}]])
  static ${dice.word()} = '${dice.text()}'

  constructor({ ${dice.property()}: label = '${dice.word()}', ...rest } = {}) {
    this.label = label
    this.rest = { ...defaults, ...rest }
  }

  async *${dice.name()}(filter = ([name]) => name?.length > ${dice.number(9)}) {
    for (const [name, value] of this.#${field}) if (filter([name, value])) yield { name, value: value ?? this.rest?.[name] }
  }
}
`
}

/**
 * Adds a name, with a number if it exists already.
 * @param {string[]} known
 * @param {string} name
 */
function fresh(known, name) {
  const unique = known.includes(name) ? `${name}${known.length}` : name
  known.push(unique)
  return unique
}
