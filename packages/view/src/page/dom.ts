/** Makes elements. All texts, also those from a cache, become text nodes; nothing is parsed as HTML. */

/** An element, or a text. */
export type Child = Node | string

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Surrogate}\p{Zl}\p{Zp}]/gu
const SVG = 'http://www.w3.org/2000/svg'

/** A text whose control characters and marks of direction are visible. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => String.raw`\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** An element of HTML. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children)
}

/** An element of SVG. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS(SVG, tag), attributes, children)
}

/** A button with what a click does. */
export function button(
  attributes: Readonly<Record<string, string>>,
  click: () => void,
  ...children: readonly Child[]
): HTMLButtonElement {
  const made = el('button', { type: 'button', ...attributes }, ...children)
  made.addEventListener('click', click)
  return made
}

/** A part of the page with its heading. */
export function section(id: string, title: string, ...children: readonly Child[]): HTMLElement {
  return el('section', { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, title), ...children)
}

function filled<Made extends Element>(
  made: Made,
  attributes: Readonly<Record<string, string | number>>,
  children: readonly Child[],
): Made {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, visible(String(value)))
  made.append(...children.map((child) => (typeof child === 'string' ? visible(child) : child)))
  return made
}
