/**
 * Who goes next, where several could.
 *
 * All orders can produce every sequence; they differ in what they produce often. `any` mixes, `arrival`
 * keeps close to the kernel's own order, `newest` lets the others wait until it hurts.
 */
import type { Random } from '../std/index.ts'

export type Order = 'any' | 'arrival' | 'newest'

export const ORDERS: readonly Order[] = ['any', 'arrival', 'newest']

/** How seldom an order departs from its habit: once in so many turns. */
const SELDOM = 8

export function chooser(order: Order, draws: Random): (count: number) => number {
  return (count) => {
    if (count === 1) return 0
    if (order === 'any' || draws.below(SELDOM) === 0) return draws.below(count)
    return order === 'arrival' ? 0 : count - 1
  }
}
