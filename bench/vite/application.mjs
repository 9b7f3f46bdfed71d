// @ts-check
/**
 * Writes the applications of this bench: features of 20 modules each, of which eight are JavaScript or React components, six Vue
 * components and six MDX pages. They are generated from a seed: the same count gives the same bytes.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { classText, Dice, functionText } from '../webpack/text.mjs'

/** Modules of a feature. */
export const FEATURE_SIZE = 20
/** The entry of a build, relative to the directory. */
export const ENTRY = 'src/main.js'

/** @typedef {'js' | 'jsx' | 'vue' | 'mdx'} Kind */

/** The kind of each module of a feature, in turn. @param {'js' | 'jsx'} script @returns {readonly Kind[]} */
const kindsWith = (script) => [script, 'vue', 'mdx', script, 'vue', 'mdx', script, script, 'vue', 'mdx']

/**
 * Writes `src/` below `folder`, and removes an earlier one.
 * @param {string} folder
 * @param {number} modules a multiple of 20
 * @param {'js' | 'jsx'} [script] the kind of the modules that are neither Vue nor MDX
 */
export async function writeApplication(folder, modules, script = 'js') {
  const source = join(folder, 'src')
  await rm(source, { recursive: true, force: true })
  const features = Math.ceil(modules / FEATURE_SIZE)
  for (let feature = 0; feature < features; feature++) await writeFeature(source, feature, kindsWith(script))
  const imports = Array.from(
    { length: features },
    (_, feature) => `import * as feature${feature} from './feature-${feature}/index.js'`,
  )
  const names = Array.from({ length: features }, (_, feature) => `feature${feature}`)
  await writeFile(
    join(source, 'main.js'),
    `${imports.join('\n')}\nconsole.log([${names.join(', ')}].map((one) => Object.keys(one).length))\n`,
  )
  await writeFile(
    join(folder, 'package.json'),
    '{ "name": "application", "version": "1.0.0", "type": "module", "sideEffects": true }\n',
  )
}

/**
 * @param {string} source
 * @param {number} feature
 * @param {readonly Kind[]} kinds
 */
async function writeFeature(source, feature, kinds) {
  const home = join(source, `feature-${feature}`)
  await mkdir(home, { recursive: true })
  /** @type {string[]} */
  const lines = []
  for (let place = 0; place < FEATURE_SIZE; place++) {
    const kind = kinds[place % kinds.length] ?? 'js'
    const dice = new Dice(feature * FEATURE_SIZE + place)
    await writeFile(join(home, `module-${place}.${kind}`), TEXT[kind](dice, place))
    const exported = kind === 'js' ? `* as module${place}` : `{ default as module${place} }`
    lines.push(`export ${exported} from './module-${place}.${kind}'`)
  }
  await writeFile(join(home, 'index.js'), `${lines.join('\n')}\n`)
}

