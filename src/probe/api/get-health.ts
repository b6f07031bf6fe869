/** Whether tests can be taken: the queue itself is asked. */
import { fields, json, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { ProbeDesk } from './answering.ts'
import { refusing } from './refusing.ts'

const TEXT = { type: 'string' }
const schema = fields({
  status: TEXT,
  actorSystem: TEXT,
  'error?': TEXT,
  timestamp: { type: 'integer' },
})

export function getHealth({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'GET',
    path: '/api/v1/health',
    summary: 'Health of the orchestrator',
    tag: 'tests',
    access: 'open',
    answers: {
      200: { description: 'healthy', schema },
      503: { description: 'not healthy, and why', schema, contentType: 'application/json' },
    },
    refuse: refusing(clock),
    speaksBelow: '/api/v1/',
    async handle() {
      const status = await probe.queueStatus()
      const timestamp = clock.now()
      if (!isFault(status))
        return json(200, { status: 'healthy', actorSystem: 'running', timestamp })
      const actorSystem = status.code === 'unknown-outcome' ? 'timeout' : 'unavailable'
      return json(503, { status: 'unhealthy', actorSystem, error: status.message, timestamp })
    },
  })
}
