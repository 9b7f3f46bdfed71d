/** The program of the page. It asks its source for the caches and shows one of them. */
import type { BuildRecord } from 'varve'
import type { ContentsJson, ViewCacheJson, ViewJson } from 'varve/cli-json'
import { contentsSection, missesSection } from './page/contents.ts'
import { count, date, duration, el, percent, section, size } from './page/dom.ts'
import { openExplanation, healthSection, layersSection } from './page/health.ts'
import { type PageSource, pageSource } from './page/source.ts'
import { historySection } from './page/timeline.ts'

const source = pageSource()
const main = el('main', {}, el('p', { role: 'status' }, 'Reading the caches …'))
const header = el('header', {}, el('h1', {}, 'Varve'))
document.body.append(header, main)

try {
  const view = await source.overview()
  header.append(...headerOf(view))
  await show(view, view.caches[0])
} catch (error) {
  main.replaceChildren(el('p', { role: 'alert' }, error instanceof Error ? error.message : String(error)))
}

function headerOf(view: ViewJson): HTMLElement[] {
  const options = view.caches.map(({ dir }, index) => el('option', { value: String(index) }, nameOf(dir)))
  const choice = el('select', { id: 'cache' }, ...options)
  choice.addEventListener('change', () => void show(view, view.caches[choice.selectedIndex]))
  return [el('label', { for: 'cache' }, 'Cache '), choice, el('p', {}, `As of ${date(view.createdMs)}`)]
}

/** The name of a cache is that of its directory; Health has the whole path. */
function nameOf(dir: string): string {
  return dir.split(/[\\/]/).at(-1) ?? dir
}

/** Shows one cache: first what is known, then its contents. */
async function show(view: ViewJson, cache: ViewCacheJson | undefined): Promise<void> {
  if (cache === undefined) return
  document.title = `Varve: ${nameOf(cache.dir)}`
  const contents = section('contents', 'Contents')
  const misses = section('misses', 'Misses of the last build')
  const progress = el('p', { role: 'status' }, 'Reading the entries …')
  contents.append(progress)
  const rest = [...askSection(cache), layersSection(view, cache), healthSection(view, cache, source)]
  main.replaceChildren(summaryOf(cache), contents, historySection(cache.builds), misses, ...rest)
  try {
    const found = await source.contents(
      cache,
      (part) => void (progress.textContent = `Reading the entries: ${Math.round(100 * part)} %`),
    )
    if (!contents.isConnected || found === undefined) return
    showContents(cache, found, contents, misses)
  } catch (error) {
    progress.textContent = error instanceof Error ? error.message : String(error)
  }
}

function showContents(cache: ViewCacheJson, found: ContentsJson, contents: HTMLElement, misses: HTMLElement): void {
  const explain = (id: string, task: string): void => explainIn(source, cache, id, task)
  contents.replaceWith(contentsSection(found, source.isLive ? explain : undefined))
  misses.replaceWith(missesSection(found, cache.builds[0], explain))
}

function explainIn({ why }: PageSource, cache: ViewCacheJson, id: string, task: string | undefined): void {
  void openExplanation((asked, of) => why(cache, asked, of), id, task)
}

/** A form to ask about any id, if there is a server to ask. */
function askSection(cache: ViewCacheJson): HTMLElement[] {
  if (!source.isLive) return []
  const input = el('input', { id: 'id', type: 'text', autocomplete: 'off', placeholder: 'src/main.css' })
  const form = el(
    'form',
    {},
    el('label', { for: 'id' }, 'Id of a task, or path '),
    input,
    ' ',
    el('button', { type: 'submit' }, 'Explain'),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (input.value !== '') explainIn(source, cache, input.value, undefined)
  })
  return [section('explain', 'Explain a hit or a miss', form)]
}

function summaryOf({ stats, builds, engine }: ViewCacheJson): HTMLElement {
  const entries = stats.namespaces.reduce((sum, namespace) => sum + namespace.entries, 0)
  const [last] = builds
  const saved = builds.reduce((sum, { savedMs }) => sum + savedMs, 0)
  const facts = [
    ['Entries', count(entries)],
    ['On disk', size(stats.bytes)],
    ['Last build from cache', rateOf(last)],
    ['Work of the hits, last build', last === undefined ? '-' : duration(last.savedMs)],
    [`Work of the hits, ${count(builds.length)} builds`, duration(saved)],
    ['Engine', engine],
  ]
  const list = facts.map(([name = '', value = '']) => el('div', {}, el('dt', {}, name), el('dd', {}, value)))
  return section('summary', 'Summary', el('dl', { class: 'facts' }, ...list))
}

function rateOf(build: BuildRecord | undefined): string {
  return build === undefined ? '-' : percent(build.hits, build.hits + build.misses)
}