/** @type {Record<Kind, (dice: Dice, place: number) => string>} */
const TEXT = {
  js: (dice, place) => `const defaults = { name: '${dice.text()}', weight: ${dice.number(1000)} }

${classText(dice, `Store${place}`)}
${Array.from({ length: 3 + (place % 4) }, (_, part) => functionText(dice, `${dice.name()}${part}`)).join('\n')}
`,

  jsx: (dice, place) => {
    const list = `${dice.word()}List`
    const rows = Array.from({ length: 4 + dice.number(4) }, () => jsxRow(dice, list))
    return `import { useEffect, useMemo, useState } from 'react'

const defaults = { name: '${dice.text()}', weight: ${dice.number(1000)} }

${functionText(dice, `${dice.name()}${place}`)}
export default function Part${place}({ title = '${dice.text()}', limit = ${dice.number(90)}, onChange, ...rest }) {
  const [query, setQuery] = useState('${dice.word()}')
  const [${list}, setList] = useState([${Array.from({ length: 6 }, () => `{ name: '${dice.text()}', weight: ${dice.number(1000)} }`).join(', ')}])
  const found = useMemo(() => ${list}.filter(({ name }) => name?.includes(query)).slice(0, limit), [${list}, query, limit])
  useEffect(() => onChange?.({ ...defaults, query, count: found.length }), [query, found])
  const add = (name) => setList((before) => [...before, { name, weight: before.length ** 2 }])
  return (
    <section className="${dice.word()}" {...rest}>
      <h2>{title} <small>{found.length} of {${list}.length}</small></h2>
      <input value={query} type="search" placeholder="${dice.text()}" onChange={({ target }) => setQuery(target.value)} />
${rows.join('\n')}
      <button type="button" onClick={() => add(query)}>${dice.text()}</button>
    </section>
  )
}
`
  },

  vue: (dice) => {
    const list = `${dice.word()}List`
    const rows = Array.from({ length: 5 + dice.number(6) }, () => vueRow(dice, list))
    return `<script setup>
import { computed, ref, watch } from 'vue'

const props = defineProps({ title: { type: String, default: '${dice.text()}' }, limit: { type: Number, default: ${dice.number(90)} } })
const emit = defineEmits(['change', 'close'])
const query = ref('${dice.word()}')
const ${list} = ref([${Array.from({ length: 6 }, () => `{ name: '${dice.text()}', weight: ${dice.number(1000)} }`).join(', ')}])
const found = computed(() => ${list}.value.filter(({ name }) => name.includes(query.value)).slice(0, props.limit))
watch(query, (now, before) => emit('change', { now, before, count: found.value.length }))

function add(name) {
  ${list}.value.push({ name, weight: ${list}.value.length ** 2 })
}
</script>

<template>
  <section class="${dice.word()}" :class="{ empty: found.length === 0 }">
    <h2>{{ title }} <small>{{ found.length }} of {{ ${list}.length }}</small></h2>
    <input v-model="query" type="search" placeholder="${dice.text()}" @keyup.enter="add(query)" />
${rows.join('\n')}
    <slot name="footer" :found="found"><button type="button" @click="emit('close')">${dice.text()}</button></slot>
  </section>
</template>
`
  },

  mdx: (dice) => {
    const sections = Array.from({ length: 4 + dice.number(4) }, () => mdxSection(dice))
    return `export const meta = { title: '${dice.text()}', weight: ${dice.number(1000)} }

# {meta.title}

${sections.join('\n')}
`
  },
}

/** @param {Dice} dice @param {string} list */
function jsxRow(dice, list) {
  const item = `${dice.word()}Item`
  return `      {${list}.length > ${dice.number(9)} ? (
        <ul className="${dice.word()}">
          {found.map((${item}) => (
            <li key={${item}.name} title={\`\${${item}.name}: \${${item}.weight}\`}>
              {${item}.weight > ${dice.number(500)} && <strong>{${item}.name}</strong>} ${dice.text()} <em>{${item}.weight * ${dice.number(9)}}</em>
            </li>
          ))}
        </ul>
      ) : (
        <p>${dice.text()} ${dice.text()}</p>
      )}`
}

/** @param {Dice} dice @param {string} list */
function vueRow(dice, list) {
  const item = `${dice.word()}Item`
  return `    <ul v-if="${list}.length > ${dice.number(9)}" class="${dice.word()}">
      <li v-for="${item} in found" :key="${item}.name" :title="\`\${${item}.name}: \${${item}.weight}\`">
        <strong v-show="${item}.weight > ${dice.number(500)}">{{ ${item}.name }}</strong> ${dice.text()}
        <em>{{ ${item}.weight * ${dice.number(9)} }}</em>
      </li>
    </ul>
    <p v-else>${dice.text()} ${dice.text()}</p>`
}

/** @param {Dice} dice */
function mdxSection(dice) {
  const link = () => `[${dice.word()}](https://example.org/${dice.word()})`
  const sentence = () => `${dice.text()} *${dice.word()}* ${dice.text()} ${link()} \`${dice.word()}\`.`
  return `## ${dice.text()}

${sentence()} ${sentence()} ${sentence()}

${Array.from({ length: 4 }, () => `- ${sentence()}`).join('\n')}

> ${sentence()}

<figure className="${dice.word()}">{meta.weight * ${dice.number(9)}} **${dice.word()}**</figure>

\`\`\`js
const ${dice.word()} = ${dice.number(100)}
\`\`\`
`
}
