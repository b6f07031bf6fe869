/** What is said when something in the file is not what was written. */
import { Accident, fault } from '../../std/index.ts'
import { isCorrupt } from './errors.ts'
import { REPAIR_REMEDY } from './report.ts'

/** Which row it is, as far as that is known. */
export type Where = Readonly<{
  table: string
  stream?: string
  seq?: number
  position?: number
  collection?: string
  key?: string
}>

export function damaged(what: string, where: Where, cause?: unknown): Accident<'damaged'> {
  return new Accident(fault('damaged', what, { ...where, remedy: REPAIR_REMEDY }), { cause })
}

/** Does what reads the file, and says where it was reading if SQLite finds it damaged. */
export function reading<T>(where: Where, read: () => T): T {
  try {
    return read()
  } catch (error) {
    // A number that is none of ours is refused by the driver itself.
    if (isCorrupt(error) || error instanceof RangeError)
      throw damaged(`the table ${where.table} is damaged`, where, error)
    throw error
  }
}
