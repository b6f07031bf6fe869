/** Small things with no opinion about actors. */
export { assert, AssertionFailure, unreachable } from './assert.ts'
export { afterIo, afterTurn, isoTime, systemClock, type Clock, type Timer } from './clock.ts'
export { Deque } from './deque.ts'
export { Accident, fault, isFault, type Fault, type FaultDetail } from './fault.ts'
export { FleetingMap } from './fleeting-map.ts'
export { Heap, type HeapItem } from './heap.ts'
export {
  lineLog,
  silentLog,
  type LineLogOptions,
  type Log,
  type LogFields,
  type LogLevel,
} from './log.ts'
export { plainFields, plainText, type PlainFields } from './plain.ts'
export { PRODUCT } from './product.ts'
export { freshId, freshSeed, random, type Random } from './random.ts'
export { steadyClock, type SteadyClock } from './steady-clock.ts'
export { TimerEntry, TimerQueue } from './timer-queue.ts'
export {
  childOf,
  freshTrace,
  parseTraceparent,
  traceparentOf,
  type TraceContext,
} from './trace-context.ts'
