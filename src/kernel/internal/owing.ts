/** Answers an actor owes. If its life ends first, each is answered with what was agreed for that case. */
import { Accident, fault } from '../../std/index.ts'
import type { Ref, Refusal } from '../ref.ts'
import { extrasOf, type Cell } from './cell.ts'

/** Answers one actor may owe at once. */
export const DEBTS_MAX = 10_000

export class Debt implements Ref<unknown> {
  readonly path: string
  readonly #debtor: Cell
  readonly #creditor: Ref<never>
  readonly #otherwise: never

  constructor(debtor: Cell, creditor: Ref<never>, otherwise: never) {
    this.path = creditor.path
    this.#debtor = debtor
    this.#creditor = creditor
    this.#otherwise = otherwise
  }

  tell(answer: unknown): Refusal | undefined {
    if (this.#debtor.extras?.debts?.delete(this) === true) {
      return this.#creditor.tell(answer as never)
    }
    this.#debtor.core.deadLetters.add(this.path, answer, 'late-reply')
    return undefined
  }

  /** The creditor may be anybody's: one that throws ends nothing but its own debt. */
  settle(): void {
    const { core, path } = this.#debtor
    try {
      this.#creditor.tell(this.#otherwise)
    } catch (error) {
      core.log.error('an answer owed could not be told', { actor: path, to: this.path, error })
    }
  }
}

export function owe(cell: Cell, creditor: Ref<never>, otherwise: never): Debt {
  const debts = (extrasOf(cell).debts ??= new Set())
  if (debts.size >= DEBTS_MAX) {
    throw new Accident(
      fault('too-many-debts', `${cell.path} owes ${DEBTS_MAX} answers and may owe no more`, {
        actor: cell.path,
        limit: DEBTS_MAX,
        remedy: 'answer what is owed before taking on more',
      }),
    )
  }
  const debt = new Debt(cell, creditor, otherwise)
  debts.add(debt)
  return debt
}

export function settleDebts(cell: Cell): void {
  const debts = cell.extras?.debts
  if (debts === undefined || debts === null) return
  for (const debt of debts) {
    debts.delete(debt)
    debt.settle()
  }
}
