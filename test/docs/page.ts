/**
 * The code in a page of documentation, to be run as a reader would. What a fenced block is for, its first line says:
 *
 *   ```js                  run as a module, in a folder that the blocks of the page share; so is ts, which is checked too
 *   ```css file=src/a.css  written to that file first, in any language
 *   ```text output         what the block run before it prints, exactly
 *   ```sh run              `npx varve` commands, one a line, in the same folder
 *   ```js skip             left alone: a fragment
 *
 * Blocks in other languages are left alone.
 */

/** One fenced block. */
export interface Block {
  /** Line of the page on which its code begins. */
  readonly line: number
  readonly kind: 'run' | 'file' | 'output'
  readonly language: string
  /** Path of a 'file', relative to the folder of the page; empty for others. */
  readonly path: string
  readonly code: string
}

const FENCE = /^```(\w+)[ \t]*([^\n]*)\n([^]*?)^```$/gm
/** The words after the language of a block that is run. */
const RUN_BY: Readonly<Record<string, string>> = { js: '', ts: '', mjs: '', mts: '', sh: 'run' }

/** The blocks of a page that are run, written or compared, in their order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = []
  for (const { 1: language = '', 2: words = '', 3: code = '', index } of page.matchAll(FENCE)) {
    const line = page.slice(0, index).split('\n').length + 1
    const path = /(?:^|\s)file=(\S+)/.exec(words)?.[1]
    if (path !== undefined) blocks.push({ line, kind: 'file', language, path, code })
    else if (words === 'output') blocks.push({ line, kind: 'output', language, path: '', code })
    else if (RUN_BY[language] === words) blocks.push({ line, kind: 'run', language, path: '', code })
  }
  return blocks
}
