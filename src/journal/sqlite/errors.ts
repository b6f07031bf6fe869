/** What SQLite says when something is wrong, by its result codes. */

const BUSY = 5
const IO_ERROR = 10
const CORRUPT = 11
const FULL = 13
const CANNOT_OPEN = 14
const CONSTRAINT = 19
const NOT_A_DATABASE = 26
/** No room for the index of the log, which is a file of its own. */
const NO_ROOM_FOR_INDEX = 4_874

/** The primary code is the low byte; the rest says where it happened. */
function codeOf(error: unknown): number | undefined {
  const code = wholeCodeOf(error)
  return code === undefined ? undefined : code & 0xff
}

function wholeCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode : undefined
}

export function isBusy(error: unknown): boolean {
  return codeOf(error) === BUSY
}

/** No room: nothing of the transaction was kept, and there may be room later. */
export function isFull(error: unknown): boolean {
  return codeOf(error) === FULL || wholeCodeOf(error) === NO_ROOM_FOR_INDEX || isNoSpace(error)
}

/** The same, of a file that is not SQLite's. */
function isNoSpace(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ENOSPC' || error.code === 'EDQUOT'
}

/** The file does not say what it should. */
export function isCorrupt(error: unknown): boolean {
  const code = codeOf(error)
  return code === CORRUPT || code === NOT_A_DATABASE
}

/** A row is in the way that cannot be there. */
export function isContradiction(error: unknown): boolean {
  return codeOf(error) === CONSTRAINT
}

/** The disk did not do what it was asked; what it holds is unknown until it is read back. */
export function isIoError(error: unknown): boolean {
  const code = codeOf(error)
  return code === IO_ERROR || code === CANNOT_OPEN
}
