/**
 * Three versions decide whether an entry may be used: the tool's (`openCache`), the namespace's and the codec's. The
 * engine knows one string per namespace, so they are joined: `<cache>/<namespace> <codec>`. Empty parts leave
 * only the slash: `'3'`, `'1.2.0/3'`, `'1.2.0/'`, `'3 json'`. Different parts never give the same string,
 * because slashes, spaces and percent signs inside a part are escaped, and so is half of a surrogate pair.
 */

/**
 * The version string of a namespace as the engine sees it. `codec` is a codec's tag, empty for plain bytes.
 *
 * @example
 * joinVersions('1.2.0', '3', 'json') // '1.2.0/3 json'
 */
export function joinVersions(cache: string, namespace: string, codec: string): string {
  const versions = cache === '' ? escapePart(namespace) : `${escapePart(cache)}/${escapePart(namespace)}`
  return codec === '' ? versions : `${versions} ${escapePart(codec)}`
}

const ESCAPES: Readonly<Record<string, string>> = { '%': '%25', '/': '%2F', ' ': '%20' }

function escapePart(part: string): string {
  return part.replace(/[%/ ]|\p{Surrogate}/gu, (character) => ESCAPES[character] ?? escapeUnit(character))
}

/**
 * The name of a namespace as the engine sees it. Half of a surrogate pair has no UTF-8, so it becomes an escape. Different names never give
 * the same one, because the percent sign of what looks like an escape becomes one, too.
 *
 * @example
 * engineName('a\ud800') // 'a%uD800'
 */
export function engineName(name: string): string {
  return name.replace(/%(?=u[\dA-F]{4})|\p{Surrogate}/gu, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `%u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}
