/** For tests, ours and yours: actors one turn at a time, on a time that is turned by hand. */
export { deepFreeze } from './freeze.ts'
export { ExpectationFailure, inbox, type Inbox, type InboxOptions } from './inbox.ts'
export { stage, type Stage, type StageOptions } from './stage.ts'
export { virtualClock, type VirtualClock, type VirtualClockOptions } from './virtual-clock.ts'
export type { Failure } from './witness.ts'
