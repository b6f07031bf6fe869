/**
 * Paths into JSON: the part of JSONPath that names places and does not compute.
 *
 *   $   .name   ['any name']   [0]   [-1]   [*]   .*   .length()
 *
 * A path is parsed once and then finds its values in time that grows with what it visits. A place that
 * is not there has no value; one that holds null has the value null.
 */
import { Accident, fault } from '../../std/index.ts'

type Segment = Readonly<
  | { type: 'name'; name: string }
  | { type: 'index'; at: number }
  | { type: 'each' }
  | { type: 'length' }
>

export interface JsonPath {
  /** Every value at the path, in document order. */
  find(root: unknown): unknown[]
}

export const JSON_PATH_CHARS_MAX = 1_000

const SEGMENT =
  /\.(length\(\)|[\p{L}_$@][\p{L}\p{N}_$@-]*|\*)|\[(?:(-?\d{1,9})|(\*)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/uy

/** Throws the fault `bad-json-path`. */
export function jsonPath(text: string): JsonPath {
  const segments = parse(text)
  return { find: (root) => segments.reduce(step, [root]) }
}

function parse(text: string): Segment[] {
  if (text.length > JSON_PATH_CHARS_MAX || !text.startsWith('$')) throw refused(text, 0)
  const segments: Segment[] = []
  SEGMENT.lastIndex = 1
  while (SEGMENT.lastIndex < text.length) {
    const at = SEGMENT.lastIndex
    const found = SEGMENT.exec(text)
    if (found === null) throw refused(text, at)
    segments.push(segmentOf(found))
  }
  return segments
}

function segmentOf([, plain, index, each, single, double]: RegExpExecArray): Segment {
  if (each !== undefined || plain === '*') return { type: 'each' }
  if (plain === 'length()') return { type: 'length' }
  if (index !== undefined) return { type: 'index', at: Number(index) }
  const name = plain ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')
  return { type: 'name', name }
}

function step(values: readonly unknown[], segment: Segment): unknown[] {
  return values.flatMap((value) => {
    if (segment.type === 'length')
      return Array.isArray(value) || typeof value === 'string' ? [value.length] : []
    if (typeof value !== 'object' || value === null) return []
    if (segment.type === 'each') return Object.values(value)
    if (segment.type === 'name')
      return !Array.isArray(value) && Object.hasOwn(value, segment.name)
        ? [Reflect.get(value, segment.name)]
        : []
    if (!Array.isArray(value)) return []
    const at = segment.at < 0 ? value.length + segment.at : segment.at
    return at >= 0 && at < value.length ? [value[at]] : []
  })
}

function refused(text: string, at: number): Accident<'bad-json-path'> {
  const shown = text.slice(0, 100)
  return new Accident(
    fault('bad-json-path', `the path ${shown} cannot be read at character ${at + 1}`, {
      path: shown,
      remedy: `write it as $.name['other name'][0] or with [*], in at most ${JSON_PATH_CHARS_MAX} characters`,
    }),
  )
}
