/** What was asked in a run of the model test and what came of it, as data. */
import type { Answer } from '../../../src/entity/index.ts'
import { Accident } from '../../../src/std/index.ts'
import type { VaultCommand, VaultReply } from './vault.ts'

export type Outcome =
  | Readonly<{ type: 'pending' }>
  | Readonly<{ type: 'answered'; answer: Answer<VaultReply>; step: number }>
  | Readonly<{ type: 'refused'; code: string; isDefinite: boolean; step: number }>

/** One ask; the same request may be asked several times. */
export type Ask = { readonly runtime: number; readonly step: number; outcome: Outcome }

export type Issued = Readonly<{
  tag: string
  id: string
  command: VaultCommand
  client: number
  requestId?: string
  expected?: number
  asks: Ask[]
}>

/** Refusals that say that this ask has had no effect, and will have none. */
const DEFINITE: ReadonlySet<string> = new Set([
  'bad-alarm',
  'decide-failed',
  'entity-contended',
  'entity-overloaded',
  'entity-unavailable',
  'journal-overloaded',
  'postponed-too-long',
  'read-only',
  'request-mismatch',
  'version-mismatch',
])
/** Refusals that leave it open, unless they say otherwise. */
const OPEN: ReadonlySet<string> = new Set([
  'deadline-passed',
  'journal-closed',
  'shutting-down',
  'unknown-outcome',
])

/** What an ask was refused with; undefined if no ask may be refused so. */
export function refusalOf(
  error: unknown,
): Readonly<{ code: string; isDefinite: boolean }> | undefined {
  if (!(error instanceof Accident)) return undefined
  const { code, detail } = error
  if (!DEFINITE.has(code) && !OPEN.has(code)) return undefined
  return { code, isDefinite: DEFINITE.has(code) || detail['mayHaveTakenEffect'] === false }
}
