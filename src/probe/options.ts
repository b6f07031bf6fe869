/** What can be told to an orchestrator, and what it does unless it is. */
import { Accident, fault } from '../std/index.ts'
import {
  ATTEMPTS_DEFAULT,
  COMPLETED_MS_DEFAULT,
  DEPTH_DEFAULT,
  DEPTH_MAX,
  EXCEPTION_MS_DEFAULT,
  GRACE_MS_DEFAULT,
  LOADING_MS_DEFAULT,
  RETENTION_MS_DEFAULT,
  RETENTION_TESTS_DEFAULT,
  SETUP_MS_DEFAULT,
  TEST_SLOTS_DEFAULT,
  TEST_SLOTS_MAX,
  TESTING_MS_DEFAULT,
  TESTING_MS_MAX,
} from './limits.ts'
import type { Policy } from './schedule.ts'

export type ProbeSettings = Readonly<{
  /** Tests that run at a time. */
  slots: number
  policy: Policy
  /** Tests that may stand in line. */
  depth: number
  setupMs: number
  loadingMs: number
  testingMs: number
  completedMs: number
  exceptionMs: number
  graceMs: number
  /** Whether a test that a restart interrupted is queued again, and how often it may run in all. */
  interrupted: 'requeue' | 'keep'
  attempts: number
  retentionMs: number
  retentionTests: number
}>

const DEFAULTS: ProbeSettings = {
  slots: TEST_SLOTS_DEFAULT,
  policy: 'first-ready',
  depth: DEPTH_DEFAULT,
  setupMs: SETUP_MS_DEFAULT,
  loadingMs: LOADING_MS_DEFAULT,
  testingMs: TESTING_MS_DEFAULT,
  completedMs: COMPLETED_MS_DEFAULT,
  exceptionMs: EXCEPTION_MS_DEFAULT,
  graceMs: GRACE_MS_DEFAULT,
  interrupted: 'requeue',
  attempts: ATTEMPTS_DEFAULT,
  retentionMs: RETENTION_MS_DEFAULT,
  retentionTests: RETENTION_TESTS_DEFAULT,
}

/** The most each number may be; the least is 1. */
const MOST = {
  slots: TEST_SLOTS_MAX,
  depth: DEPTH_MAX,
  setupMs: TESTING_MS_MAX,
  loadingMs: TESTING_MS_MAX,
  testingMs: TESTING_MS_MAX,
  completedMs: TESTING_MS_MAX,
  exceptionMs: TESTING_MS_MAX,
  graceMs: TESTING_MS_MAX,
  attempts: Infinity,
  retentionMs: Infinity,
  retentionTests: Infinity,
} as const

const NUMBERS = [
  'slots',
  'depth',
  'setupMs',
  'loadingMs',
  'testingMs',
  'completedMs',
  'exceptionMs',
  'graceMs',
  'attempts',
  'retentionMs',
  'retentionTests',
] as const satisfies readonly (keyof typeof MOST)[]

/** Throws `bad-option` for what cannot be. */
export function settingsOf(given: Partial<ProbeSettings> = {}): ProbeSettings {
  const settings = { ...DEFAULTS, ...given }
  for (const option of NUMBERS) {
    const value = settings[option]
    const most = MOST[option]
    const isWhole = Number.isInteger(value) || value === Infinity
    if (!isWhole || value < 1 || value > most) throw bad(option, value, `from 1 to ${most}`)
  }
  if (settings.policy !== 'first-ready' && settings.policy !== 'strict')
    throw bad('policy', settings.policy, 'either first-ready or strict')
  if (settings.interrupted !== 'requeue' && settings.interrupted !== 'keep')
    throw bad('interrupted', settings.interrupted, 'either requeue or keep')
  return settings
}

function bad(option: string, given: unknown, wanted: string): Accident {
  return new Accident(
    fault('bad-option', `${option} of the orchestrator cannot be ${String(given)}`, {
      option,
      given,
      remedy: `give ${option} a value ${wanted}`,
    }),
  )
}
