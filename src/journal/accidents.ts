/** Why a journal of any engine did not do what was asked of it, and what to do about it. */
import { Accident, fault } from '../std/index.ts'

export function closed(): Accident<'journal-closed'> {
  return new Accident(fault('journal-closed', 'the journal is closed', { remedy: 'open it again' }))
}

export function failed(): Accident<'journal-closed'> {
  return new Accident(
    fault('journal-closed', 'the journal has failed and gives and takes nothing any more', {
      remedy: 'close it and open it again: what is on disk is the truth',
    }),
  )
}

export function readOnly(): Accident<'read-only'> {
  return new Accident(
    fault('read-only', 'the disk has no room, nothing of the batch was kept', {
      remedy: 'free some space; the journal looks for it by itself',
    }),
  )
}

export function unknownOutcome(cause: unknown): Accident<'unknown-outcome'> {
  return new Accident(
    fault('unknown-outcome', 'the batch may be on disk or not', {
      remedy: 'open the journal again and look up its ledger key, or the version of its stream',
    }),
    { cause },
  )
}

export function overloaded(pending: number, bytes: number): Accident<'journal-overloaded'> {
  return new Accident(
    fault('journal-overloaded', 'too many commits wait to be durable', {
      pending,
      bytes,
      remedy: 'commit again when some of them have been answered',
    }),
  )
}
