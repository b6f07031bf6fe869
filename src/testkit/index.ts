/** For tests, ours and yours: actors one turn at a time, on a time that is turned by hand. */
export { checkJournal, type JournalContent } from './check-journal.ts'
export { explore, type Explored, type ExploreOptions, type Scenario } from './explore.ts'
export {
  faultyJournal,
  JOURNAL_TROUBLES,
  type FaultyJournalOptions,
  type JournalTrouble,
} from './faulty-journal.ts'
export { deepFreeze } from './freeze.ts'
export { given, type Decided, type Given, type GivenOptions } from './given.ts'
export { ExpectationFailure, inbox, type Inbox, type InboxOptions } from './inbox.ts'
export { journalConformance, type ConformanceOptions } from './journal-conformance.ts'
export type { JournalEngine, JournalStorage } from './journal-engine.ts'
export { playJournal, type JournalPlay, type ProgramOptions } from './journal-program.ts'
export type { Order } from './order.ts'
export { replay, type Replayed } from './replay.ts'
export {
  DISK_FAULTS,
  simulatedDisk,
  type DiskFault,
  type SimulatedDisk,
  type SimulatedDiskOptions,
} from './simulated-disk.ts'
export { stage, type Stage, type StageOptions } from './stage.ts'
export type { SwarmFault } from './swarm.ts'
export { virtualClock, type VirtualClock, type VirtualClockOptions } from './virtual-clock.ts'
export type { Failure } from './witness.ts'
export type { Within, WorldInbox } from './world-inbox.ts'
export { world, type World, type WorldOptions } from './world.ts'
