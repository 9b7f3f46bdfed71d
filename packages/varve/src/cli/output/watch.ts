/** How `varve watch` writes: one updated line on a terminal, a line for each change elsewhere, or one JSON value. */
import { CLI_JSON_FORMAT, type WatchEventJson } from '../../cli-json.ts'
import { printable, write } from './output.ts'
import { cut, paint, widthOf } from './table.ts'

/** Where events go. `begin` and `end` are called once. */
export interface WatchOutput {
  begin(title: string): Promise<void>
  print(event: WatchEventJson, text: string): Promise<void>
  end(): Promise<void>
}

/** To the start of the line, which is erased. */
const ERASE = '\r\u001b[2K'

export function watchOutput(isJson: boolean): WatchOutput {
  if (isJson) return jsonOutput()
  return process.stdout.isTTY ? terminalOutput() : lineOutput()
}

function lineOutput(): WatchOutput {
  return {
    begin: async () => {},
    print: (event, text) => write(`${clock(event.timeMs)}  ${text}\n`),
    end: async () => {},
  }
}

/** Commits update the last line; a build that ended stays above it. */
function terminalOutput(): WatchOutput {
  const fitted = (text: string): string => cut(text, (widthOf(process.stdout) ?? 80) - 1)
  return {
    begin: (title) => write(paint('dim', fitted(title))),
    print: (event, text) => {
      const line = fitted(`${clock(event.timeMs)}  ${text}`)
      return write(event.build === undefined ? `${ERASE}${line}` : `${ERASE}${paint('green', line)}\n`)
    },
    end: () => write('\n'),
  }
}

/** The list is complete when the command ends. */
function jsonOutput(): WatchOutput {
  let before = ''
  return {
    begin: () => write(`{\n  "format": ${CLI_JSON_FORMAT},\n  "events": [`),
    print: async (event) => {
      await write(`${before}\n    ${printable(JSON.stringify(event))}`)
      before = ','
    },
    end: () => write('\n  ]\n}\n'),
  }
}

/** The time of day: '14:03:11'. */
function clock(timeMs: number): string {
  return new Date(timeMs).toTimeString().slice(0, 8)
}
