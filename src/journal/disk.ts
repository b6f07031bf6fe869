/**
 * A disk as a port: bytes in one row, added at the end.
 *
 * What was appended or cut is there after a crash for certain only if a sync was asked for afterwards
 * and has resolved. Until then any part of it may be there, or none. After a sync that rejected nobody
 * can know what is there but by reading it.
 */
import { Accident, fault } from '../std/index.ts'

export interface Disk {
  /** Everything that is there. */
  read(): Promise<Uint8Array>
  /** Adds at the end. Rejects with `disk-full` where there is no room; a part may be there all the same. */
  append(bytes: Uint8Array): Promise<void>
  sync(): Promise<void>
  /** Cuts what is behind the first `length` bytes. */
  truncate(length: number): Promise<void>
}

/** What a disk rejects with when it has no room. */
export function diskFull(): Accident<'disk-full'> {
  return new Accident(
    fault('disk-full', 'the disk has no room left', { remedy: 'free some space on it' }),
  )
}

export function isDiskFull(error: unknown): boolean {
  return error instanceof Accident && error.code === 'disk-full'
}
