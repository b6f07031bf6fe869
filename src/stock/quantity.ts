/**
 * Quantities: decimals with up to six places, computed as scaled whole numbers.
 *
 * A quantity is a canonical decimal text (`150.5`, `-3`, `0`): two that are equal are the same text, and
 * JSON keeps it as it is. Sums are exact. A text never has a plus sign, an exponent, a leading zero that
 * says nothing, a trailing zero behind the point, or a minus before zero.
 */

/** A canonical decimal text; made by `quantityOf` and the arithmetic here. */
export type Quantity = string

/** Places behind the point. */
export const QUANTITY_DECIMALS_MAX = 6
/** What anybody may say: from minus this to this. Sums may go beyond. */
export const QUANTITY_MAX = 1_000_000_000_000_000

export const NOTHING: Quantity = '0'

const SCALE = 10n ** BigInt(QUANTITY_DECIMALS_MAX)
const SCALED_MAX = BigInt(QUANTITY_MAX) * SCALE
/** The sum of two whole numbers of so many digits is exact. */
const PLAIN_CHARS = 15
const DECIMAL = /^(-?)(\d{1,32})(?:\.(\d{1,6}))?$/

/** What a number or a decimal text says; undefined if it is none, too fine or too large. */
export function quantityOf(value: unknown): Quantity | undefined {
  if (typeof value === 'number') {
    // One that is written with an exponent is too large or too fine, and no decimal text either.
    const isWhole = Number.isSafeInteger(value) && Math.abs(value) <= QUANTITY_MAX
    return isWhole ? String(value) : quantityOf(String(value))
  }
  if (typeof value !== 'string') return undefined
  const parts = DECIMAL.exec(value)
  if (parts === null) return undefined
  const [, sign, whole = '', decimals = ''] = parts
  const magnitude = BigInt(whole + decimals.padEnd(QUANTITY_DECIMALS_MAX, '0'))
  return magnitude > SCALED_MAX ? undefined : textOf(sign === '-' ? -magnitude : magnitude)
}

/** As a JSON number: the nearest one, where it has more digits than a number keeps. */
export function numberOf(quantity: Quantity): number {
  return Number(quantity)
}

export function plus(a: Quantity, b: Quantity): Quantity {
  if (isPlain(a) && isPlain(b)) return String(Number(a) + Number(b))
  return textOf(scaled(a) + scaled(b))
}

export function minus(a: Quantity, b: Quantity): Quantity {
  if (isPlain(a) && isPlain(b)) return String(Number(a) - Number(b))
  return textOf(scaled(a) - scaled(b))
}

export function isLess(a: Quantity, b: Quantity): boolean {
  return isPlain(a) && isPlain(b) ? Number(a) < Number(b) : scaled(a) < scaled(b)
}

export function isPositive(quantity: Quantity): boolean {
  return quantity !== NOTHING && !isNegative(quantity)
}

export function isNegative(quantity: Quantity): boolean {
  return quantity.startsWith('-')
}

/** Most quantities are whole and small, and those are numbers like any other. */
function isPlain(quantity: Quantity): boolean {
  return quantity.length <= PLAIN_CHARS && !quantity.includes('.')
}

function scaled(quantity: Quantity): bigint {
  const point = quantity.indexOf('.')
  if (point < 0) return BigInt(quantity) * SCALE
  return BigInt(
    quantity.slice(0, point) + quantity.slice(point + 1).padEnd(QUANTITY_DECIMALS_MAX, '0'),
  )
}

function textOf(amount: bigint): Quantity {
  const magnitude = amount < 0n ? -amount : amount
  const [whole, rest] = [magnitude / SCALE, magnitude % SCALE]
  const sign = amount < 0n ? '-' : ''
  if (rest === 0n) return `${sign}${whole}`
  const decimals = rest.toString().padStart(QUANTITY_DECIMALS_MAX, '0').replace(/0+$/, '')
  return `${sign}${whole}.${decimals}`
}
