/**
 * A registry of schemas over HTTP, as Confluent's has it.
 *
 * What an id stands for never changes and is asked for once; which version of a subject is the latest
 * is asked for again after a while. What is being asked for is not asked for twice.
 */
import type { Clock } from '../../std/index.ts'
import type { Mask } from '../secrets/secrets.ts'
import { registryAsker, type Answer, type RegistryAddress } from './registry-http.ts'
import type { RegisteredSchema, SchemaRegistry, SchemaType, SchemaVersion } from './registry.ts'

export const REGISTRY_LATEST_MS = 30_000
export const REGISTRY_CACHED_MAX = 1_000

type World = Readonly<{ clock: Clock; mask: Mask }>
type Kept = Readonly<{ answer: Promise<unknown>; untilMs: number }>

export function httpRegistry(address: RegistryAddress, world: World): SchemaRegistry {
  const { clock } = world
  const ask = registryAsker(address, world)
  const kept = new Map<string, Kept>()

  return {
    byId: (id) =>
      cached(`/schemas/ids/${id}`, Infinity, async (path) => {
        const answer = await ask(path)
        return answer && schemaOf({ ...answer, id })
      }),
    bySubject: (subject, version) =>
      cached(
        `/subjects/${encodeURIComponent(subject)}/versions/${version}`,
        version === 'latest' ? REGISTRY_LATEST_MS : Infinity,
        async (path) => {
          const answer = await ask(path)
          return answer && versionOf(answer)
        },
      ),
    async register(subject, { type, text }) {
      const path = `/subjects/${encodeURIComponent(subject)}/versions`
      const key = `${path} ${type} ${text}`
      return cached(key, Infinity, async () => {
        const body = { schema: text, ...(type !== 'avro' && { schemaType: type.toUpperCase() }) }
        const answer = await ask(path, body)
        kept.delete(`${path}/latest`)
        return idOf(answer)
      })
    },
  }

  /** What fails, and what is not there, is not kept. */
  function cached<T>(key: string, ms: number, load: (key: string) => Promise<T>): Promise<T> {
    const known = kept.get(key)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a key is loaded in one way
    if (known !== undefined && known.untilMs > clock.monotonic()) return known.answer as Promise<T>
    const answer = load(key)
    kept.delete(key)
    kept.set(key, { answer, untilMs: clock.monotonic() + ms })
    for (const oldest of kept.keys()) {
      if (kept.size <= REGISTRY_CACHED_MAX) break
      kept.delete(oldest)
    }
    const forget = (): void => void (kept.get(key)?.answer === answer && kept.delete(key))
    answer.then((value) => value === undefined && ms === Infinity && forget(), forget)
    return answer
  }
}

function idOf(answer: Answer | undefined): number {
  const id = answer?.['id']
  if (typeof id !== 'number') throw new Error('the registry gave no id')
  return id
}

function schemaOf(answer: Answer): RegisteredSchema {
  const { schema: text, schemaType = 'AVRO' } = answer
  if (typeof text !== 'string') throw new Error('the registry gave no schema')
  return { type: typeOf(schemaType), text, id: idOf(answer) }
}

function versionOf(answer: Answer): SchemaVersion {
  return { ...schemaOf(answer), version: Number(answer['version']) }
}

function typeOf(name: unknown): SchemaType {
  const type = String(name).toLowerCase()
  if (type === 'avro' || type === 'protobuf' || type === 'json') return type
  throw new Error(`the registry gave a schema of the unknown type ${type}`)
}
