/**
 * A config file as settings with the place each one stands at. YAML; JSON is YAML too.
 *
 * Objects are flattened into dotted names until a name is one that is known, so `listen: { port: 1 }` and
 * `listen.port: 1` are the same.
 */
import { readFileSync, statSync } from 'node:fs'
import type { Node } from 'yaml'

import { Accident, fault } from '../std/index.ts'

/** A value somebody gave, and where. */
export type Given = Readonly<{ name: string; value: unknown; place: string }>

export const CONFIG_BYTES_MAX = 1_048_576

/** What the file says, in its order; `isKey` tells where a name ends and its value begins. */
export async function readConfigFile(
  path: string,
  isKey: (name: string) => boolean,
): Promise<readonly Given[]> {
  const text = readText(path)
  // Only who has a config file pays for reading one.
  const { isMap, isScalar, LineCounter, parseDocument } = await import('yaml')
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) throw unreadable(path, `${placeOf(error.pos[0])}: ${error.message}`)
  const given: Given[] = []
  if (document.contents !== null) flatten(document.contents, '', path)
  return given

  function flatten(node: Node, name: string, place: string): void {
    if (!isMap(node) || isKey(name)) {
      given.push({ name, value: node.toJS(document, { maxAliasCount: 0 }), place })
      return
    }
    for (const { key, value } of node.items) {
      const [word, at] = isScalar(key) ? [String(key.value), key.range?.[0] ?? 0] : ['?', 0]
      const full = name === '' ? word : `${name}.${word}`
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a parsed map holds
      if (value !== null) flatten(value as Node, full, placeOf(at))
    }
  }

  function placeOf(offset: number): string {
    return `${path}:${lines.linePos(offset).line}`
  }
}

function readText(path: string): string {
  try {
    const { size } = statSync(path)
    if (size > CONFIG_BYTES_MAX)
      throw unreadable(path, `it has ${size} bytes, and ${CONFIG_BYTES_MAX} is the most`)
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw error instanceof Accident ? error : unreadable(path, String(error))
  }
}

function unreadable(path: string, why: string): Accident<'bad-config'> {
  return new Accident(
    fault('bad-config', `the config file ${path} cannot be read: ${why}`, {
      problems: [{ key: '', place: path, problem: why }],
      remedy: 'mend the file, or name another one with --config',
    }),
  )
}
