/** How one event of a pot is documented, alone and on the feed; and one pot in a list. */
import { fields, type JsonSchema } from '../../http/index.ts'
import { NUMBER, TEXT, TIME, WHOLE } from './answering.ts'

const EVENT_TYPES = ['delivered', 'sold', 'moved-out', 'moved-in', 'counted', 'level-set'] as const

const happening: Readonly<Record<string, JsonSchema>> = {
  position: WHOLE,
  batch: WHOLE,
  version: WHOLE,
  type: { type: 'string', enum: EVENT_TYPES },
  effectiveAt: TIME,
  recordedAt: TIME,
  requestId: TEXT,
  'actor?': TEXT,
  amount: NUMBER,
  'moveId?': TEXT,
  'counterpart?': TEXT,
  'reason?': TEXT,
}

/** An event in a history. */
export const entry: Readonly<Record<string, JsonSchema>> = {
  ...happening,
  quantity: NUMBER,
  pendingAdjustment: NUMBER,
  'supplierId?': TEXT,
  'supplierRef?': TEXT,
  'variance?': NUMBER,
  late: { type: 'boolean' },
}

export const standing: JsonSchema = fields({
  version: WHOLE,
  quantity: NUMBER,
  pendingAdjustment: NUMBER,
})

/** A pot in a list. */
export const potLevel: JsonSchema = fields({
  locationId: TEXT,
  productId: TEXT,
  quantity: NUMBER,
  'pendingAdjustment?': NUMBER,
  lastUpdated: TIME,
  version: WHOLE,
})

export const POT_LEVEL_EXAMPLE: object = {
  locationId: 'DC01',
  productId: 'apples',
  quantity: 97.5,
  lastUpdated: '2026-01-15T12:00:00.000Z',
  version: 2,
}

/** An event on the feed. */
export const change: Readonly<Record<string, JsonSchema>> = {
  ...happening,
  locationId: TEXT,
  productId: TEXT,
  'discrepancy?': fields({ since: TIME, before: standing, after: standing }),
}

const EXAMPLE = {
  position: 7,
  batch: 7,
  version: 2,
  type: 'sold',
  effectiveAt: '2026-01-15T12:00:00.000Z',
  recordedAt: '2026-01-15T12:00:01.250Z',
  requestId: 'sale-1',
  actor: 'ada',
  amount: 2.5,
}

export const ENTRY_EXAMPLE: object = {
  ...EXAMPLE,
  quantity: 97.5,
  pendingAdjustment: 0,
  late: false,
}

export const CHANGE_EXAMPLE: object = { ...EXAMPLE, locationId: 'DC01', productId: 'apples' }
