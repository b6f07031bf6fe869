/** The whole queue is paused, drained or opened again. */
import { json, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { Probe } from '../probe.ts'
import { fields, type ProbeDesk } from './answering.ts'
import { modeBody } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function putMode({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'PUT',
    path: '/api/v1/queue/mode',
    summary: 'Pause, drain or open the queue',
    description:
      'Paused, no test starts to run; draining, none is admitted either, and the answer comes when nothing runs any more.',
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

const modes = {
  open: (probe: Probe) => probe.resume(),
  paused: (probe: Probe) => probe.pause(),
  draining: (probe: Probe) => probe.drain(),
}
