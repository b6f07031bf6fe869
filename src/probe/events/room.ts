/**
 * All that one run does with events: its log, what it produces and consumes, and what its steps ask.
 *
 * It is made before producing and consuming open. It is sealed before its evidence is looked at: what
 * comes later is neither logged nor written.
 */
import { join } from 'node:path'

import type { Clock, Log } from '../../std/index.ts'
import type { Bundle } from '../bundle/directive.ts'
import type { Mask } from '../secrets/secrets.ts'
import { serve, type ServiceHandlers } from '../steps/services.ts'
import type { StepServices } from '../runner/runner.ts'
import { openConsuming, type ConsumingSession } from './consuming.ts'
import { eventFile, EVENTS_FILE } from './event-file.ts'
import { eventLog } from './event-log.ts'
import type { Credentials, EventClusters } from './events.ts'
import { openProducing, type ProducingSession } from './producing.ts'
import { eventServices } from './services.ts'

export type EventRoomOptions = Readonly<{
  testId: string
  bundle: Bundle
  /** A directory. */
  evidence: string
  mask: Mask
  /** Handlers of other parts, such as secrets. */
  handlers?: ServiceHandlers
}>

type Security = Readonly<{ credentials: ReadonlyMap<string, Credentials> }>

export interface EventRoom {
  openProducing(security: Security, signal: AbortSignal): Promise<ProducingSession>
  openConsuming(
    security: Security,
    signal: AbortSignal,
    onLost: (error: unknown) => void,
  ): Promise<ConsumingSession>
  services(): StepServices
  /** Rejects with `events-not-kept`. */
  seal(): Promise<void>
}

export function eventRooms(
  world: Readonly<{ clusters: EventClusters; clock: Clock; log: Log }>,
): (options: EventRoomOptions) => EventRoom {
  return ({ testId, bundle, evidence, mask, handlers }) => {
    const { clock } = world
    const sink = eventFile(join(evidence, EVENTS_FILE), mask)
    const events = eventLog({ clock, sink })
    const { topics } = bundle.directive
    const common = { ...world, testId, topics, events, bundle: bundle.directory }
    let producing: ProducingSession | undefined
    let consuming: ConsumingSession | undefined
    return {
      async openProducing({ credentials }, signal) {
        producing = await openProducing({ ...common, credentials, signal })
        return producing
      },
      async openConsuming({ credentials }, signal, onLost) {
        consuming = await openConsuming({ ...common, credentials, signal, onLost })
        return consuming
      },
      services: () =>
        serve({ ...handlers, ...eventServices(() => ({ producing, consuming }), events) }),
      async seal() {
        await events[Symbol.asyncDispose]()
      },
    }
  }
}
