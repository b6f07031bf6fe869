/**
 * Reads a YAML document node by node, so that everything said about it has a line.
 *
 * A reading function answers the value, or undefined after it has told what is wrong. Aliases are
 * followed where they stand, one step at a time: a document that multiplies itself costs nothing.
 */
import type * as Yaml from 'yaml'
import type { Document, LineCounter, Node, YAMLMap } from 'yaml'

import { nearest } from '../../http/index.ts'
import type { Finding } from './finding.ts'

/** A value of a map, and where its key stands. */
export type Entry = Readonly<{ node: Node | undefined; at: number }>

/** The fields of a map; `at` is where it begins. */
export type Fields = Readonly<{
  what: string
  at: number
  get(key: string): Entry | undefined
}>

export interface YamlReader {
  readonly findings: readonly Finding[]
  /** Undefined when the text is no YAML, or has nothing in it. */
  readonly root: Node | undefined
  lineOf(at: number): number
  tell(at: number, message: string, remedy: string): void
  /** Tells of every key that is not among `keys`. */
  fields(entry: Entry, what: string, keys: readonly string[]): Fields | undefined
  list(entry: Entry, what: string, most: number): readonly Entry[] | undefined
  /** A number or a flag is the text that was written, so `1.0` stays `1.0`. */
  text(entry: Entry, what: string, most: number): string | undefined
  whole(entry: Entry, what: string, min: number, max: number): number | undefined
  flag(entry: Entry, what: string): boolean | undefined
  oneOf<T extends string>(entry: Entry, what: string, choices: readonly T[]): T | undefined
  pairs(entry: Entry, what: string, most: number): readonly (readonly [string, Entry])[] | undefined
}

export async function readYaml(file: string, text: string): Promise<YamlReader> {
  // Only who has a directive file pays for reading one.
  const yaml = await import('yaml')
  const lines = new yaml.LineCounter()
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const reader = new Reader(file, yaml, document, lines)
  for (const { pos, message } of [...document.errors, ...document.warnings])
    reader.tell(pos[0], `it is no YAML here: ${message}`, 'mend the line')
  return reader
}

class Reader implements YamlReader {
  readonly findings: Finding[] = []
  readonly #file: string
  readonly #yaml: typeof Yaml
  readonly #document: Document.Parsed
  readonly #lines: LineCounter

  constructor(file: string, yaml: typeof Yaml, document: Document.Parsed, lines: LineCounter) {
    this.#file = file
    this.#yaml = yaml
    this.#document = document
    this.#lines = lines
  }

  get root(): Node | undefined {
    return this.#document.errors.length > 0 ? undefined : (this.#document.contents ?? undefined)
  }

  lineOf(at: number): number {
    return this.#lines.linePos(at).line
  }

  tell(at: number, message: string, remedy: string): void {
    this.findings.push({ file: this.#file, line: this.lineOf(at), message, remedy })
  }

  fields(entry: Entry, what: string, keys: readonly string[]): Fields | undefined {
    const map = this.#map(entry, what)
    if (map === undefined) return undefined
    const found = new Map<string, Entry>()
    for (const [key, value] of this.#entriesOf(map))
      if (keys.includes(key)) found.set(key, value)
      else {
        const meant = nearest(key, keys)
        // Read as what was meant, so that it is not also said to be missing.
        if (meant !== undefined && !found.has(meant)) found.set(meant, value)
        this.tell(
          value.at,
          `${what} has no key ${JSON.stringify(key)}`,
          meant === undefined ? `its keys are ${keys.join(', ')}` : `did you mean ${meant}?`,
        )
      }
    return { what, at: startOf(map, entry.at), get: (key) => found.get(key) }
  }

  pairs(
    entry: Entry,
    what: string,
    most: number,
  ): readonly (readonly [string, Entry])[] | undefined {
    const map = this.#map(entry, what)
    if (map === undefined) return undefined
    if (map.items.length <= most) return this.#entriesOf(map)
    this.tell(entry.at, `${what} has ${map.items.length} keys`, `use at most ${most}`)
    return undefined
  }

  list(entry: Entry, what: string, most: number): readonly Entry[] | undefined {
    const node = this.#resolved(entry)
    if (!this.#yaml.isSeq(node))
      return this.#wrong(entry, `${what} is no list`, 'write `- …` lines')
    if (node.items.length > most)
      return this.#wrong(entry, `${what} has ${node.items.length} entries`, `use at most ${most}`)
    return node.items.map((item) => {
      const one = this.#yaml.isNode(item) ? item : undefined
      return { node: one, at: startOf(one, entry.at) }
    })
  }

  text(entry: Entry, what: string, most: number): string | undefined {
    const node = this.#resolved(entry)
    const written = this.#yaml.isScalar(node) && node.value !== null ? node : undefined
    const text = typeof written?.value === 'string' ? written.value : written?.source
    if (text === undefined || text.trim() === '')
      return this.#wrong(entry, `${what} has no text`, 'give it one')
    if (text.length > most)
      return this.#wrong(entry, `${what} has ${text.length} characters`, `use at most ${most}`)
    return text.trim()
  }

  whole(entry: Entry, what: string, min: number, max: number): number | undefined {
    const value = this.#scalar(entry)
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max)
      return value
    return this.#wrong(
      entry,
      `${what} is no whole number from ${min} to ${max}`,
      'give it such a number',
    )
  }

  flag(entry: Entry, what: string): boolean | undefined {
    const value = this.#scalar(entry)
    if (typeof value === 'boolean') return value
    return this.#wrong(entry, `${what} is neither true nor false`, 'write true or false')
  }

  oneOf<T extends string>(entry: Entry, what: string, choices: readonly T[]): T | undefined {
    const value = this.#scalar(entry)
    const chosen = choices.find((choice) => String(value).toLowerCase() === choice)
    if (chosen !== undefined) return chosen
    const meant = nearest(String(value), choices)
    return this.#wrong(
      entry,
      `${what} is none of ${choices.join(', ')}`,
      meant === undefined ? `write ${choices.join(' or ')}` : `did you mean ${meant}?`,
    )
  }

  #scalar(entry: Entry): unknown {
    const node = this.#resolved(entry)
    return this.#yaml.isScalar(node) ? node.value : undefined
  }

  #map(entry: Entry, what: string): YAMLMap | undefined {
    const node = this.#resolved(entry)
    if (this.#yaml.isMap(node)) return node
    return this.#wrong(entry, `${what} is no map`, 'write `key: value` lines')
  }

  #entriesOf(map: YAMLMap): readonly (readonly [string, Entry])[] {
    return map.items.map(({ key, value }) => {
      const name = this.#yaml.isScalar(key) ? String(key.value) : '?'
      const at = this.#yaml.isNode(key) ? startOf(key, 0) : 0
      return [name, { node: this.#yaml.isNode(value) ? value : undefined, at }] as const
    })
  }

  #resolved({ node }: Entry): Node | undefined {
    return this.#yaml.isAlias(node) ? node.resolve(this.#document) : node
  }

  #wrong(entry: Entry, message: string, remedy: string): undefined {
    this.tell(entry.at, message, remedy)
    return undefined
  }
}

function startOf(node: Node | undefined, otherwise: number): number {
  return node?.range?.[0] ?? otherwise
}
