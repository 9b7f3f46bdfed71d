/** Completions for bash: a function that finds the command in the words so far, then completes its options and commands. */
import type { CommandWords } from './words.ts'

export function bashScript(words: readonly CommandWords[]): string {
  return `# Completions of varve for bash.
_varve() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" next index choices=""
  for ((index = 1; index < COMP_CWORD; index++)); do
    next="\${command:+$command }\${COMP_WORDS[index]}"
    case "$next" in
      ${words
        .slice(1)
        .map(({ path }) => `"${path}"`)
        .join(' | ')}) command="$next" ;;
    esac
  done
  case "$command:$before" in
${words.flatMap(valuesOf).join('\n')}
  esac
  case "$command" in
${words.map(choicesOf).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
}
complete -o default -F _varve varve
`
}

/** What follows an option. An empty reply becomes a path, as bash completes by default. */
function valuesOf({ path, options }: CommandWords): string[] {
  const found = options.filter(({ takes }) => takes !== 'nothing')
  return found.map(({ long, short, takes, values }) => {
    const patterns = [long, short ?? []]
      .flat()
      .map((name) => `"${path}:${name}"`)
      .join(' | ')
    if (takes === 'value')
      return `    ${patterns}) COMPREPLY=($(compgen -W "${values.join(' ')}" -- "$word")); return ;;`
    if (takes === 'path') return `    ${patterns}) COMPREPLY=($(compgen -f -- "$word")); return ;;`
    return `    ${patterns}) COMPREPLY=(); return ;;`
  })
}

/** Options after a hyphen, otherwise commands. */
function choicesOf({ path, commands, options, values }: CommandWords): string {
  const names = options.flatMap(({ long, short }) => [long, short ?? []].flat())
  const others = [...commands.map(({ name }) => name), ...values]
  return `    "${path}") [[ $word == -* ]] && choices="${names.join(' ')}" || choices="${others.join(' ')}" ;;`
}
