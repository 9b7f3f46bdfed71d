/** Completions for fish: a line for each word, with the condition under which it is offered. */
import type { CommandWords, OptionWords } from './words.ts'

export function fishScript(words: readonly CommandWords[]): string {
  return `# Completions of varve for fish.
function __varve_command
  set -l command ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$command $word")
    contains -- "$next" ${words
      .slice(1)
      .map(({ path }) => quoted(path))
      .join(' ')}
    and set command $next
  end
  test "$command" = "$argv"
end
${words.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, commands, options, values }: CommandWords): string[] {
  const when = `complete -c varve -n ${quoted(`__varve_command ${path}`.trim())}`
  const others = commands.map(({ name, description }) => `${when} -f -a ${quoted(name)} -d ${quoted(description)}`)
  const choices = values.length === 0 ? [] : [`${when} -f -a ${quoted(values.join(' '))}`]
  return [
    ...others,
    ...choices,
    ...options.map((option) => `${when} ${flagsOf(option)} -d ${quoted(option.description)}`),
  ]
}

function flagsOf({ long, short, takes, values }: OptionWords): string {
  const names = [`-l ${long.slice(2)}`, short === undefined ? [] : `-s ${short.slice(1)}`].flat().join(' ')
  if (takes === 'nothing') return names
  if (takes === 'path') return `${names} -r -F`
  return takes === 'value' ? `${names} -x -a ${quoted(values.join(' '))}` : `${names} -x`
}

/** A word of fish. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", `\\'`)}'`
}
