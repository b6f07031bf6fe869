/**
 * From a method and a path to what was registered for them.
 *
 * A path is cut into its parts first and each part is decoded once, so an encoded slash never cuts one
 * and nothing is decoded twice. A fixed part goes before a pattern, a pattern before a parameter; where
 * that leads nowhere the next is tried. A look visits each part of the registered paths once at most,
 * whatever is asked for.
 */
import { assert } from '../std/index.ts'
import { PARAM_CHARS_MAX } from './limits.ts'
import type { RawParams } from './route.ts'

export type Found<Target> = Readonly<{ target: Target; params: RawParams }>

/** All that can follow one part of a path. */
type Node<Target> = {
  readonly fixed: Map<string, Node<Target>>
  /** Parameters with a text behind them in their part. */
  readonly patterns: Readonly<{ end: string; node: Node<Target> }>[]
  parameter: Node<Target> | undefined
  /** What a path that ends here leads to, and the names of the parameters on the way. */
  end: Readonly<{ target: Target; names: readonly string[] }> | undefined
}

const PARAMETER = /^\{(\w+)\}([^{}]*)$/
const ORIGIN = /^https?:\/\/[^/?#]*/i
const NO_PARAMS: RawParams = Object.freeze({})

export class Router<Target> {
  readonly #roots = new Map<string, Node<Target>>()

  /** `{name}` in a path is a parameter: a part as a whole, or the beginning of one. */
  add(method: string, path: string, target: Target): void {
    let node = this.#roots.get(method)
    if (node === undefined) this.#roots.set(method, (node = nodeOf()))
    const names: string[] = []
    for (const part of path.split('/')) {
      const [, name, end] = PARAMETER.exec(part) ?? []
      if (name !== undefined) names.push(name)
      node = following(node, name === undefined ? part : undefined, end ?? '')
    }
    assert(node.end === undefined, `${method} ${path} is registered once`)
    node.end = { target, names }
  }

  /** Undefined where nothing was registered, `'bad-path'` where it is not encoded properly or too long. */
  find(method: string, url: string): Found<Target> | 'bad-path' | undefined {
    const path = pathOf(url)
    const parts = partsOf(path)
    if (parts === undefined) return 'bad-path'
    const root = this.#roots.get(method)
    const values: string[] = []
    const end = root && match(root, parts, 0, values)
    if (end === undefined) return undefined
    if (path.length > PARAM_CHARS_MAX && hasLongPart(path)) return 'bad-path'
    return { target: end.target, params: paramsOf(end.names, values) }
  }
}

function nodeOf<Target>(): Node<Target> {
  return { fixed: new Map(), patterns: [], parameter: undefined, end: undefined }
}

function following<Target>(
  node: Node<Target>,
  fixed: string | undefined,
  end: string,
): Node<Target> {
  if (fixed !== undefined) {
    const known = node.fixed.get(fixed)
    if (known !== undefined) return known
    const made = nodeOf<Target>()
    node.fixed.set(fixed, made)
    return made
  }
  if (end === '') return (node.parameter ??= nodeOf())
  const known = node.patterns.find((one) => one.end === end)
  if (known !== undefined) return known.node
  const made = nodeOf<Target>()
  node.patterns.push({ end, node: made })
  return made
}

function match<Target>(
  node: Node<Target>,
  parts: readonly string[],
  at: number,
  values: string[],
): Node<Target>['end'] {
  if (at === parts.length) return node.end
  const part = parts[at]!
  const fixed = node.fixed.get(part)
  if (fixed !== undefined) {
    const found = match(fixed, parts, at + 1, values)
    if (found !== undefined) return found
  }
  for (const { end, node: next } of node.patterns) {
    if (!part.endsWith(end)) continue
    values.push(part.slice(0, -end.length))
    const found = match(next, parts, at + 1, values)
    if (found !== undefined) return found
    values.pop()
  }
  if (node.parameter === undefined) return undefined
  values.push(part)
  const found = match(node.parameter, parts, at + 1, values)
  if (found === undefined) values.pop()
  return found
}

/** Without what is behind it, and without the origin that a proxy may be sent. */
function pathOf(url: string): string {
  const path = url.charCodeAt(0) === SLASH ? url : url.replace(ORIGIN, '')
  const query = path.indexOf('?')
  const fragment = path.indexOf('#')
  if (query === -1 && fragment === -1) return path
  return path.slice(0, query === -1 || (fragment !== -1 && fragment < query) ? fragment : query)
}

const SLASH = 47

/** Undefined where a percent sign encodes nothing. */
function partsOf(path: string): readonly string[] | undefined {
  const parts = path.split('/')
  if (!path.includes('%')) return parts
  try {
    return parts.map((part) => decodeURIComponent(part))
  } catch {
    return undefined
  }
}

function hasLongPart(path: string): boolean {
  return path.split('/').some((part) => part.length > PARAM_CHARS_MAX)
}

function paramsOf(names: readonly string[], values: readonly string[]): RawParams {
  if (names.length === 0) return NO_PARAMS
  const params: Record<string, string> = {}
  for (let at = 0; at < names.length; at++) params[names[at]!] = values[at]!
  return params
}
