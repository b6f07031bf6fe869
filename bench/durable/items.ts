/** What is written: events and records of 256 bytes, the same for ours, limits and peers. */

export const ITEM_BYTES = 256
export const COLLECTION = 'bench'

const KEY_DIGITS = 12

const PAYLOADS: readonly string[] = Array.from(
  { length: 1_024 },
  (_, index) => `${`{"index":${index},"text":"`.padEnd(ITEM_BYTES - 2, 'x')}"}`,
)

export function payload(index: number): string {
  return PAYLOADS[index % PAYLOADS.length]!
}

/** Keys are in the order of their numbers. */
export function keyOf(index: number): string {
  return String(index).padStart(KEY_DIGITS, '0')
}
