/**
 * The writes of the stock as a client sends them: a path, a body that is right, and for each field
 * of it values that are not. What is added to the API gets a row here.
 */
import { DELIVERY_PRODUCTS_MAX, QUANTITY_MAX } from '../../src/stock/index.ts'
import { ID_ENCODED_CHARS_MAX, REQUEST_ID_CHARS_MAX } from '../../src/stock/index.ts'

export type Body = Readonly<Record<string, unknown>>

export type Write = Readonly<{
  name: 'delivery' | 'sale' | 'move' | 'count'
  path(place: string, product: string): string
  body(requestId: string, more?: Readonly<{ destination?: string; product?: string }>): Body
  /** Paths of the fields, in the order in which they are named when they are wrong. */
  fields: Readonly<Record<string, readonly unknown[]>>
}>

export const PLACE = 'bad-input-depot'
export const DESTINATION = 'bad-input-shop'
/** Another place that is there. */
export const THIRD = 'bad-input-kiosk'
export const PRODUCT = 'bad-input-beans'

const AT = '2024-12-13T12:00:00Z'

// A JSON null says the same as leaving a field out, so it is not among them.
const NO_TEXTS = [5, true, {}, [], ['a']]
const NO_IDS = [
  ...NO_TEXTS,
  '',
  '   ',
  '\u0000',
  'a\nb',
  '\ud800',
  'x'.repeat(ID_ENCODED_CHARS_MAX + 1),
]
const NO_REQUEST_IDS = [...NO_TEXTS, '', ' ', '\t', '\udc00', 'x'.repeat(REQUEST_ID_CHARS_MAX + 1)]
const NO_NUMBERS = [
  true,
  {},
  [],
  [1],
  '',
  ' ',
  'many',
  'NaN',
  'Infinity',
  '-Infinity',
  '1e3',
  '0x10',
]
const NO_QUANTITIES = [
  ...NO_NUMBERS,
  -1,
  '-1',
  -0.000001,
  QUANTITY_MAX + 1,
  `${QUANTITY_MAX + 1}`,
  `${QUANTITY_MAX}.000001`,
  1e300,
  0.0000001,
  '1.0000001',
  '1,5',
  '1 000',
]
const NO_AMOUNTS = [...NO_QUANTITIES, 0, '0', '0.000000']
const NO_TIMES = [
  ...NO_TEXTS,
  '',
  'noon',
  '2024-12-13',
  '13.12.2024 12:00',
  '2024-13-01T00:00:00Z',
  '2024-02-30T00:00:00Z',
  '2024-12-13T24:01:00Z',
  '2024-12-13T12:60:00Z',
  '2024-12-13T12:00:00+99:00',
  '10000-01-01T00:00:00Z',
  1_734_091_200_000,
]
const NO_REASONS = [...NO_TEXTS, '', 'whim', 'replenishment ']
const line = { productId: PRODUCT, quantity: 1 }
const NO_PRODUCTS = [
  5,
  'beans',
  true,
  {},
  { 0: line, length: 1 },
  [],
  Array.from({ length: DELIVERY_PRODUCTS_MAX + 1 }, () => line),
]

export const WRITES: readonly Write[] = [
  {
    name: 'delivery',
    path: (place) => `/locations/${place}/deliveries`,
    body: (requestId, { product = PRODUCT } = {}) => ({
      requestId,
      supplierId: 'supplier',
      supplierRef: 'reference',
      deliveredAt: AT,
      products: [{ productId: product, quantity: 1 }],
    }),
    fields: {
      requestId: NO_REQUEST_IDS,
      supplierId: NO_IDS,
      supplierRef: NO_IDS,
      deliveredAt: NO_TIMES,
      products: NO_PRODUCTS,
      'products[0]': [5, 'beans', true, []],
      'products[0].productId': NO_IDS,
      'products[0].quantity': NO_AMOUNTS,
    },
  },
  {
    name: 'sale',
    path: (place, product) => `/locations/${place}/products/${product}/sales`,
    body: (requestId) => ({ requestId, quantity: 1, soldAt: AT }),
    fields: { requestId: NO_REQUEST_IDS, quantity: NO_AMOUNTS, soldAt: NO_TIMES },
  },
  {
    name: 'move',
    path: (place, product) => `/locations/${place}/${product}/movements`,
    body: (requestId, { destination = DESTINATION } = {}) => ({
      requestId,
      destinationLocationId: destination,
      quantity: 1,
      reason: 'replenishment',
      movedAt: AT,
    }),
    fields: {
      requestId: NO_REQUEST_IDS,
      destinationLocationId: NO_IDS,
      quantity: NO_AMOUNTS,
      reason: NO_REASONS,
      movedAt: NO_TIMES,
    },
  },
  {
    name: 'count',
    path: (place, product) => `/locations/${place}/products/${product}/counts`,
    body: (requestId) => ({ requestId, reason: 'AdminOverride', quantity: 1, countedAt: AT }),
    fields: {
      requestId: NO_REQUEST_IDS,
      reason: [...NO_REASONS, 'adminoverride'],
      quantity: NO_QUANTITIES,
      countedAt: NO_TIMES,
    },
  },
]

/** The same body with another value at a path; without the field where the value is undefined. */
export function withAt(body: Body, path: string, value: unknown): Body {
  const copy = structuredClone(body) as Record<string, unknown>
  const names = path.split(/[.[\]]+/).filter((part) => part !== '')
  let inner: Record<string, unknown> = copy
  for (const name of names.slice(0, -1)) inner = inner[name] as Record<string, unknown>
  if (value === undefined) delete inner[names.at(-1)!]
  else inner[names.at(-1)!] = value
  return copy
}
