/** The whole queue is paused, drained or opened again. */
import { fields, json, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { Probe } from '../probe.ts'
import type { ModeChanged, ProbeFault } from '../protocol.ts'
import type { ProbeDesk } from './answering.ts'
import { modeBody } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function putMode({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'PUT',
    path: '/api/v1/queue/mode',
    summary: 'Pause, drain or open the queue',
    description:
      'Paused, no test starts to run; draining, none is admitted either, and the answer comes when nothing runs any more, or after a while with how many still do.',
    tag: 'tests',
    access: { permission: 'test:queue:write' },
    body: modeBody,
    waits: true,
    answers: {
      200: {
        description: 'what it is in, and how many run',
        schema: fields({ mode: { type: 'string' }, running: { type: 'integer' } }),
      },
      ...refusals(),
    },
    refuse: refusing(clock),
    async handle({ body }) {
      const changed = await modes[body.mode](probe)
      return isFault(changed) ? refused(changed, clock) : json(200, changed)
    },
  })
}

/** Somebody may still run when nobody waits any longer. */
async function drain(probe: Probe): Promise<ModeChanged | ProbeFault> {
  const drained = await probe.drain()
  if (!isFault(drained) || drained.code !== 'unknown-outcome') return drained
  const status = await probe.queueStatus()
  if (isFault(status)) return status
  return status.mode === 'draining' ? { mode: status.mode, running: status.testingCount } : drained
}

const modes = {
  open: (probe: Probe) => probe.resume(),
  paused: (probe: Probe) => probe.pause(),
  draining: drain,
}
