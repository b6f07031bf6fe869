/**
 * What a repair writes where something was lost, so that the loss is never mistaken for nothing.
 *
 * A lost event leaves a row of its position that says so: an event of version 0, which no writer can
 * make. Positions and versions stay without gaps, what lies before and behind stays readable, and
 * reading the place itself is refused with `damaged`. Where nobody can say any more to which stream it
 * belonged, it is given to stream 0, which has no name. A lost answer leaves its request id with the
 * position -1: the request is not carried out a second time.
 */
import { eventCrc, ledgerCrc, linkOf, type EventRow, type LedgerRow } from './checks.ts'

/** The stream of lost events that belonged to nobody knows which. */
export const UNKNOWN_STREAM = 0

const LOST_VERSION = 0
const LOST_POSITION = -1
const NOTHING = new Uint8Array()

export function isLostEvent({ version }: Pick<EventRow, 'version'>): boolean {
  return version === LOST_VERSION
}

export function isLostAnswer({ position }: Pick<LedgerRow, 'position'>): boolean {
  return position === LOST_POSITION
}

export function lostEvent(
  place: Pick<EventRow, 'position' | 'stream' | 'seq'>,
  linkBefore: number,
): EventRow {
  const row = {
    ...place,
    batch: place.position,
    at: 0,
    effective: null,
    type: '',
    version: LOST_VERSION,
    about: null,
    data: NOTHING,
  }
  const crc = eventCrc(row)
  return { ...row, crc, link: linkOf(linkBefore, crc) }
}

/** It is forgotten when it would have been if it had been given `at` that time. */
export function lostAnswer({ id, key, at }: Pick<LedgerRow, 'id' | 'key' | 'at'>): LedgerRow {
  const row = { id, key, fingerprint: '', response: NOTHING, position: LOST_POSITION, at }
  return { ...row, crc: ledgerCrc(row) }
}
