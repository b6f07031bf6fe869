/** All routes of the test orchestrator. */
import type { Route } from '../../http/index.ts'
import type { Probe } from '../probe.ts'
import type { ProbeDesk } from './answering.ts'
import { deleteTest } from './delete-test.ts'
import { getEvents } from './get-events.ts'
import { getEvidence } from './get-evidence.ts'
import { getHealth } from './get-health.ts'
import { getHistory } from './get-history.ts'
import { getQueueStatus } from './get-queue-status.ts'
import { getStatus } from './get-status.ts'
import { listEvidence } from './list-evidence.ts'
import { listTests } from './list-tests.ts'
import { postExtend } from './post-extend.ts'
import { postInitialize } from './post-initialize.ts'
import { postRetry } from './post-retry.ts'
import { postStart } from './post-start.ts'
import { putBundle } from './put-bundle.ts'
import { putMode } from './put-mode.ts'
import type { Wall } from './refusing.ts'

export type ProbeRoutesOptions = Readonly<{ clock: Wall; uploadBytesMax: number }>

export function probeRoutes(probe: Probe, options: ProbeRoutesOptions): readonly Route[] {
  const desk: ProbeDesk = { probe, ...options }
  return [
    postInitialize(desk),
    postStart(desk),
    getStatus(desk),
    getQueueStatus(desk),
    deleteTest(desk),
    getHealth(desk),
    listTests(desk),
    getHistory(desk),
    getEvents(desk),
    listEvidence(desk),
    getEvidence(desk),
    putBundle(desk),
    postRetry(desk),
    postExtend(desk),
    putMode(desk),
  ]
}
