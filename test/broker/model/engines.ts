/**
 * Where the model's broker keeps what it has: a journal in memory over a simulated disk, or SQLite. Both can lose
 * their power, and both can be waited for, though the second knows nothing of virtual time.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { sqliteJournal, type Journal } from '../../../src/journal/index.ts'
import { Accident, afterIo, fault } from '../../../src/std/index.ts'
import type { World } from '../../../src/testkit/index.ts'

export interface Engine {
  open(): Promise<Journal>
  /** What was not durable is there in part, and whoever used it is told nothing good any more. */
  crash(): Promise<void>
  /** Whether its work goes on outside of the world, and whether some of it is under way. */
  readonly isReal: boolean
  readonly isBusy: boolean
  /** Settles when some of it has ended. */
  progress(): Promise<void>
  /** From here on there is room. */
  makeRoom(): void
  end(): Promise<void>
}

export function simulated(earth: World): Engine {
  const disk = earth.disk()
  return {
    open: () => earth.journal(disk),
    async crash() {
      disk.crash()
    },
    makeRoom: () => void (disk.room = 2 ** 40),
    isReal: false,
    isBusy: false,
    async progress() {},
    async end() {},
  }
}

export function sqlite(): Engine {
  const directory = mkdtempSync(join(tmpdir(), 'broker-model-'))
  let journal: Journal | undefined
  let isCut = false
  let busy = 0
  let moved = Promise.withResolvers<void>()
  const end = (): void => {
    busy--
    moved.resolve()
    moved = Promise.withResolvers()
  }
  /** What a journal is asked counts as under way until it has answered; once it is cut, the answer is no. */
  const counted =
    (work: (...args: unknown[]) => Promise<unknown>, isWrite: boolean) =>
    async (...args: unknown[]): Promise<unknown> => {
      if (isCut) throw closed()
      busy++
      try {
        const answer = await work(...args)
        if (isCut && isWrite) throw closed()
        return answer
      } finally {
        end()
      }
    }
  /** Closing is under way as well. */
  const closing = async (): Promise<void> => {
    busy++
    await journal?.close().finally(end)
  }
  return {
    async open() {
      isCut = false
      busy++
      const own = await sqliteJournal({ directory }).finally(end)
      journal = own
      return new Proxy(own, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          const bound = value.bind(target) as (...args: unknown[]) => Promise<unknown>
          if (name === 'commit' || name === 'takeFence') return counted(bound, true)
          if (name === 'getRecords' || name === 'readRecords') return counted(bound, false)
          if (name === 'close') return closing
          return bound
        },
      })
    },
    async crash() {
      isCut = true
      await closing()
    },
    makeRoom() {},
    isReal: true,
    get isBusy() {
      return busy > 0
    },
    progress: () => moved.promise,
    async end() {
      isCut = true
      await journal?.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Lets what is outside of the world go on. */
export function elsewhere(): Promise<void> {
  return new Promise(afterIo)
}

function closed(): Accident {
  return new Accident(fault('journal-closed', 'the power has failed'))
}
