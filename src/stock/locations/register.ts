/**
 * The register of places: one entity, because whether a move leads in a circle depends on all of them.
 *
 * Places are kept in drawers by a hash of their id, so that a change copies one drawer and not all
 * places. What must stay true: every parent is there, no place is inside itself, and the bounds hold.
 */
import { accept, answer, entity, type Decision, type EntityDefinition } from '../../entity/index.ts'
import { fault, unreachable, type Fault } from '../../std/index.ts'
import { LOCATION_DEPTH_MAX, LOCATIONS_MAX, type Place } from './tree.ts'

export type RegisterCommand =
  | Readonly<{ type: 'create'; id: string; parent: string | null; roles: readonly string[] }>
  | Readonly<{ type: 'move'; id: string; parent: string | null }>
  | Readonly<{ type: 'set-roles'; id: string; roles: readonly string[] }>

export type RegisterEvent = Place & Readonly<{ type: 'created' | 'moved' | 'roles-set' }>

export type RegisterRefusal =
  | 'location-not-found'
  | 'location-exists'
  | 'location-cycle'
  | 'too-many-locations'
  | 'too-deep'

export type RegisterReply = Readonly<{ ok: true; place: Place }> | Fault<RegisterRefusal>

type Drawer = Readonly<Record<string, Place>>
export type Register = Readonly<{ size: number; drawers: readonly Drawer[] }>

const DRAWERS = 128

export const locationRegister: EntityDefinition<
  Register,
  RegisterCommand,
  RegisterEvent,
  RegisterReply
> = entity({
  type: 'location-register',
  version: 1,
  initial: () => ({ size: 0, drawers: Array.from({ length: DRAWERS }, () => ({})) }),
  decide,
  evolve,
})

export function placesOf({ drawers }: Register): readonly Place[] {
  return drawers.flatMap((drawer) => Object.values(drawer))
}

function decide(
  register: Register,
  command: RegisterCommand,
): Decision<RegisterEvent, RegisterReply> {
  const { id } = command
  const found = placeIn(register, id)
  if (command.type === 'create') {
    const { parent, roles } = command
    if (found !== undefined) return answer(exists(id))
    if (register.size >= LOCATIONS_MAX) return answer(tooMany())
    const refusal = parent === null ? undefined : unfit(register, parent, 1)
    return refusal === undefined ? accepted('created', { id, parent, roles }) : answer(refusal)
  }
  if (found === undefined) return answer(notFound(id))
  switch (command.type) {
    case 'move': {
      const { parent } = command
      const refusal = parent === null ? undefined : misplaced(register, id, parent)
      return refusal === undefined ? accepted('moved', { ...found, parent }) : answer(refusal)
    }
    case 'set-roles':
      return accepted('roles-set', { ...found, roles: command.roles })
    default:
      return unreachable(command)
  }
}

function accepted(
  type: RegisterEvent['type'],
  place: Place,
): Decision<RegisterEvent, RegisterReply> {
  return accept([{ type, ...place }], { ok: true, place })
}

function evolve(register: Register, { id, parent, roles }: RegisterEvent): Register {
  const n = drawerOf(id)
  const isNew = placeIn(register, id) === undefined
  const drawer = { ...register.drawers[n], [keyOf(id)]: { id, parent, roles } }
  return {
    size: register.size + (isNew ? 1 : 0),
    drawers: register.drawers.with(n, drawer),
  }
}

function placeIn({ drawers }: Register, id: string): Place | undefined {
  return drawers[drawerOf(id)]?.[keyOf(id)]
}

/** No property that every object has begins so. */
function keyOf(id: string): string {
  return `/${id}`
}

function drawerOf(id: string): number {
  let hash = 0
  for (let n = 0; n < id.length; n++) hash = (Math.imul(hash, 31) + id.charCodeAt(n)) | 0
  return (hash >>> 0) % DRAWERS
}

/** Why a place cannot take in something that is so many places high. */
function unfit(
  register: Register,
  parent: string,
  height: number,
): Fault<RegisterRefusal> | undefined {
  if (placeIn(register, parent) === undefined) return notFound(parent)
  return ancestry(register, parent).length + height > LOCATION_DEPTH_MAX ? tooDeep() : undefined
}

function misplaced(
  register: Register,
  id: string,
  parent: string,
): Fault<RegisterRefusal> | undefined {
  if (ancestry(register, parent).includes(id)) return cycle(id, parent)
  return unfit(register, parent, heightOf(register, id))
}

/** The place and everything it is in, from the inside out. */
function ancestry(register: Register, id: string): readonly string[] {
  const line: string[] = []
  for (let at = placeIn(register, id); at !== undefined;) {
    line.push(at.id)
    at = at.parent === null ? undefined : placeIn(register, at.parent)
  }
  return line
}

function heightOf(register: Register, id: string): number {
  let height = 1
  for (const place of placesOf(register)) {
    const above = ancestry(register, place.id).indexOf(id)
    if (above >= height) height = above + 1
  }
  return height
}

export function notFound(id: string): Fault<'location-not-found'> {
  return fault('location-not-found', 'there is no such location', {
    locationId: id,
    remedy: 'name a location that exists',
  })
}

function exists(id: string): Fault<'location-exists'> {
  return fault('location-exists', 'there is a location of that name already', {
    locationId: id,
    remedy: 'choose another id, or change the one there is',
  })
}

function cycle(id: string, parent: string): Fault<'location-cycle'> {
  return fault('location-cycle', 'a location cannot be inside itself', {
    locationId: id,
    parent,
    remedy: 'move it to a place that is not inside it',
  })
}

function tooMany(): Fault<'too-many-locations'> {
  return fault('too-many-locations', `there are ${LOCATIONS_MAX} locations already`, {
    limit: LOCATIONS_MAX,
    remedy: 'keep so many locations in a service of your own, and name it in the configuration',
  })
}

function tooDeep(): Fault<'too-deep'> {
  return fault('too-deep', `locations are nested at most ${LOCATION_DEPTH_MAX} deep`, {
    limit: LOCATION_DEPTH_MAX,
    remedy: 'put it further up',
  })
}
