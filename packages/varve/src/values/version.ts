/**
 * Three versions decide whether an entry may be used: the tool's (`openCache`), the namespace's and the codec's. The
 * engine knows one string per namespace, so they are joined: `<cache>/<namespace> <codec>`. Empty parts leave
 * only the slash: `'3'`, `'1.2.0/3'`, `'1.2.0/'`, `'3 json'`. Different parts never give the same string,
 * because slashes, spaces and percent signs inside a part are escaped.
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
  return part.replace(/[%/ ]/g, (character) => ESCAPES[character] ?? character)
}
