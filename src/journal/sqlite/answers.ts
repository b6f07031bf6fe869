/** Answers as the tables have them, for whoever reads them and for whoever judges by them. */
import type { StatementSync } from 'node:sqlite'
import type { LedgerRow } from './checks.ts'
import { damaged, reading } from './damage.ts'
import { isLostAnswer } from './lost.ts'
import { rightOf, TABLES } from './rows.ts'

/** The answer that the statement finds by its key. */
export function checkedAnswer(statement: StatementSync, key: string): LedgerRow | undefined {
  const where = { table: 'ledger', key }
  const row = reading(where, () => statement.get(key))
  if (row === undefined) return undefined
  const right = rightOf(TABLES.ledger, row, { key })
  if (right === undefined) throw damaged(`the answer to ${key} is damaged`, where)
  if (isLostAnswer(right)) throw damaged(`the answer to ${key} is lost`, where)
  return right
}
