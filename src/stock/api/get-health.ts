/**
 * Health in the manner of MicroProfile: `UP` or `DOWN`, and the checks that say why.
 *
 * Being alive is being able to answer at all. A server that drains is alive and not ready.
 */
import { fields, json, list, route, type Answer, type Reply, type Route } from '../../http/index.ts'
import type { Stock, StockHealth } from '../stock.ts'

const WORD = { type: 'string', enum: ['UP', 'DOWN'] }

const schema = fields({
  status: WORD,
  checks: list(fields({ name: { type: 'string' }, status: WORD })),
})

const up: Answer = {
  description: 'UP',
  schema: { ...schema, examples: [{ status: 'UP', checks: [] }] },
}

const down: Answer = {
  description: 'DOWN: at least one check is, or the server ends',
  schema: {
    ...schema,
    examples: [{ status: 'DOWN', checks: [{ name: 'locationApi', status: 'DOWN' }] }],
  },
  contentType: 'application/json',
}

export function getHealth(stock: Stock, isStarted: () => boolean): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/health/live',
      summary: 'Whether the process answers',
      tag: 'health',
      access: 'open',
      whileDraining: true,
      answers: { 200: up },
      handle: () => healthOf({ up: true, checks: [] }),
    }),
    route({
      method: 'GET',
      path: '/health/started',
      summary: 'Whether the start is over',
      tag: 'health',
      access: 'open',
      whileDraining: true,
      answers: { 200: up, 503: down },
      handle: () => healthOf({ up: isStarted(), checks: [] }),
    }),
    ready('/health/ready', 'Whether requests would be served'),
    ready('/health', 'Whether requests would be served, as a directory of locations is asked'),
  ]

  function ready(path: string, summary: string): Route {
    return route({
      method: 'GET',
      path,
      summary,
      tag: 'health',
      access: 'open',
      answers: { 200: up, 503: down },
      refuse: () => healthOf({ up: false, checks: [] }),
      handle: async () => healthOf(await stock.health()),
    })
  }
}

function healthOf({ up: isUp, checks }: StockHealth): Reply {
  return json(isUp ? 200 : 503, {
    status: wordFor(isUp),
    checks: checks.map((check) => ({ name: check.name, status: wordFor(check.up) })),
  })
}

function wordFor(isUp: boolean): 'UP' | 'DOWN' {
  return isUp ? 'UP' : 'DOWN'
}
