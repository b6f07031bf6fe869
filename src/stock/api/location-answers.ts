/** How locations are answered and documented, and what becomes of a directory that cannot be asked. */
import { fields, list, type JsonSchema } from '../../http/index.ts'
import { Accident, fault, type Fault } from '../../std/index.ts'
import type { Later } from '../locations/directory.ts'
import { TEXT } from './answering.ts'

export const location: JsonSchema = fields(
  { id: TEXT, 'parent?': TEXT, roles: list(TEXT), children: list(TEXT) },
  { id: 'DC01', roles: ['TrackedInventoryLocation'], children: ['ST01'] },
)

export const tree: JsonSchema = fields(
  { id: TEXT, roles: list(TEXT), children: list({ type: 'object' }) },
  {
    id: 'DC01',
    roles: ['TrackedInventoryLocation'],
    children: [{ id: 'ST01', roles: ['TrackedInventoryLocation'], children: [] }],
  },
)

type Unfound = Fault<'location-not-found' | 'upstream-unavailable'>

/** What the directory knows, or why it is not told. */
export async function known<Value>(
  locationId: string,
  ask: () => Later<Value | undefined>,
): Promise<Readonly<{ ok: true; value: Value }> | Unfound> {
  try {
    const value = await ask()
    if (value !== undefined) return { ok: true, value }
  } catch (error) {
    if (!(error instanceof Accident) || error.code !== 'upstream-unavailable') throw error
    return fault('upstream-unavailable', error.fault.message, error.detail)
  }
  return fault('location-not-found', 'there is no such location', {
    locationId,
    remedy: 'create it, or name one that is there',
  })
}
