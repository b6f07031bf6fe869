/** The engine in memory as the testkit tries it: by itself, and over a simulated disk. */
import { memoryJournal, type Disk } from '../../src/journal/index.ts'
import { Accident } from '../../src/std/index.ts'
import {
  simulatedDisk,
  type DiskFault,
  type JournalEngine,
  type SimulatedDisk,
} from '../../src/testkit/index.ts'

export const inMemory: JournalEngine = {
  isLasting: false,
  canCrash: false,
  storage: (clock) => ({ open: (options) => memoryJournal({ clock, ...options }) }),
}

export type OnDiskOptions = Readonly<{
  seed: number
  faults?: readonly DiskFault[]
  /** Stands between the journal and the disk. */
  between?: (disk: Disk) => Disk
  onMade?: (disk: SimulatedDisk) => void
}>

export function onDisk({ seed, faults = [], between, onMade }: OnDiskOptions): JournalEngine {
  return {
    isLasting: true,
    canCrash: true,
    storage(clock) {
      const disk = simulatedDisk({ seed, clock, faults })
      onMade?.(disk)
      return {
        crash: () => disk.crash(),
        async open(options) {
          for (;;) {
            const mounted = between?.(disk.mount()) ?? disk.mount()
            try {
              return await memoryJournal({ clock, disk: mounted, ...options })
            } catch (error) {
              // A disk that fails while the journal is opened is tried again, as an operator would.
              if (!(error instanceof Accident) || error.code !== 'disk-broken') throw error
            }
          }
        },
      }
    },
  }
}
