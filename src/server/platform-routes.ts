/** What the server itself answers, beside its features: health, figures, backups. */
import {
  EXPOSITION_TYPE,
  expositionOf,
  json,
  optional,
  problem,
  route,
  shape,
  text,
  type Metric,
  type Route,
} from '../http/index.ts'
import { Accident } from '../std/index.ts'
import type { Health } from './health.ts'

export type Platform = Readonly<{
  health: () => Promise<Health>
  metrics: () => readonly Metric[]
  /** None where nothing is kept. */
  backup?: (directory: string) => Promise<void>
}>

const TAG = 'platform'
const BACKUP_MS_MAX = 3_600_000
const checks = {
  type: 'object',
  properties: { ready: { type: 'boolean' }, checks: { type: 'array', items: { type: 'object' } } },
}

export function platformRoutes(platform: Platform): Route[] {
  const routes = [live(), ready(platform), figures(platform)]
  if (platform.backup !== undefined) routes.push(backups(platform.backup))
  return routes
}

function live(): Route {
  return route({
    method: 'GET',
    path: '/livez',
    summary: 'Whether the process lives',
    tag: TAG,
    access: 'open',
    whileDraining: true,
    answers: { 200: { description: 'its loop answers' } },
    handle: () => json(200, { alive: true }),
  })
}

function ready({ health }: Platform): Route {
  return route({
    method: 'GET',
    path: '/readyz',
    summary: 'Whether to send it work',
    description: 'With `verbose`, each check by its name.',
    tag: TAG,
    access: 'open',
    whileDraining: true,
    query: shape({ verbose: optional(text({ max: 10 })) }),
    answers: {
      200: { description: 'it is ready', schema: checks },
      503: { description: 'it is not, and why', schema: checks, contentType: 'application/json' },
    },
    async handle({ query: { verbose } }) {
      const said = await health()
      const body = verbose === undefined ? { ready: said.ready } : said
      return json(said.ready ? 200 : 503, body, { 'cache-control': 'no-store' })
    },
  })
}

function figures({ metrics }: Platform): Route {
  return route({
    method: 'GET',
    path: '/metrics',
    summary: 'What everything counts, for Prometheus',
    tag: TAG,
    access: { permission: 'server:metrics:read' },
    whileDraining: true,
    answers: { 200: { description: 'the figures', contentType: EXPOSITION_TYPE } },
    handle: () => ({
      status: 200,
      headers: { 'content-type': EXPOSITION_TYPE },
      text: expositionOf(metrics()),
    }),
  })
}

function backups(backup: (directory: string) => Promise<void>): Route {
  return route({
    method: 'POST',
    path: '/backups',
    summary: 'Copy everything that was acknowledged to a directory of the server',
    description:
      'The directory is an absolute path on the machine of the server that is not there yet.',
    tag: TAG,
    access: { permission: 'server:backup' }, // of roles, `admin` alone has it
    requestMsMax: BACKUP_MS_MAX,
    body: shape({ directory: text({ min: 1, max: 4_096, pattern: /^\// }) }),
    answers: {
      201: { description: 'the copy is on disk' },
      409: { description: 'there is something of that name' },
    },
    async handle({ body: { directory } }) {
      try {
        await backup(directory)
        return json(201, { directory })
      } catch (error) {
        if (!(error instanceof Accident)) throw error
        return problem(error.code === 'target-exists' ? 409 : 503, error.fault)
      }
    },
  })
}
