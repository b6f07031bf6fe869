/**
 * What goes wrong below, in the words of the stock.
 *
 * Whoever asks the stock is told that a pot is unavailable, not which of its parts; the reason is in the
 * detail. Nobody is promised that nothing happened unless that is certain. What has no place here is a bug
 * and stays thrown.
 */
import { Accident, fault, type Fault, type FaultDetail } from '../std/index.ts'

export type Mishap =
  | 'request-mismatch'
  | 'version-mismatch'
  | 'overloaded'
  | 'shutting-down'
  | 'pot-unavailable'
  | 'upstream-unavailable'
  | 'view-behind'

/** What can befall a write, and what a read. */
export const WRITE_MISHAPS = [
  'request-mismatch',
  'version-mismatch',
  'overloaded',
  'shutting-down',
  'pot-unavailable',
] as const
export const READ_MISHAPS = [
  'overloaded',
  'shutting-down',
  'pot-unavailable',
  'upstream-unavailable',
  'view-behind',
] as const

const REPEAT = 'repeat it with the same request id'

/** What befell, of what can befall; anything else is thrown again. */
export function mishapOf<Code extends Mishap>(error: unknown, codes: readonly Code[]): Fault<Code> {
  const mishap = named(error)
  if (!isAmong(mishap, codes)) throw error
  return mishap
}

function isAmong<Code extends Mishap>(
  mishap: Fault<Mishap>,
  codes: readonly Code[],
): mishap is Fault<Code> {
  return codes.some((code) => code === mishap.code)
}

function named(error: unknown): Fault<Mishap> {
  if (!(error instanceof Accident)) throw error
  const { code, fault: told } = error
  const { message, detail } = told
  switch (code) {
    case 'request-mismatch':
      return fault('request-mismatch', message, {
        ...parts(detail, ['requestId', 'fields', 'remedy']),
      })
    case 'version-mismatch':
      return fault('version-mismatch', message, {
        ...parts(detail, ['expected', 'actual', 'remedy']),
      })
    case 'upstream-unavailable':
      return fault('upstream-unavailable', message, detail)
    case 'view-behind':
      return fault('view-behind', message, detail)
    case 'entity-overloaded':
    case 'journal-overloaded':
      return fault('overloaded', 'too much is waiting already', {
        cause: code,
        mayHaveTakenEffect: false,
        remedy: `${REPEAT}, later`,
      })
    case 'shutting-down':
    case 'journal-closed':
      return fault('shutting-down', 'the stock is being shut down', {
        cause: code,
        mayHaveTakenEffect: detail['mayHaveTakenEffect'] === true,
        remedy: `${REPEAT} when it is back`,
      })
    case 'deadline-passed':
    case 'unknown-outcome':
      return unavailable(error, detail['mayHaveTakenEffect'] !== false)
    case 'entity-unavailable':
    case 'entity-quarantined':
    case 'entity-contended':
    case 'entity-fenced':
    case 'damaged':
    case 'read-only':
    case 'view-ended':
    case 'view-taken':
      return unavailable(error, false)
    default:
      throw error
  }
}

function unavailable(
  { code, fault: { message, detail } }: Accident,
  mayHaveTakenEffect: boolean,
): Fault<'pot-unavailable'> {
  return fault('pot-unavailable', message, {
    cause: code,
    ...parts(detail, ['retryAtMs']),
    mayHaveTakenEffect,
    remedy: `${REPEAT}; if it stays so, look at the pots in trouble`,
  })
}

function parts(detail: FaultDetail, names: readonly string[]): FaultDetail {
  return Object.fromEntries(
    names.filter((name) => detail[name] !== undefined).map((name) => [name, detail[name]]),
  )
}
