/**
 * All that one run does with events: its log, what it produces and consumes, and what its steps ask.
 *
 * It is made before producing and consuming open. It is sealed before its evidence is looked at: what
 * comes later is neither logged nor written.
 */
import { join } from 'node:path'

import type { Clock, Log } from '../../std/index.ts'
import type { EventRoom, EventRoomOptions } from '../children/ports.ts'
import { serve, type ServiceHandlers } from '../steps/services.ts'
import { openConsuming, type ConsumingSession } from './consuming.ts'
import { eventFile, EVENTS_FILE } from './event-file.ts'
import { eventLog } from './event-log.ts'
import type { EventClusters } from './events.ts'
import { openProducing, type ProducingSession } from './producing.ts'
import { eventServices } from './services.ts'

export type EventRoomsOptions = Readonly<{
  clusters: EventClusters
  clock: Clock
  log: Log
  /** What else steps may ask for, until `sealed` aborts. */
  handlers?: (options: EventRoomOptions & Readonly<{ sealed: AbortSignal }>) => ServiceHandlers
}>

export function eventRooms(world: EventRoomsOptions): (options: EventRoomOptions) => EventRoom {
  return (options) => {
    const { testId, bundle, evidence, mask } = options
    const sink = eventFile(join(evidence, EVENTS_FILE), mask)
    const events = eventLog({ clock: world.clock, sink })
    const { topics } = bundle.directive
    const common = { ...world, testId, topics, events, bundle: bundle.directory }
    let producing: ProducingSession | undefined
    let consuming: ConsumingSession | undefined
    const sealing = new AbortController()
    const { signal: sealed } = sealing
    return {
      async openProducing({ credentials }, signal) {
        producing = await openProducing({ ...common, credentials, signal })
        return producing
      },
      async openConsuming({ credentials }, signal, onLost) {
        const onLostBefore = (error: unknown): void => (sealed.aborted ? undefined : onLost(error))
        const session = { ...common, credentials, signal, onLost: onLostBefore }
        consuming = await openConsuming(session)
        return consuming
      },
      services: () =>
        serve({
          ...world.handlers?.({ ...options, sealed }),
          ...eventServices(() => ({ producing, consuming }), events),
        }),
      async seal() {
        sealing.abort()
        await events[Symbol.asyncDispose]()
      },
    }
  }
}
