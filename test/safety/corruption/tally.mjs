// @ts-check
// Counts figures and collects violations of one case.

/**
 * @param {Record<string, number>} figures @param {import('../suite.mjs').Violation[]} violations
 * @param {string} replay the case
 */
export function tallyOf(figures, violations, replay) {
  const add = (/** @type {string} */ name, by = 1) => {
    figures[name] = (figures[name] ?? 0) + by
  }
  const violate = (/** @type {string} */ name, /** @type {string} */ what) => {
    add(name)
    violations.push({ what: `${name}: ${what}`, replay })
  }
  /** How the process ended, `when` that was. */
  const died = (/** @type {string} */ death, when = '') =>
    violate(death.startsWith('hung') ? 'hangs' : 'deaths', `${when}${death}`)
  return { add, violate, died }
}

/**
 * Figures that begin at 0.
 * @param {...string} names
 * @returns {Record<string, number>}
 */
export const zeros = (...names) => Object.fromEntries(names.map((name) => [name, 0]))

/**
 * Goals of figures that must stay 0.
 * @param {...string} names
 */
export const none = (...names) => Object.fromEntries(names.map((name) => [name, { max: 0 }]))
