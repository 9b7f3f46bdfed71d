/** Completions for zsh, with the descriptions of `--help`. */
import type { CommandWords, OptionWords } from './words.ts'

export function zshScript(words: readonly CommandWords[]): string {
  return `#compdef varve
# Completions of varve for zsh.
_varve() {
  local command="" next index
  local -a commands options
  for ((index = 2; index < CURRENT; index++)); do
    next="\${command:+$command }\${words[index]}"
    case "$next" in
      ${words
        .slice(1)
        .map(({ path }) => quoted(path))
        .join('|')}) command="$next" ;;
    esac
  done
  case "$command:\${words[CURRENT-1]}" in
${words.flatMap(valuesOf).join('\n')}
  esac
  case "$command" in
${words.map(choicesOf).join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe option options
  elif (( \${#commands} )); then
    _describe command commands
  else
    _files
  fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _varve varve
`
}

function valuesOf({ path, options }: CommandWords): string[] {
  const found = options.filter(({ takes }) => takes !== 'nothing')
  return found.map(({ long, short, takes, values }) => {
    const patterns = [long, short ?? []]
      .flat()
      .map((name) => quoted(`${path}:${name}`))
      .join('|')
    if (takes === 'value') return `    ${patterns}) compadd -- ${values.join(' ')}; return ;;`
    return takes === 'path' ? `    ${patterns}) _files; return ;;` : `    ${patterns}) return ;;`
  })
}

function choicesOf({ path, commands, options, values }: CommandWords): string {
  const described = (name: string, description: string): string =>
    quoted(`${name.replaceAll(':', '\\:')}:${description.replaceAll(':', '\\:')}`)
  const names = options.flatMap(({ long, short, description }: OptionWords) =>
    [long, short ?? []].flat().map((name) => described(name, description)),
  )
  const others = [
    ...commands.map(({ name, description }) => described(name, description)),
    ...values.map((value) => described(value, '')),
  ]
  return `    ${quoted(path)}) options=(${names.join(' ')}) commands=(${others.join(' ')}) ;;`
}

/** A word of zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
