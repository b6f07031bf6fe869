/** A registry of schemas in this process; versions of a subject count from 1, ids over all subjects. */
import { Accident, fault } from '../../std/index.ts'
import type { RegisteredSchema, SchemaRegistry, SchemaText, SchemaVersion } from './registry.ts'

export const REGISTRY_SCHEMAS_MAX = 10_000

export function memoryRegistry(): SchemaRegistry {
  const schemas: RegisteredSchema[] = []
  const subjects = new Map<string, SchemaVersion[]>()
  return {
    byId: async (id) => schemas[id - 1],
    bySubject: async (subject, version) =>
      subjects.get(subject)?.at(version === 'latest' ? -1 : version - 1),
    async register(subject, schema) {
      const registered = schemaOf(schema)
      const versions = subjects.get(subject) ?? []
      if (!versions.some(({ id }) => id === registered.id))
        subjects.set(subject, [...versions, { ...registered, version: versions.length + 1 }])
      return registered.id
    },
  }

  function schemaOf({ type, text }: SchemaText): RegisteredSchema {
    const same = schemas.find((schema) => schema.type === type && schema.text === text)
    if (same !== undefined) return same
    if (schemas.length >= REGISTRY_SCHEMAS_MAX)
      throw new Accident(
        fault('event-refused', 'the registry has as many schemas as it may', {
          limit: REGISTRY_SCHEMAS_MAX,
        }),
      )
    const registered = { type, text, id: schemas.length + 1 }
    schemas.push(registered)
    return registered
  }
}
