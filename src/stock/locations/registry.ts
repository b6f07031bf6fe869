/**
 * The built-in registry: places kept in the journal and known in memory, so that they are found at once.
 *
 * It is the only writer of its register. What it knows follows from what the register answers, in the
 * order of its versions; whenever that leaves a gap, because an answer got lost or was given before, all
 * is read again.
 */
import type { Entities } from '../../entity/index.ts'
import type { Fault } from '../../std/index.ts'
import { mishapOf, WRITE_MISHAPS } from '../accidents.ts'
import type { Location, LocationDirectory, LocationTree } from './directory.ts'
import {
  locationRegister,
  placesOf,
  type RegisterCommand,
  type RegisterRefusal,
} from './register.ts'
import { PlaceTree, type Place } from './tree.ts'

export type RegistryRefusal = RegisterRefusal | (typeof WRITE_MISHAPS)[number]

export type RegistryBy = Readonly<{
  actor: string
  trace?: string
  /** The same id has one effect and one answer, as everywhere. */
  requestId?: string
}>

export type Registered = Readonly<{
  ok: true
  location: Location
  version: number
  position: number
  replayed: boolean
}>

/** Ids and roles are checked where they come in. */
export interface LocationRegistry extends LocationDirectory {
  find(id: string): Location | undefined
  path(id: string): readonly Location[] | undefined
  children(id: string, depth?: number): LocationTree | undefined
  /** A root unless it has a parent. */
  create(
    place: Readonly<{ id: string; parent?: string; roles: readonly string[] }>,
    by: RegistryBy,
  ): Promise<Registered | Fault<RegistryRefusal>>
  /** With everything inside it; without a parent it becomes a root. */
  move(
    place: Readonly<{ id: string; parent?: string }>,
    by: RegistryBy,
  ): Promise<Registered | Fault<RegistryRefusal>>
  setRoles(
    place: Readonly<{ id: string; roles: readonly string[] }>,
    by: RegistryBy,
  ): Promise<Registered | Fault<RegistryRefusal>>
}

const ID = 'all'

export async function openRegistry(entities: Entities): Promise<LocationRegistry> {
  const registry = new Registry(entities)
  await registry.load()
  return registry
}

class Registry extends PlaceTree implements LocationRegistry {
  readonly #entities: Entities
  #version = 0

  constructor(entities: Entities) {
    super()
    this.#entities = entities
  }

  create(
    {
      id,
      parent = null,
      roles,
    }: Readonly<{ id: string; parent?: string | null; roles: readonly string[] }>,
    by: RegistryBy,
  ): Promise<Registered | Fault<RegistryRefusal>> {
    return this.#write({ type: 'create', id, parent, roles: [...new Set(roles)].toSorted() }, by)
  }

  move(
    { id, parent = null }: Readonly<{ id: string; parent?: string | null }>,
    by: RegistryBy,
  ): Promise<Registered | Fault<RegistryRefusal>> {
    return this.#write({ type: 'move', id, parent }, by)
  }

  setRoles(
    { id, roles }: Readonly<{ id: string; roles: readonly string[] }>,
    by: RegistryBy,
  ): Promise<Registered | Fault<RegistryRefusal>> {
    return this.#write({ type: 'set-roles', id, roles: [...new Set(roles)].toSorted() }, by)
  }

  async load(): Promise<void> {
    const { state, version } = await this.#entities.read(locationRegister, ID)
    if (version < this.#version) return // somebody else's answer came meanwhile
    this.clear()
    const places = new Map(placesOf(state).map((place) => [place.id, place]))
    for (const place of places.values()) this.#putBelow(place, places)
    this.#version = version
  }

  async #write(
    command: RegisterCommand,
    by: RegistryBy,
  ): Promise<Registered | Fault<RegistryRefusal>> {
    try {
      const { reply, ...answer } = await this.#entities.ask(locationRegister, ID, command, by)
      if (!reply.ok) return reply
      if (answer.version === this.#version + 1) {
        this.put(reply.place)
        this.#version = answer.version
      } else if (answer.version > this.#version) await this.load()
      const { place } = reply
      const location = this.find(place.id) ?? { id: place.id, roles: place.roles, children: [] }
      return { ok: true, location, ...answer }
    } catch (error) {
      const mishap = mishapOf(error, WRITE_MISHAPS)
      // It may have taken effect, and then the next answer would be the first to tell.
      if (mishap.detail['mayHaveTakenEffect'] === true) await this.load().catch(() => undefined)
      return mishap
    }
  }

  #putBelow(place: Place, places: ReadonlyMap<string, Place>): void {
    if (this.find(place.id) !== undefined) return
    const above = place.parent === null ? undefined : places.get(place.parent)
    if (above !== undefined) this.#putBelow(above, places)
    this.put(place)
  }
}
