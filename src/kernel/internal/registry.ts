/**
 * Addresses, and the relay of a resume.
 *
 * An address is a slot and a generation of one system, given on first request. The
 * generation moves on when the actor ends, so an old address finds nobody and never
 * a stranger; a slot whose generation runs out is retired.
 */
import type { Address } from '../ref.ts'
import { extrasOf, wake, type Cell } from './cell.ts'
import { STOPPED } from './status.ts'

const GENERATION_MAX = 2 ** 31 - 1

/** The address of whoever has ended. Nobody was ever there, and nobody will be. */
const NOWHERE: Address = Object.freeze({ system: 0, slot: -1, generation: 0 })

/** Numbers the systems of this thread, so that one's address means nothing to another. */
let systems = 0

export class Registry {
  readonly #system = ++systems
  readonly #cells: (Cell | null)[] = []
  readonly #generations: number[] = []
  readonly #free: number[] = []

  addressOf(cell: Cell): Address {
    const extras = extrasOf(cell)
    if ((cell.status & STOPPED) !== 0) return NOWHERE
    if (extras.slot < 0) {
      extras.slot = this.#free.pop() ?? this.#cells.length
      this.#cells[extras.slot] = cell
      this.#generations[extras.slot] ??= 1
    }
    return {
      system: this.#system,
      slot: extras.slot,
      generation: this.#generations[extras.slot]!,
    }
  }

  at(address: Address): Cell | undefined {
    if (address.system !== this.#system) return undefined
    if (this.#generations[address.slot] !== address.generation) return undefined
    return this.#cells[address.slot] ?? undefined
  }

  /** The cell has ended: its address goes stale. */
  release(cell: Cell): void {
    const slot = cell.extras?.slot ?? -1
    if (slot < 0) return
    this.#cells[slot] = null
    this.#generations[slot]!++
    if (this.#generations[slot]! < GENERATION_MAX) this.#free.push(slot)
  }

  /** A cell has given back its last token: if it has work, the ready queue learns of it. */
  resumed(cell: Cell): void {
    wake(cell)
  }
}
