// @ts-check
// Checks that paths of a machine and names of tools are not in the project.
import { FOREIGN_WORDS } from './rules.mjs'
import { lineOf } from './source.mjs'

/** @param {import('./source.mjs').Source} source @returns {import('./source.mjs').Finding[]} */
export function checkWords({ path, text }) {
  const lower = text.toLowerCase()
  return FOREIGN_WORDS.flatMap((word) => {
    const findings = []
    for (let index = lower.indexOf(word); index >= 0; index = lower.indexOf(word, index + 1)) {
      const isInside = word.startsWith('/') && /[\w.-]/.test(lower[index - 1] ?? '')
      if (!isInside) findings.push({ path, line: lineOf(text, index), message: `${word} does not belong here` })
    }
    return findings
  })
}
