/** What an engine has to bring so that the testkit can try it. */
import type { Journal } from '../journal/index.ts'
import { hop, settling } from './settling.ts'
import type { VirtualClock } from './virtual-clock.ts'

export interface JournalEngine {
  /** Whether what was stored is there when the journal is closed and opened again. */
  readonly isLasting: boolean
  /** Whether its storage has a `crash`. */
  readonly canCrash: boolean
  /** Makes a storage with nothing in it. Journals on it have their time from this clock. */
  storage(clock: VirtualClock): JournalStorage | Promise<JournalStorage>
}

export interface JournalStorage {
  /** Opens the journal with what was stored by the one before; only one is open at a time. */
  open(options: Readonly<{ ledgerRetentionMs: number }>): Promise<Journal>
  /** Ends the open journal as the end of its process would. It can be opened again afterwards. */
  crash?(): void | Promise<void>
  /** Takes everything away; the journal is closed. */
  remove?(): void | Promise<void>
}

/** Waits for a promise, turning the clock where that waits for a timer. */
export async function turnUntil<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const isSettled = settling(promise)
  for (;;) {
    await hop()
    const { next } = clock
    if (isSettled() || next === undefined) return promise
    clock.advance(Math.max(0, next - clock.monotonic()))
  }
}
