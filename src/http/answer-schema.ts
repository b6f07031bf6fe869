/** Schemas of answers, for the description of an API: what is sent out is not held to them. */
import type { JsonSchema } from './shape.ts'

/** Fields whose name ends in a question mark may be left out. */
export function fields(of: Readonly<Record<string, JsonSchema>>, example?: object): JsonSchema {
  const names = Object.keys(of)
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace('?', ''), of[name]])),
    required: names.filter((name) => !name.endsWith('?')),
    ...(example !== undefined && { examples: [example] }),
  }
}

export function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}
